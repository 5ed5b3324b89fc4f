package report

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// run is one of n samples of which every tenth is lost, and the last canceled were never sent.
func run(n, canceled int) wire.Run {
	start := time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	r := wire.Run{Target: "target", Path: "public", Kind: wire.KindTCP, Address: "10.0.0.4:7700", Start: &start, End: &start, Timestamps: wire.TimestampsUser}
	s := &r.Samples
	for i := range n {
		sent, rtt, f := int64(i)*1e6, int64(20e6+i*1000), wire.Failure("")
		switch {
		case i >= n-canceled:
			sent, rtt, f = wire.Null, wire.Null, wire.FailureCanceled
		case i%10 == 9:
			rtt, f = wire.Null, wire.FailureTimeout
		}
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*1e6), append(s.SentNS, sent)
		s.RTTNS, s.Failure, s.ServerNS = append(s.RTTNS, rtt), append(s.Failure, f), append(s.ServerNS, wire.Null)
		if sent != wire.Null {
			r.Counts.Sent++
		}
		if rtt != wire.Null {
			r.Counts.Received++
		}
	}
	r.Counts.Lost = r.Counts.Sent - r.Counts.Received
	return r
}

func TestTheFiguresAreTheSummarys(t *testing.T) {
	r := run(200, 0)
	steal, bound := 0.01, int64(150_500)
	p := wire.Provenance{ProberVersion: "1.2.3", CPUStealRatio: &steal, ClockErrorNS: &bound}
	d := Of(Input{Target: "weu", Spec: wire.Spec{Kind: wire.KindTCP, Count: 200, Interval: time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16}, Run: r, Provenance: p})
	s := summary.Of(&r, &p)
	for name, c := range map[string]struct {
		got  *Microseconds
		want *float64
	}{
		"min": {d.RTT.MinUS, s.Min}, "mean": {d.RTT.MeanUS, s.Mean}, "max": {d.RTT.MaxUS, s.Max}, "jitter": {d.RTT.JitterUS, s.Jitter},
		"p50": {d.RTT.Percentiles[0].ValueUS, s.P50.Value}, "p50 low": {d.RTT.Percentiles[0].LowUS, s.P50.Low}, "p50 high": {d.RTT.Percentiles[0].HighUS, s.P50.High},
		"p90": {d.RTT.Percentiles[1].ValueUS, s.P90.Value}, "p95": {d.RTT.Percentiles[2].ValueUS, s.P95.Value}, "p99": {d.RTT.Percentiles[3].ValueUS, s.P99.Value},
	} {
		if (c.got == nil) != (c.want == nil) || c.got != nil && float64(*c.got)-*c.want/1000 > 0.001 {
			t.Errorf("%s: %v µs, and the summary says %v ns", name, c.got, c.want)
		}
	}
	if *d.RTT.MinUS != 20_000 || *d.RTT.Percentiles[0].ValueUS != 20_098 { // the 90th of 180 received: nine of every ten are
		t.Errorf("min %v, p50 %v", *d.RTT.MinUS, *d.RTT.Percentiles[0].ValueUS)
	}
	if d.RTT.Percentiles[3].ValueUS != nil {
		t.Errorf("p99 of 180 samples is %v", *d.RTT.Percentiles[3].ValueUS)
	}
	if *d.Loss.Ratio != 0.1 || len(d.Failures) != 1 || d.Failures[0] != (FailureCount{wire.FailureTimeout, 20}) {
		t.Errorf("loss %v, failures %v", *d.Loss.Ratio, d.Failures)
	}
	if *d.Noise.ClockErrorUS != 150.5 || *d.Noise.CPUStealRatio != 0.01 || *d.Spec.RequestBytes != 64 || d.Spec.IntervalUS != 1000 {
		t.Errorf("noise %+v, spec %+v", d.Noise, d.Spec)
	}
	if d.Samples != nil || d.Histogram != nil {
		t.Error("samples or a histogram that nobody asked for")
	}
}

func TestThePercentileNeedsWhatTheSummaryNeeds(t *testing.T) {
	for i, p := range rttOf(summary.Summary{}).Percentiles[:4] {
		for _, n := range []int{p.NeedsCount - 1, p.NeedsCount} {
			values := make([]int64, n)
			known := summary.NearestRank(values, []float64{0.5, 0.9, 0.95, 0.99}[i]) != nil
			if known != (n == p.NeedsCount) {
				t.Errorf("%s of %d samples: known is %v, and %d are said to be needed", p.Name, n, known, p.NeedsCount)
			}
		}
	}
}

func TestSamplesThatWereNeverSentAreLeftOut(t *testing.T) {
	r := run(100, 60)
	d := Of(Input{Run: r, Samples: true, Interrupted: true})
	if d.Samples.Len() != 40 || len(d.Samples.Failure) != 40 || len(d.Samples.ServerNS) != 40 || d.Counts.Sent != 40 {
		t.Errorf("%d samples of which 40 were sent; counts %+v", d.Samples.Len(), d.Counts)
	}
	if len(d.Failures) != 1 || d.Failures[0].Code != wire.FailureTimeout || d.Failures[0].Count != 4 {
		t.Errorf("failures %v, want the 4 that were lost", d.Failures)
	}
	if r.Samples.Len() != 100 {
		t.Error("the run itself was cut")
	}
}

func TestBucketsHoldEveryValue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		values := make([]int64, 1+random.IntN(300))
		spread := []int64{1, 2, 11, 1000, 1e9}[random.IntN(5)]
		for i := range values {
			values[i] = 1 + random.Int64N(spread)
		}
		buckets := Buckets(values)
		sum := 0
		for i, b := range buckets {
			sum += b.Count
			if i > 0 && (b.FromUS <= buckets[i-1].FromUS || b.FromUS != buckets[i-1].ToUS) {
				t.Fatalf("buckets do not follow each other: %v", buckets)
			}
		}
		if sum != len(values) || len(buckets) > maxBuckets {
			t.Fatalf("%d buckets hold %d of %d values: %v", len(buckets), sum, len(values), buckets)
		}
		if first, last := buckets[0], buckets[len(buckets)-1]; first.FromUS != Microseconds(slices.Min(values))/1000 || last.ToUS != Microseconds(slices.Max(values))/1000 {
			t.Fatalf("buckets from %v to %v of values from %d to %d ns", first.FromUS, last.ToUS, slices.Min(values), slices.Max(values))
		}
	}
	if Buckets(nil) != nil {
		t.Error("buckets of nothing")
	}
}

func TestBucketsAreEvenInWidthOrInRatio(t *testing.T) {
	even := Buckets([]int64{1000, 7000})
	if w := even[0].ToUS - even[0].FromUS; len(even) != maxBuckets || w != even[5].ToUS-even[5].FromUS {
		t.Errorf("values that spread little: %v", even)
	}
	wide := Buckets([]int64{1000, 4096000})
	if len(wide) != maxBuckets || wide[0].ToUS != 2 || wide[1].ToUS != 4 || wide[10].ToUS != 2048 {
		t.Errorf("values that spread widely: %v", wide)
	}
}

func TestEveryFailureAndReasonHasWords(t *testing.T) {
	for _, f := range wire.Failures() {
		// What only the app says, or what the run's detail explains.
		if slices.Contains([]wire.Failure{wire.FailureTargetDown, wire.FailureExpired, wire.FailureUnsupported}, f) {
			continue
		}
		if failureText(f) == string(f) {
			t.Errorf("%s has no words", f)
		}
		if f != wire.FailureCanceled && f != wire.FailureTargetBusy && Remedy(wire.KindTCP, f, true) == "" {
			t.Errorf("%s has no remedy", f)
		}
	}
	for _, r := range []summary.Reason{summary.ReasonLateSends, summary.ReasonClientOverhead, summary.ReasonServerDwell, summary.ReasonCPUSteal, summary.ReasonClockStep, summary.ReasonSplitBelowRTT} {
		if reasonText(r) == string(r) {
			t.Errorf("%s has no words", r)
		}
	}
}

func TestTheTextSaysWhatAClosedLoopCannotSee(t *testing.T) {
	const note = "a closed loop cannot see how long a stall was; use -i"
	d := few()
	if !strings.Contains(string(d.Text()), note) {
		t.Errorf("no note:\n%s", d.Text())
	}
	d.Spec.ClosedLoop = false
	if bytes.Contains(d.Text(), []byte(note)) {
		t.Errorf("a note in an open loop:\n%s", d.Text())
	}
}

func TestATargetIsShownWithoutItsQuery(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.4": "10.0.0.4", "db.example.com:5432": "db.example.com:5432", "[fe80::1%eth0]:80": "[fe80::1%eth0]:80",
		"https://example.com/": "https://example.com/", "http://[::1]:8080": "http://[::1]:8080", "https://example.com/a%2Fb": "https://example.com/a%2Fb",
		"https://example.com/a?token=s3cret#s3cret": "https://example.com/a?…", "https://example.com/a#s3cret": "https://example.com/a",
		"https://me:s3cret@example.com/": "https://example.com/", "https://me:s3%cret@example.com/": "URL",
	} {
		if got := Target(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if d := Of(Input{Target: "https://example.com/?token=s3cret", Run: wire.Run{Kind: wire.KindHTTP}}); d.Target != "https://example.com/?…" {
		t.Errorf("the document's target is %q", d.Target)
	}
}

func TestASmallLossIsNotShownAsNone(t *testing.T) {
	for ratio, want := range map[float64]string{0: "0.00 %", 0.0000384: "0.0038 %", 0.0001: "0.01 %", 0.25: "25.00 %", 1: "100.00 %"} {
		if got := percent(&ratio); got != want {
			t.Errorf("%v is shown as %q, want %q", ratio, got, want)
		}
	}
}

func TestWhatIsNotPermittedHasTheSystemsOwnRemedy(t *testing.T) {
	for system, want := range map[string]string{"linux": "CAP_NET_RAW", "windows": "administrator", "darwin": "root"} {
		if got := permission(system); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want it to name %q", system, got, want)
		}
	}
}
