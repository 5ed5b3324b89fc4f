package main

import (
	"time"

	"isochrone/prober/wire"
)

// bulkRun is a run that loads the network, by n: of throughput n Mbit/s up in four streams; of saturate
// n Mbit/s at the third of four levels, the last of which has twice its p99; of stream n messages a
// second through a target that takes a quarter of them; of load 100 requests of n ms, 5 of them the server's.
func bulkRun(target, path string, kind wire.Kind, start time.Time, n int) wire.Run {
	end := start.Add(10 * time.Second)
	r := wire.Run{Target: target, Path: path, Kind: kind, Address: "20.50.0.4:7700", PlannedStart: start, Start: &start, End: &end, Bulk: &wire.BulkResult{}}
	b, second := r.Bulk, int64(time.Second)
	switch kind {
	case wire.KindThroughput:
		moved, resent := int64(n)*1_000_000, int64(n%10)
		b.Bytes, b.BudgetReached = moved+50_000_000, n == 200
		b.Flows = []wire.Flow{{Direction: wire.DirectionUp, Streams: 4, Bytes: moved, CountedNS: 8 * second, RampBytes: 50_000_000, RampNS: 2 * second,
			Retransmits: &resent, CongestionControl: "cubic", WindowLimited: n == 100}}
	case wire.KindSaturate:
		for i, part := range []int64{4, 2, 1, 1} {
			bytes := int64(n) * 1_000_000 / 8 / part
			p99 := []int64{2, 3, 4, 8}[i] * int64(time.Millisecond)
			b.Levels = append(b.Levels, wire.Level{Outstanding: 1 << i, Requests: 100, Bytes: bytes, CountedNS: second, P50NS: p99 / 2, P99NS: p99})
			b.Bytes += bytes
		}
		r.Counts = wire.Counts{Sent: 400, Received: 400}
	case wire.KindStream:
		r.Counts = wire.Counts{Sent: 5000, Received: 5000}
		b.Bytes = 5000 * 1024
		b.Stream = &wire.StreamResult{SourceRate: float64(n), ReceiverRate: float64(n) / 4, Messages: 5000, DelayP50NS: 3 * second, DelayP99NS: 7 * second,
			DelayLastNS: 15_000 * second / int64(n), DelayBoundNS: 1_000_000, PredictedLastNS: 15_000 * second / int64(n), MaxBacklog: 3750}
	case wire.KindLoad:
		good := goodRun(target, path, start, time.Duration(n)*time.Millisecond, 100, 0)
		r.Samples, r.Counts = good.Samples, good.Counts
		for range r.Samples.Len() {
			r.Samples.ServerNS = append(r.Samples.ServerNS, int64(5*time.Millisecond))
		}
		b.Bytes, b.Load = 100_000, &wire.LoadResult{Users: 10}
	}
	return r
}
