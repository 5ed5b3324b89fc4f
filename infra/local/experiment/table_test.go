package experiment

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestTablesAreMarkdown(t *testing.T) {
	got := markdown([]Table{
		{Title: "Round trips:", Columns: []string{"path", "ms:"}, Rows: [][]string{{"vpn", "23.47"}, {"public − x", "1"}}, Notes: []string{"A note."}},
		{Title: "None:", Columns: []string{"a"}},
	})
	want := `Round trips:

| path       |    ms |
| ---------- | ----: |
| vpn        | 23.47 |
| public − x |     1 |

A note.

None:

| a   |
| --- |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMeasuredReplacesWhatWasMeasured(t *testing.T) {
	name := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(name, []byte("before\n"+measuredBegins+"old\n"+measuredEnds+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again is the same
		if err := writeMeasured(name, "new\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if want := "before\n" + measuredBegins + "\nnew\n\n" + measuredEnds + "after\n"; err != nil || string(got) != want {
			t.Errorf("%v, got %q, want %q", err, got, want)
		}
	}
	if err := os.WriteFile(name, []byte("before\n"+measuredEnds), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeMeasured(name, "new"); err == nil || !strings.Contains(err.Error(), "has no lines") {
		t.Errorf("without a place: %v", err)
	}
}

// samples are round trips in ms; 0 is one that was lost.
func samples(rtts ...float64) (s wire.Samples) {
	for i, v := range rtts {
		s.Sequence = append(s.Sequence, int64(i))
		ns := int64(v * 1e6)
		if v == 0 {
			ns = wire.Null
		}
		s.RTTNS = append(s.RTTNS, ns)
	}
	return s
}

// A disturbance that is in both runs is in neither's difference; a loss, or an outlier, moves none.
func TestDifferenceOfTwoPaths(t *testing.T) {
	var a, b []float64
	for i := range 1000 {
		common := 20 + float64(i%100)/10
		noise := float64(i%7)/1000 - 0.003
		a, b = append(a, common+0.2+noise), append(b, common)
	}
	a[10], a[500], b[999] = 0, 500, 0
	median, low, high, ok := difference(samples(a...), samples(b...))
	if !ok || median < 0.19 || median > 0.21 || low > median || high < median || low < 0.15 || high > 0.25 {
		t.Errorf("%t: %g (%g to %g), want 0.2", ok, median, low, high)
	}
	if _, _, _, ok := difference(samples(), samples()); ok {
		t.Error("a difference of nothing")
	}
	average, least, most := extent(samples(3, 0, 1, 2))
	if average != 2 || least != 1 || most != 3 {
		t.Errorf("%g, %g, %g; want 2, 1, 3", average, least, most)
	}
}

func TestBacklogIsToldAtTwelveMoments(t *testing.T) {
	var v wire.Intervals
	for i := range int64(100) {
		v.AtNS, v.ForNS = append(v.AtNS, i*1e9), append(v.ForNS, 1e9)
		v.Sent, v.Received, v.Backlog = append(v.Sent, 20), append(v.Received, 5), append(v.Backlog, 15*(i+1))
	}
	rows := backlog(v).Rows
	if len(rows) != 12 || strings.Join(rows[0], " ") != "1.0 20 5 15" || strings.Join(rows[11], " ") != "100.0 2000 500 1500" {
		t.Errorf("%q", rows)
	}
	short := wire.Intervals{AtNS: v.AtNS[:3], ForNS: v.ForNS[:3], Sent: v.Sent[:3], Received: v.Received[:3], Backlog: v.Backlog[:3]}
	if rows := backlog(short).Rows; len(rows) != 3 {
		t.Errorf("of three intervals: %q", rows)
	}
}

func TestTheServerSaysHowLongItWorked(t *testing.T) {
	w := &worker{}
	r := httptest.NewRecorder()
	began := time.Now()
	w.ServeHTTP(r, httptest.NewRequest("GET", "/work", nil))
	took := float64(time.Since(began)) / 1e6
	text, ok := strings.CutPrefix(r.Header().Get("Server-Timing"), "total;dur=")
	said, err := time.ParseDuration(text + "ms")
	if !ok || err != nil || said < time.Millisecond || float64(said)/1e6 > took {
		t.Errorf("it says %q and took %g ms", r.Header().Get("Server-Timing"), took)
	}
}
