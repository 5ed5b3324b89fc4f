package simulate

import (
	"math"
	"math/rand/v2"
	"time"

	"isochrone/prober/wire"
)

const (
	usualStreams = 4    // where the probe leaves it to the path
	rateWander   = 0.03 // deviation of a run's rate
	intervalNS   = int64(time.Second)
)

// throughput fills in what a throughput run came to: the smallest of what the path carries, of what the
// streams' windows let through in a round trip, and of the probe's own cap.
func (m *Model) throughput(run *wire.Run, p *Pair, spec wire.Spec, random *rand.Rand) {
	streams := spec.Bulk.Streams
	if streams == 0 {
		streams = usualStreams
	}
	directions := []wire.Direction{spec.Bulk.Direction}
	if spec.Bulk.Direction == wire.DirectionBoth {
		directions = []wire.Direction{wire.DirectionUp, wire.DirectionDown}
	}
	t := run.PlannedStart
	rtt := (m.floor(p, t) + m.queue(p, t)) / 1e6 // s
	carried := p.CapacityBPS * (1 - busyCapacity*m.busy(p, t))
	windows := float64(streams) * p.WindowBytes * 8 / rtt
	b := &wire.BulkResult{}
	for _, d := range directions {
		rate := min(carried, windows)
		if most := float64(spec.Bulk.RateBPS); most > 0 {
			rate = min(rate, most)
		}
		rate *= math.Exp(rateWander * random.NormFloat64())
		f, reached := flow(d, streams, rate, spec, spec.Bulk.MaxBytes/int64(len(directions)))
		limited := 0.02
		if windows <= carried {
			limited = 0.9
		}
		f.WindowLimitedRatio, f.WindowLimited = &limited, limited > 0.5
		lost := int64(math.Round(rate / 1e9 * 20 * (1 + m.busy(p, t))))
		f.Retransmits = &lost
		b.Flows = append(b.Flows, f)
		b.Bytes += f.Bytes + f.RampBytes
		b.BudgetReached = b.BudgetReached || reached
	}
	run.Bulk = b
	run.Counts.Sent, run.Counts.Received = 0, 0
}

// flow is one direction of a run: at half of the rate while it ramps up, and at the rate for as long as the probe says or the budget lasts.
func flow(d wire.Direction, streams int, bps float64, spec wire.Spec, budget int64) (f wire.Flow, reached bool) {
	ramp, counted := int64(spec.Bulk.Ramp), int64(spec.Bulk.Duration)
	rampBytes := int64(bps / 2 / 8 * float64(ramp) / 1e9)
	if rampBytes >= budget { // it does not get beyond the ramp
		ramp = int64(float64(budget) / 2 / (bps / 2 / 8) * 1e9)
		rampBytes = budget / 2
	}
	bytes := int64(bps / 8 * float64(counted) / 1e9)
	if rampBytes+bytes > budget {
		reached = true
		bytes = budget - rampBytes
		counted = int64(float64(bytes) / (bps / 8) * 1e9)
	}
	f = wire.Flow{Direction: d, Streams: streams, Bytes: bytes, CountedNS: counted, RampBytes: rampBytes, RampNS: ramp, CongestionControl: "cubic"}
	f.BPS = float64(bytes) * 8 / (float64(counted) / 1e9)
	v := &f.Intervals
	for at := int64(0); at < ramp+counted; at += intervalNS {
		n := min(intervalNS, ramp+counted-at)
		moved := func(to int64) float64 { // by then
			return bps / 8 / 1e9 * (float64(min(to, ramp))/2 + float64(max(to-ramp, 0)))
		}
		v.AtNS, v.ForNS = append(v.AtNS, at), append(v.ForNS, n)
		v.Bytes = append(v.Bytes, int64(moved(at+n)-moved(at)))
	}
	return f, reached
}
