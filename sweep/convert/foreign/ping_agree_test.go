package foreign

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"isochrone/prober/wire/summary"
)

// The figures that are computed from the lines are those that the tools computed themselves, but for the
// three digits to which they round their lines.
func TestPingAndFpingLinesAgreeWithTheirStatistics(t *testing.T) {
	figures := regexp.MustCompile(`(?:^(\S+) +: xmt.*)?\bmin/avg/max(?:/[a-z-]+)? = ([\d.]+)/([\d.]+)/([\d.]+)`)
	compared := 0
	for _, name := range []string{"ping/iputils.txt", "ping/iputils-D-O-loss.txt", "ping/iputils-reordered.txt", "ping/iputils-long.txt", "ping/iputils-ipv6.txt", "ping/busybox-loss.txt", "ping/macos.txt", "ping/macos-ping6.txt",
		"fping/c.txt", "fping/D.txt", "fping/l-o.txt", "fping/ipv6.txt"} {
		text := readSample(t, "testdata/"+name)
		d := mustConvert(t, Recognise(text), text)
		for line := range strings.SplitSeq(string(text), "\n") {
			m := figures.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for i := range d.Findings {
				f := &d.Findings[i]
				if m[1] != "" && m[1] != f.To {
					continue
				}
				got := summary.OfRoundTrips(f.RTT)
				for k, v := range []*float64{got.Min, got.Mean, got.Max} {
					want, err := strconv.ParseFloat(m[2+k], 64)
					if err != nil || v == nil || !within(*v, want*1e6, 0.01) {
						t.Errorf("%s, %s: %v, and the tool says %s (%v)", name, line, v, m[2+k], err)
					}
					compared++
				}
			}
		}
	}
	if compared != 3*14 {
		t.Errorf("%d figures compared, want 42", compared)
	}
}
