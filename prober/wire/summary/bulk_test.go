package summary

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

func flow(d wire.Direction, bytes, ns int64) wire.Flow {
	return wire.Flow{Direction: d, Streams: 4, BPS: 1, Bytes: bytes, CountedNS: ns, RampBytes: 1_000_000, RampNS: 2e9, Retransmits: new(int64(17)),
		CongestionControl: "cubic", WindowLimitedRatio: new(0.25)}
}

// The rates come from bytes and time; what a run says of them itself is not looked at.
func TestThroughputByDirection(t *testing.T) {
	up, down := flow(wire.DirectionUp, 250_000_000, 10e9), flow(wire.DirectionDown, 25_000_000, 5e9)
	down.WindowLimited, down.Streams, down.RampNS = true, 2, 1e9
	r := &wire.Run{Kind: wire.KindThroughput, Counts: wire.Counts{Sent: 5, Lost: 1}, Bulk: &wire.BulkResult{Bytes: 277e6, BudgetReached: true, Flows: []wire.Flow{up, down}}}
	got := Of(r, &wire.Provenance{CPUStealRatio: new(0.06)})
	want := &Bulk{MovedBytes: 277e6, BudgetReached: true, Throughput: Throughput{Direction: wire.DirectionBoth, UpBPS: new(200e6), DownBPS: new(40e6), Streams: new(4),
		UpRetransmits: new(17), DownRetransmits: new(17), UpWindowLimited: new(0.25), DownWindowLimited: new(0.25), WindowLimited: wire.DirectionDown,
		CongestionControl: "cubic", RampNS: new(2e9), RampBytes: new(2e6)}}
	if d := cmp.Diff(want, got.Bulk); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.LossRatio != nil || got.Min != nil || got.P50.Value != nil {
		t.Errorf("a run without samples has a loss of %v and round trips", got.LossRatio)
	}
	if d := cmp.Diff([]Reason{ReasonCPUSteal}, got.Noise.Degraded); d != "" {
		t.Errorf("degraded (-want +got):\n%s", d)
	}
	one := Of(&wire.Run{Kind: wire.KindThroughput, Bulk: &wire.BulkResult{Flows: []wire.Flow{flow(wire.DirectionUp, 5, 0)}}}, &wire.Provenance{})
	if b := one.Bulk.Throughput; b.UpBPS != nil || b.DownBPS != nil || b.DownRetransmits != nil || b.Direction != wire.DirectionUp || b.WindowLimited != "" {
		t.Errorf("one direction that ended in its ramp: %+v", b)
	}
	if none := Of(&wire.Run{Kind: wire.KindThroughput}, &wire.Provenance{}); none.Bulk != nil {
		t.Errorf("nothing was moved: %+v", none.Bulk)
	}
}

func TestSaturationFindsTheBestLevelAndTheKnee(t *testing.T) {
	level := func(outstanding, requests int, bytes, p99 int64) wire.Level {
		return wire.Level{Outstanding: outstanding, Requests: requests, Bytes: bytes, CountedNS: 1e9, P50NS: p99 / 2, P99NS: p99}
	}
	of := func(levels ...wire.Level) Saturation {
		return Of(&wire.Run{Kind: wire.KindSaturate, Bulk: &wire.BulkResult{Levels: levels}}, &wire.Provenance{}).Bulk.Saturation
	}
	got := of(level(1, 10, 1_000, 100), level(2, 20, 2_000, 150), level(4, 20, 2_000, 300))
	want := Saturation{KneeOutstanding: new(2), BestOutstanding: new(2), BestBPS: new(16_000.0), BestP50: new(75.0), BestP99: new(150.0)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	cut := level(4, 1, 500, 150) // the budget was used up after a tenth of a second: 40 kbit/s, of one request
	cut.CountedNS = 1e8
	if got := of(level(1, 10, 1_000, 100), level(2, 20, 2_000, 150), cut); *got.BestOutstanding != 2 || *got.BestBPS != 16_000 {
		t.Errorf("a level that was cut: %d at %v bit/s is the best", *got.BestOutstanding, *got.BestBPS)
	}
	if got := of(level(1, 10, 1_000, 100), level(2, 20, 2_000, 199)); got.KneeOutstanding != nil || *got.BestOutstanding != 2 {
		t.Errorf("p99 never doubled: %+v", got)
	}
	if got := of(level(1, 0, 0, 0), level(2, 0, 0, 50)); got != (Saturation{}) {
		t.Errorf("nothing was answered: %+v", got)
	}
}

func TestLoadIsComputedFromItsSamples(t *testing.T) {
	r := &wire.Run{Kind: wire.KindLoad, LeastConnectNS: new(int64(20e6)), Bulk: &wire.BulkResult{Bytes: 1, Load: &wire.LoadResult{Users: 20, RequestsPerS: 1e9, NetworkP50NS: new(int64(1))}}}
	for i := range 1000 {
		s := &r.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*2e6), append(s.SentNS, int64(i)*2e6)
		s.RTTNS, s.ServerNS, s.Failure = append(s.RTTNS, 30e6), append(s.ServerNS, 8e6-int64(i)), append(s.Failure, "")
	}
	r.Samples.ServerNS[7] = 15e6 // 15 ms are left of 20
	r.Counts = wire.Counts{Sent: 1000, Received: 1000}
	got := Of(r, &wire.Provenance{})
	seconds := (999*2e6 + 30e6) / 1e9
	if l := got.Bulk.Load; *l.Users != 20 || *l.RequestsPerS != 1000/seconds || *l.NetworkP50 != 22e6+499 || *l.NetworkP99 != 22e6+989 || *l.BelowRTT != 1 {
		t.Errorf("%+v: %v/s, network %v %v, below %v", l, *l.RequestsPerS, *l.NetworkP50, *l.NetworkP99, *l.BelowRTT)
	}
	if !slices.Equal(got.Noise.Degraded, []Reason{ReasonSplitBelowRTT}) { // and not for the server's work
		t.Errorf("degraded: %v", got.Noise.Degraded)
	}
	if got.P50.Value == nil || *got.P50.Value != 30e6 || *got.LossRatio != 0 || *got.Noise.ServerP50 == 0 {
		t.Errorf("the samples' own figures: %+v", got)
	}
	quiet := &wire.Run{Kind: wire.KindLoad, Bulk: &wire.BulkResult{Bytes: 1}, Samples: wire.Samples{Sequence: wire.Column{0}, DueNS: wire.Column{0}, SentNS: wire.Column{wire.Null}, RTTNS: wire.Column{wire.Null}, Failure: wire.FailureColumn{wire.FailureCanceled}}}
	if l := Of(quiet, &wire.Provenance{}).Bulk.Load; l != (Load{}) {
		t.Errorf("nothing was sent: %+v", l)
	}
}
