package tables

import (
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
)

// full is a result that has a value for every column but those of a failed run.
func full(t testing.TB, env string) result.Result {
	t.Helper()
	rtt := make([]int64, 0, 10_020)
	for i := range 10_000 {
		rtt = append(rtt, 2_000_000+int64(i)*100)
	}
	for range 20 {
		rtt = append(rtt, wire.Null)
	}
	r := measured(t, seriesOf(env, "westeurope", "eastus"), slot0, rtt...)
	r.Part, r.Tool = 3, "isochrone"
	r.Run.Detail = "a text with 'quotes', Ümläute and a \u0001"
	r.Run.Counts.Warmup, r.Run.Counts.Late, r.Run.Counts.Duplicate, r.Run.Counts.Reordered, r.Run.Counts.PacingViolations = 5, 4, 3, 2, 1
	r.Run.TCPInfo = &wire.TCPInfo{RTTUS: 2100, MinRTTUS: 2000, RTTVarUS: 17, Retransmits: 20, DeliveryRateBPS: 9_876_543_210,
		MSSBytes: 1448, CongestionControl: "cubic", CongestionWindow: 10}
	clock, steal := int64(12_345), 0.25
	r.Provenance = wire.Provenance{ProberVersion: "1.2.3", ImageDigest: "sha256:abc", VMSize: "Standard_D2s_v5", ClockErrorNS: &clock, CPUStealRatio: &steal, Simulated: true}
	fillFigures(&r)
	return r
}

// fillFigures gives a result the figures that no one kind has all of, each another number of
// nanoseconds.
func fillFigures(r *result.Result) {
	next := 1_000.0
	n := func() *float64 { v := next; next += 1_500; return &v }
	c := func(v int) *int { return &v }
	counts := &r.Run.Counts
	counts.LostForward, counts.LostReverse = c(11), c(5)
	counts.DuplicateForward, counts.DuplicateReverse = c(2), c(1)
	counts.ReorderedForward, counts.ReorderedReverse = c(0), c(2)
	clock := int64(250_000)
	r.Run.Timestamps, r.Run.ClockSteps, r.Run.Unstamped, r.Run.TargetClockErrorNS = wire.TimestampsKernel, c(0), c(3), &clock
	s := &r.Summary
	for _, q := range []*summary.Quantile{&s.P50, &s.P90, &s.P95, &s.P99, &s.P999} {
		q.Low, q.High = n(), n()
	}
	s.P999.High = nil // no sample can be the bound
	s.Noise = summary.Noise{LatenessP50: n(), LatenessP99: n(), LatenessMax: n(), ClientP50: n(), ClientP99: n(), ServerP50: n(), ServerP99: n(),
		Degraded: []summary.Reason{summary.ReasonLateSends, summary.ReasonCPUSteal}}
	skew := -0.25
	s.OneWay = &summary.OneWay{ForwardPDV95: n(), ForwardPDV99: n(), ReversePDV95: n(), ReversePDV99: n(), ForwardMin: n(), ForwardP50: n(),
		ReverseMin: n(), ReverseP50: n(), Bound: n(), Method: summary.OneWayMinima, OffsetNS: n(), SkewPPM: &skew}
	s.HTTP = &summary.HTTP{DNSP50: n(), ConnectP50: n(), TLSP50: n(), FirstByteP50: n(), NetworkP50: n(), NetworkP99: n(), BelowRTT: new(7)}
	s.Bulk = &summary.Bulk{MovedBytes: 1 << 40, BudgetReached: true,
		Throughput: summary.Throughput{Direction: wire.DirectionBoth, UpBPS: n(), DownBPS: n(), Streams: c(4), UpRetransmits: c(8), DownRetransmits: c(9),
			UpWindowLimited: new(0.25), DownWindowLimited: new(0.75), WindowLimited: wire.DirectionDown, CongestionControl: "bbr", RampNS: n(), RampBytes: n()},
		Saturation: summary.Saturation{KneeOutstanding: c(16), BestOutstanding: c(32), BestBPS: n(), BestP50: n(), BestP99: n()},
		Stream: &wire.StreamResult{SourceRate: 2000.5, ReceiverRate: 591.25, Messages: 50_000, DelayP50NS: 1_500, DelayP99NS: 2_500, DelayLastNS: -3_500, DelayBoundNS: 4_500,
			PredictedLastNS: 5_500, MaxBacklog: 35_000},
		Load: summary.Load{Users: c(100), RequestsPerS: new(321.5), NetworkP50: n(), NetworkP99: n(), BelowRTT: c(6)}}
}

func registration(env, prober string, heartbeat time.Time) wire.Registration {
	return wire.Registration{Version: wire.RegistrationVersion, Environment: env, Prober: prober, Region: prober,
		Started: slot0.Add(-time.Hour), Heartbeat: heartbeat, HeartbeatInterval: 30 * time.Second,
		Addresses:        []wire.PathAddress{{Path: "public", Host: "20.50.0.4", TCPPort: 7700}},
		ReadsAssignments: []int{1}, Provenance: wire.Provenance{ProberVersion: "1.2.3"}}
}
