package summary

import (
	"slices"

	"isochrone/prober/wire"
	"isochrone/prober/wire/oneway"
)

// OneWay is what a run says of its two directions. Nanoseconds; null is unknown.
type OneWay struct {
	// The variation needs no clock: p95 and p99 of delay − smallest delay, by direction, a clock's
	// drift taken out (RFC 5481, section 4.2, packet delay variation). Null too when a clock
	// visibly did not run evenly: its steps would count as variation.
	ForwardPDV95, ForwardPDV99, ReversePDV95, ReversePDV99 *float64
	// The absolute delays, which are there only with Bound: no more than that far from the truth.
	ForwardMin, ForwardP50, ReverseMin, ReverseP50 *float64
	Bound                                          *float64
	// Method says what the bound rests on; empty without one.
	Method OneWayMethod
	// Offset is the target's clock less the source's in the middle of the run, by Method minima and
	// within Bound; null by another. Skew is how fast it grows, in parts per million, by either
	// method; null where the run is too short or too noisy to say.
	OffsetNS, SkewPPM *float64
}

// OneWayMethod says what absolute one-way delays rest on.
type OneWayMethod string

// The methods.
const (
	OneWayClocks OneWayMethod = "clocks" // both clocks are synchronised: the bound is their errors' sum
	OneWayMinima OneWayMethod = "minima" // per-direction minima: the bound is half the smallest round trip
)

// oneWayOf computes what is known of the directions. Of the two methods the one with the smaller
// bound is taken. Nothing absolute is told of a run in which a clock was set.
func oneWayOf(r *wire.Run, p *wire.Provenance) *OneWay {
	s := r.Samples
	if r.Kind != wire.KindUDP && (len(s.ForwardNS) == 0 || len(s.ReverseNS) == 0) {
		return nil
	}
	var out OneWay
	at, forward, reverse := directions(s)
	estimate, err := oneway.Of(at, forward, reverse)
	if err == nil {
		slices.Sort(estimate.Forward)
		slices.Sort(estimate.Reverse)
		out.ForwardPDV95, out.ForwardPDV99 = variation(estimate.Forward)
		out.ReversePDV95, out.ReversePDV99 = variation(estimate.Reverse)
	}
	if err == oneway.ErrUneven || r.ClockSteps != nil && *r.ClockSteps > 0 {
		return &out
	}
	if err == nil && estimate.Skewed {
		out.SkewPPM = &estimate.SkewPPM
	}
	if e, ok := clockError(r, p, forward, reverse); ok && (err != nil || e <= estimate.Bound) {
		slices.Sort(forward)
		slices.Sort(reverse)
		out.absolute(OneWayClocks, e, forward, reverse)
	} else if err == nil {
		out.absolute(OneWayMinima, estimate.Bound, estimate.Forward, estimate.Reverse)
		out.OffsetNS = &estimate.Offset
	}
	return &out
}

// directions is what the samples with both delays say: when each was sent, and the delays.
func directions(s wire.Samples) (at, forward, reverse []int64) {
	n := len(s.SentNS)
	if len(s.ForwardNS) != n || len(s.ReverseNS) != n {
		return nil, nil, nil
	}
	at, forward, reverse = make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	for i, t := range s.SentNS {
		if f, r := s.ForwardNS[i], s.ReverseNS[i]; t != wire.Null && f != wire.Null && r != wire.Null {
			at, forward, reverse = append(at, t), append(forward, f), append(reverse, r)
		}
	}
	return at, forward, reverse
}

// clockError is the bound on the two clocks' difference by their own word, unless the delays prove
// them wrong: no packet arrives before it was sent.
func clockError(r *wire.Run, p *wire.Provenance, forward, reverse []int64) (ns float64, ok bool) {
	source, target := p.ClockErrorNS, r.TargetClockErrorNS
	if source == nil || target == nil || *source < 0 || *target < 0 || len(forward) == 0 {
		return 0, false
	}
	ns = float64(*source) + float64(*target)
	return ns, float64(slices.Min(forward)) >= -ns && float64(slices.Min(reverse)) >= -ns
}

// variation is p95 and p99 of sorted delays, less the smallest.
func variation(delays []int64) (p95, p99 *float64) {
	p95, p99 = NearestRank(delays, 0.95), NearestRank(delays, 0.99)
	for _, q := range []*float64{p95, p99} {
		if q != nil {
			*q -= float64(delays[0])
		}
	}
	return p95, p99
}

// absolute fills in what sorted delays say, which are no more than bound from the truth.
func (o *OneWay) absolute(method OneWayMethod, bound float64, forward, reverse []int64) {
	o.Method, o.Bound = method, &bound
	least, other := float64(forward[0]), float64(reverse[0])
	o.ForwardMin, o.ReverseMin = &least, &other
	o.ForwardP50, o.ReverseP50 = NearestRank(forward, 0.5), NearestRank(reverse, 0.5)
}
