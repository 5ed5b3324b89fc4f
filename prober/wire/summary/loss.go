package summary

import (
	"math"

	"isochrone/prober/wire"
)

// failures counts the samples by failure code; nil when none failed.
func failures(s wire.Samples) map[wire.Failure]int {
	var out map[wire.Failure]int
	for _, f := range s.Failure {
		if f == "" {
			continue
		}
		if out == nil {
			out = map[wire.Failure]int{}
		}
		out[f]++
	}
	return out
}

// lostOf is how many samples were lost, of how many that were sent, those left out that were
// canceled in flight.
func lostOf(r *wire.Run) (lost, sent int) {
	lost, sent = r.Counts.Lost, r.Counts.Sent
	for i, f := range r.Samples.Failure {
		if f == wire.FailureCanceled && r.Samples.SentNS[i] != wire.Null {
			lost--
			sent--
		}
	}
	return lost, sent
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
