package foreign

import (
	"bytes"
	"math"
	"testing"
	"time"
)

// Ten times the text takes about ten times the time; what takes the square of it would take a hundred.
func TestTimeIsLinear(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		if !v.first {
			return
		}
		line := append(bytes.TrimRight(sample[:min(len(sample), 4<<10)], "\n"), '\n')
		for what, part := range map[string][]byte{"its own beginning": line, "its last line": lastLine(sample), "junk": []byte("junk, \"1 2 3\": ms <a b='c'/>\n")} {
			small := append(bytes.Clone(sample), bytes.Repeat(part, 1+(50<<10)/len(part))...)
			large := append(bytes.Clone(sample), bytes.Repeat(part, 1+(500<<10)/len(part))...)
			a, b := quickest(f, small), quickest(f, large)
			if b > 300*time.Millisecond && b > 40*a {
				t.Errorf("%s with %s many times behind it: %d bytes take %v, %d bytes %v", name, what, len(small), a, len(large), b)
			}
		}
	})
}

func lastLine(sample []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(sample), []byte("\n"))
	return append(bytes.Clone(lines[len(lines)-1]), '\n')
}

// quickest is the better time of two.
func quickest(f *Format, text []byte) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 2 {
		began := time.Now()
		_, _ = f.Read(bytes.NewReader(text))
		best = min(best, time.Since(began))
	}
	return best
}
