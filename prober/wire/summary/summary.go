// Package summary computes the figures of one run from its samples. Everything is exact, from
// the samples themselves; a figure that the samples cannot carry is null.
package summary

import (
	"math"
	"slices"

	"isochrone/prober/wire"
)

// Summary holds a run's figures in nanoseconds. Null pointers are figures that the samples do
// not support.
type Summary struct {
	Min, Mean, Max, Stddev *float64
	// P50 to P999 are nearest-rank quantiles: the smallest sample that at least that part of
	// the received samples does not exceed. Null when fewer than ten samples lie above:
	// n(1 − p) < 10.
	P50, P90, P95, P99, P999 *float64
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
}

// Of computes the summary of samples.
func Of(s wire.Samples, c wire.Counts) Summary {
	var out Summary
	for _, f := range s.Failure {
		if f != "" {
			if out.Failures == nil {
				out.Failures = map[wire.Failure]int{}
			}
			out.Failures[f]++
		}
	}
	for i, f := range s.Failure {
		if f == wire.FailureCanceled && s.SentNS[i] != wire.Null {
			c.Sent--
			c.Lost--
		}
	}
	if c.Sent > 0 {
		loss, low, high := Wilson(c.Lost, c.Sent)
		out.LossRatio, out.LossLow, out.LossHigh = &loss, &low, &high
	}
	rtt := s.RTTNS.Values()
	if len(rtt) == 0 {
		return out
	}
	out.Jitter = jitter(rtt)
	slices.Sort(rtt)
	mean, stddev := moments(rtt)
	least, most := float64(rtt[0]), float64(rtt[len(rtt)-1])
	out.Min, out.Mean, out.Max, out.Stddev = &least, &mean, &most, stddev
	for _, q := range []struct {
		p  float64
		to **float64
	}{{0.5, &out.P50}, {0.9, &out.P90}, {0.95, &out.P95}, {0.99, &out.P99}, {0.999, &out.P999}} {
		*q.to = Quantile(rtt, q.p)
	}
	if out.P95 != nil {
		pdv := *out.P95 - *out.P50
		out.PDV = &pdv
	}
	return out
}

// Quantile is the nearest-rank quantile p of sorted values, or nil when fewer than ten of them
// would lie above it.
func Quantile(sorted []int64, p float64) *float64 {
	n := float64(len(sorted))
	const slack = 1e-9 // 1000 × (1 − 0.99) is a little under 10 in floating point
	if n*(1-p) < 10-slack {
		return nil
	}
	rank := int(math.Ceil(n*p - slack))
	v := float64(sorted[max(rank, 1)-1])
	return &v
}

// Wilson is a ratio of k in n and its Wilson score interval at 95 % (Wilson 1927).
func Wilson(k, n int) (ratio, low, high float64) {
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high = max(centre-half, 0), min(centre+half, 1)
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return p, low, high
}

func moments(v []int64) (mean float64, stddev *float64) {
	for i, x := range v { // running mean: no sum can overflow
		mean += (float64(x) - mean) / float64(i+1)
	}
	if len(v) < 2 {
		return mean, nil
	}
	var squares float64
	for _, x := range v {
		squares += (float64(x) - mean) * (float64(x) - mean)
	}
	s := math.Sqrt(squares / float64(len(v)-1))
	return mean, &s
}

func jitter(rtt []int64) *float64 {
	if len(rtt) < 2 {
		return nil
	}
	var j float64
	for i := 1; i < len(rtt); i++ {
		j += (math.Abs(float64(rtt[i]-rtt[i-1])) - j) / 16
	}
	return &j
}
