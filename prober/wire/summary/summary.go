// Package summary computes the figures of one run from its samples. Everything is exact, from
// the samples themselves; a figure that the samples cannot carry is null.
package summary

import (
	"slices"

	"isochrone/prober/wire"
)

// Summary holds a run's figures in nanoseconds. Null pointers are figures that the samples do
// not support.
type Summary struct {
	Min, Mean, Max, Stddev *float64
	// P50 to P999 are nearest-rank quantiles of the received round trips.
	P50, P90, P95, P99, P999 Quantile
	// Jitter is the smoothed mean deviation of RFC 3550, section 6.4.1, of consecutive round
	// trips; null with fewer than two.
	Jitter *float64
	// PDV is the packet delay variation of RFC 5481, as p95 − p50; null when p95 is.
	PDV *float64
	// LossRatio is lost / sent, and LossLow and LossHigh its Wilson interval at 95 %; null
	// when nothing was sent. Samples that were canceled in flight had not their whole chance to
	// be answered: they count as neither.
	LossRatio, LossLow, LossHigh *float64
	// Failures counts the samples by failure code.
	Failures map[wire.Failure]int
	// Noise is what the measurement itself added, or may have.
	Noise Noise
	// OneWay is what is known of the directions; nil where the kind does not tell them apart.
	OneWay *OneWay
	// HTTP is what is known of an http run's phases; nil for other kinds.
	HTTP *HTTP
	// Bulk is what a run that loads the network came to; nil for other kinds, and where nothing was
	// moved.
	Bulk *Bulk
}

// Of computes the summary of a run. p is what made it.
func Of(r *wire.Run, p *wire.Provenance) Summary {
	out := Summary{Failures: failures(r.Samples), OneWay: oneWayOf(r, p), HTTP: httpOf(r), Bulk: bulkOf(r)}
	if lost, sent := lostOf(r); sent > 0 && r.Kind.HasSamples() { // TCP sends again what the others lose
		loss, low, high := Wilson(lost, sent)
		out.LossRatio, out.LossLow, out.LossHigh = &loss, &low, &high
	}
	rtt := r.Samples.RTTNS.Values()
	out.Jitter = jitter(rtt)
	slices.Sort(rtt)
	out.roundTrips(rtt)
	below := 0
	for _, n := range []*int{out.HTTP.belowRTT(), out.Bulk.belowRTT()} {
		if n != nil {
			below = *n
		}
	}
	out.Noise = noiseOf(r, p, rtt, below)
	return out
}

// roundTrips fills in what sorted round trips say.
func (out *Summary) roundTrips(rtt []int64) {
	if len(rtt) == 0 {
		return
	}
	mean, stddev := moments(rtt)
	least, most := float64(rtt[0]), float64(rtt[len(rtt)-1])
	out.Min, out.Mean, out.Max, out.Stddev = &least, &mean, &most, stddev
	out.P50, out.P90, out.P95 = QuantileOf(rtt, 0.5), QuantileOf(rtt, 0.9), QuantileOf(rtt, 0.95)
	out.P99, out.P999 = QuantileOf(rtt, 0.99), QuantileOf(rtt, 0.999)
	if out.P95.Value != nil {
		pdv := *out.P95.Value - *out.P50.Value
		out.PDV = &pdv
	}
}
