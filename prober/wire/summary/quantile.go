package summary

import "math"

// Quantile is a quantile of a run's samples.
type Quantile struct {
	// Value is the smallest sample that at least that part of the samples does not exceed
	// (nearest rank). Null when fewer than ten samples lie above: n(1 − p) < 10.
	Value *float64
	// Low and High are its interval at 95 %, distribution-free, by order statistics (David and
	// Nagaraja, Order Statistics, section 7.1); null with Value, and where no sample can be the bound.
	Low, High *float64
}

// slack is what n·p may be wrong by: 1000 × (1 − 0.99) is a little under 10 in floating point.
const slack = 1e-9

// NearestRank is the nearest-rank quantile p of sorted values, or nil when fewer than ten of them
// would lie above it.
func NearestRank(sorted []int64, p float64) *float64 {
	if n := float64(len(sorted)); n*(1-p) < 10-slack {
		return nil
	}
	v := float64(sorted[nearest(len(sorted), p)-1])
	return &v
}

// nearest is the rank, from 1, of the quantile p of n > 0 values.
func nearest(n int, p float64) int { return max(int(math.Ceil(float64(n)*p-slack)), 1) }

// QuantileOf is the quantile p of sorted values with its interval.
func QuantileOf(sorted []int64, p float64) Quantile {
	q := Quantile{Value: NearestRank(sorted, p)}
	if q.Value == nil {
		return q
	}
	l, u := Ranks(len(sorted), p)
	if l >= 1 {
		v := float64(sorted[l-1])
		q.Low = &v
	}
	if u <= len(sorted) {
		v := float64(sorted[u-1])
		q.High = &v
	}
	return q
}

// confidence is that of all the intervals.
const confidence = 0.95

// Ranks are the ranks l < u, from 1, of the two of n samples that hold the true quantile p between
// them, X(l) ≤ ξ < X(u), with a probability of 95 % at least, whatever the distribution; where it has
// ties, X(l) ≤ ξ ≤ X(u) is the more probable. It needs n > 0 and 0 < p < 1.
//
// The number of samples at or below ξ is binomial, so the probability is the sum of its terms from
// l to u − 1. Of all pairs the one with the smallest u − l is taken, of several the one with the
// largest probability, then the lowest: beginning with the most probable count, the more probable
// neighbour is added until the sum suffices, which is both, as the terms fall to both sides. The
// tails are as equal as that allows.
//
// Where no such pair exists, because the samples are few or p is far out, l may be 0 or u n + 1:
// no sample is that bound.
func Ranks(n int, p float64) (l, u int) {
	b := binomial{n: n, odds: p / (1 - p)}
	mode := min(int(float64(n+1)*p), n)
	total, none, all := b.sum(mode)
	first, last := 1, n-1 // the counts that may be added
	if total-none-all < confidence*total {
		first, last = 0, n
	}
	start, sum := mode, 1.0
	switch { // the most probable of them; the terms are still relative to the mode's
	case mode < first:
		start, sum = first, b.up(mode, 1)
	case mode > last:
		start, sum = last, b.down(mode, 1)
	}
	l, u = start, start+1
	below, above := b.down(start, sum), b.up(start, sum)
	for sum < confidence*total {
		if u > last || l > first && below >= above {
			sum, l = sum+below, l-1
			below = b.down(l, below)
		} else {
			sum, u = sum+above, u+1
			above = b.up(u-1, above)
		}
	}
	return l, u
}

// binomial steps from one term of a binomial distribution to the next: b(k+1)/b(k) =
// (n−k)/(k+1) · p/(1−p). Terms count relative to the one where it began, so nothing overflows or
// has to be approximated; the rounding of thousands of steps stays under 1e-11.
type binomial struct {
	n    int
	odds float64 // p/(1−p)
}

// up is the term of k+1 from that of k, and down that of k−1.
func (b binomial) up(k int, term float64) float64 {
	return term * float64(b.n-k) / float64(k+1) * b.odds
}

func (b binomial) down(k int, term float64) float64 {
	return term * float64(k) / float64(b.n-k+1) / b.odds
}

// sum adds up all terms relative to the mode's, and says what the terms of 0 and of n are.
func (b binomial) sum(mode int) (total, none, all float64) {
	const nothing = 1e-20 // the terms beyond cannot add up to anything
	total = 1
	k, term := mode, 1.0
	for ; k > 0 && term > nothing; k-- {
		term = b.down(k, term)
		total += term
	}
	if k == 0 {
		none = term
	}
	k, term = mode, 1.0
	for ; k < b.n && term > nothing; k++ {
		term = b.up(k, term)
		total += term
	}
	if k == b.n {
		all = term
	}
	return total, none, all
}
