package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// wellFormed reads a drawing as XML, and gives the text of its elements.
func wellFormed(t *testing.T, drawing []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawing)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
}

func TestADrawingIsTheGoldenOne(t *testing.T) {
	c := New(300, 200, "A title", "What can be seen.")
	c.Text(10, 20, "title", "A title")
	c.Line(10, 30, 290, 30, "rule")
	c.Rect(10, 40, 20.126, 20, "cell", 0.5, "Mon 00:00: 1.2 ms")
	c.Rect(40, 40, 20, 20, "none", 1, "")
	c.Path([][]At{{{10, 100}, {20, 90.004}}, {{40, 80}}}, "line")
	got := c.Bytes()
	wellFormed(t, got)
	golden := filepath.Join("testdata", "drawing.svg")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the drawing is another (-update writes it):\n%s", got)
	}
	for _, part := range []string{"prefers-color-scheme: dark", `role="img" aria-labelledby="title about"`, `<title id="title">A title</title>`, `<desc id="about">What can be seen.</desc>`} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s is missing", part)
		}
	}
}

func TestWhateverIsWrittenStaysText(t *testing.T) {
	const hostile = "</text><script>alert(1)</script> & \"quoted\" 'so' \x00\x1b[31m \u202e \xff ]]>"
	c := New(10, 10, hostile, hostile)
	c.Text(1, 1, hostile, hostile)
	c.Rect(1, 1, 1, 1, hostile, 0.5, hostile)
	got := c.Bytes()
	texts := wellFormed(t, got)
	if strings.Contains(string(got), "<script") || bytes.ContainsAny(got, "\x00\x1b") {
		t.Errorf("markup or control characters came through:\n%s", got)
	}
	n := 0
	for _, text := range texts {
		if strings.Contains(text, "<script>alert(1)</script> & \"quoted\" 'so'") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("the text is there %d times, want 4: %q", n, texts)
	}
}

func TestAxesEndAtRoundValues(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{80.1, 84.3, "80 81 82 83 84 85"}, {0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {3, 97, "0 20 40 60 80 100"}, {-1.2, 1.3, "-1.5 -1.0 -0.5 0.0 0.5 1.0 1.5"}, {0.0011, 0.0019, "0.0010 0.0012 0.0014 0.0016 0.0018 0.0020"}} {
		s, step := Scale{c.low, c.high, 100, 0}.Widened(6)
		var labels []string
		for _, tick := range s.Ticks(step) {
			labels = append(labels, Label(tick, step))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
		if s.At(s.FromValue) != 100 || s.At(s.ToValue) != 0 {
			t.Errorf("from %g to %g: the ends are at %g and %g", c.low, c.high, s.At(s.FromValue), s.At(s.ToValue))
		}
	}
	if s, _ := (Scale{80, 80, 0, 100}).Widened(6); !(s.FromValue < 80 && s.ToValue > 80) {
		t.Errorf("one value: from %g to %g", s.FromValue, s.ToValue)
	}
}

func TestTimesOnAnAxisAreFewAndWithin(t *testing.T) {
	since := time.Date(2026, 11, 2, 10, 20, 0, 0, time.UTC)
	for hours, first := range map[int]string{6: "11:00", 24: "12:00", 28 * 24: "11-09", 365 * 24: "2026-12"} {
		until := since.Add(time.Duration(hours) * time.Hour)
		ticks := TimeTicks(since, until)
		if len(ticks) < 3 || len(ticks) > 14 || ticks[0].Label != first {
			t.Errorf("%d hours: %d ticks, the first %v", hours, len(ticks), ticks[:min(1, len(ticks))])
		}
		if slices.ContainsFunc(ticks, func(at TimeTick) bool { return at.Time.Before(since) || !at.Time.Before(until) }) {
			t.Errorf("%d hours: a tick lies outside", hours)
		}
	}
}
