package foreign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isochrone/prober/wire/summary"
)

func TestLagscopeSamples(t *testing.T) { testSamples(t, lagscope) }

func FuzzLagscope(f *testing.F) {
	fuzz(f, lagscope, 6, lagscopeHeader+"\n0, 0\n1, 7\n", `{"latencies":[{"latency":1,"frequency":2147483647},{"latency":2,"frequency":1}]}`, `{"latencies":[{"latency":-1,"frequency":1}]}`)
}

// figuresOf are a finding's figures of round trips, from its samples.
func figuresOf(t testing.TB, f *Finding) summary.Summary {
	t.Helper()
	switch {
	case len(f.RTT) > 0:
		return summary.OfRoundTrips(f.RTT)
	case len(f.Bins) > 0:
		return f.Bins.Summary()
	}
	t.Fatal("no round trips")
	return summary.Summary{}
}

// exactly holds a figure to its value.
func exactly(t testing.TB, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is null, want %v", what, want)
	} else if !within(*got, want, 1e-9) {
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

// unknown holds a figure to be null.
func unknown(t testing.TB, what string, got *float64) {
	t.Helper()
	if got != nil {
		t.Errorf("%s is %v, want null", what, *got)
	}
}

func TestLagscopePercentilesAreComputedFromTheHistogram(t *testing.T) {
	d := mustConvert(t, lagscope, readSample(t, "testdata/lagscope/latencies.json"))
	f := &d.Findings[0]
	if f.Run.Counts.Received != 500 || !f.Counted.Received || f.Counted.Sent || f.Run.Kind != "tcp" || f.Run.Start != nil {
		t.Errorf("%+v, %+v", f.Run, f.Counted)
	}
	s := figuresOf(t, f)
	exactly(t, "min", s.Min, 18_000)
	exactly(t, "p50", s.P50.Value, 19_000) // 83 at 18 µs, 381 at 19
	exactly(t, "p90", s.P90.Value, 19_000)
	exactly(t, "p95", s.P95.Value, 20_000+1000) // 473 to 20 µs, 480 to 21: the 475th
	exactly(t, "max", s.Max, 73_000)
	unknown(t, "p99 of 500", s.P99.Value)
}

// The two files of one run say the same.
func TestLagscopeRawValuesAndHistogramOfOneRunAgree(t *testing.T) {
	raw := mustConvert(t, lagscope, readSample(t, "testdata/lagscope/pair.csv"))
	bins := mustConvert(t, lagscope, readSample(t, "testdata/lagscope/pair.json"))
	a, b := figuresOf(t, &raw.Findings[0]), figuresOf(t, &bins.Findings[0])
	if raw.Findings[0].Run.Counts.Received != 2000 || bins.Findings[0].Run.Counts.Received != 2000 {
		t.Fatalf("%d and %d received", raw.Findings[0].Run.Counts.Received, bins.Findings[0].Run.Counts.Received)
	}
	for _, c := range []struct {
		what string
		a, b *float64
	}{{"min", a.Min, b.Min}, {"mean", a.Mean, b.Mean}, {"max", a.Max, b.Max}, {"stddev", a.Stddev, b.Stddev}, {"p50", a.P50.Value, b.P50.Value},
		{"p90", a.P90.Value, b.P90.Value}, {"p95", a.P95.Value, b.P95.Value}, {"p99", a.P99.Value, b.P99.Value}} {
		exactly(t, c.what, c.a, *c.b)
	}
	unknown(t, "p999 of 2000", a.P999.Value)
	if a.Jitter == nil || b.Jitter != nil {
		t.Error("jitter needs the order, and has it in the raw values alone")
	}
	// lagscope's own rule: the value at index p(n+1)/100 − 1, from 0. It is ours, or its neighbour.
	rtt := raw.Findings[0].RTT
	sorted := append([]int64(nil), rtt...)
	slices.Sort(sorted)
	for p, ours := range map[float64]*float64{50: a.P50.Value, 90: a.P90.Value} {
		i := int(p*float64(len(sorted)+1)/100 - 1)
		if low, high := float64(sorted[i-1]), float64(sorted[i+1]); *ours < low || *ours > high {
			t.Errorf("p%v is %v, and lagscope's %v", p, *ours, sorted[i])
		}
	}
}

func TestLagscopeHistogramInAnyOrder(t *testing.T) {
	d := mustConvert(t, lagscope, []byte(`{"latencies":[{"latency":30,"frequency":2},{"latency":10,"frequency":1},{"latency":30,"frequency":3},{"latency":20,"frequency":0}]}`))
	if got := fmt.Sprint(d.Findings[0].Bins); got != "[{10000 1} {30000 5}]" {
		t.Error(got)
	}
}

func TestLagscopeOfWhatIsDamagedTheRestIsRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"latencies":[{"latency":30,"frequency":2},{"latency":40,"freq`:                             "2 of 1 left",
		`{"latencies":[{"latency":30,"frequency":2},{"latency":-4,"frequency":1}]}`:                  "2 of 1 left",
		`{"latencies":[{"latency":30,"frequency":2},{"latency":"x","frequency":1},{"latency":1.5}]}`: "2 of 2 left",
		lagscopeHeader + "\r\n0, 11\r\n1, 12\r\n2, 1":                                                "2 of 1 left",
		lagscopeHeader + "\n0, 11\nx, 12\n2, nan\n3, 13\n":                                           "2 of 2 left",
		lagscopeHeader + "\n0, 11\n1, 12\n" + strings.Repeat("9", 100_000) + "\n":                    "2 of 1 left",
		`{"latencies":[{"latency":30,"frequency":2},{"latency":31,"latency":32,"frequency":1}]}`:     "2 of 1 left",
		`{"latencies":[{"latency":30,"frequency":2},{"latency":31,"frequency":4294967296}]}`:         "2 of 1 left",
	} {
		d := mustConvert(t, lagscope, []byte(text))
		if got := fmt.Sprintf("%d of %d left", d.Findings[0].Run.Counts.Received, d.LeftCount); got != want {
			t.Errorf("%.80q: %s, want %s: %v", text, got, want, d.Left)
		}
		if d.Left[0].Place() == "" {
			t.Errorf("%.80q: %v has no place", text, d.Left[0])
		}
	}
}

func TestLagscopeOfNothingIsRefused(t *testing.T) {
	for _, text := range []string{lagscopeHeader, lagscopeHeader + "\n", `{"latencies":[{"latency":"x","frequency":"y"}]}`} {
		if d, err := convert(t, lagscope, []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func TestSamplesBeyondWhatIsKeptInOrderAreCounted(t *testing.T) {
	const kept = 1000
	room := kept
	s := sampleList{room: &room}
	for i := range kept + 5 {
		if err := s.add(int64(i % 7)); err != nil {
			t.Fatal(err)
		}
	}
	var f Finding
	s.into(&f, Quantity{})
	if f.RTT != nil || f.Bins.Len() != kept+5 || len(f.Bins) != 7 || room != kept-7 {
		t.Errorf("%d in order, %d counted, %d different, room for %d", len(f.RTT), f.Bins.Len(), len(f.Bins), room)
	}
	for i := range kept {
		if err := s.add(int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if s.add(kept) == nil {
		t.Error("the number of different round trips is not bounded")
	}
	another := sampleList{room: &room}
	if another.add(1) == nil {
		t.Error("the next run of the document has room of its own")
	}
}
