// Package trend holds statistics over many runs, as pure functions on slices: it reads no storage and
// knows no units.
//
// Intervals are distribution-free, at 95 % at least. Where the values are too few for one, there is
// none: an interval that covers everything would only look like an answer.
package trend

import (
	"math"
	"slices"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// z is the standard normal quantile of (1 + Confidence) / 2.
const z = 1.959963984540054

// Estimate is a value with its interval. Low and High are nil when the values are too few.
type Estimate struct {
	N         int // values, or pairs of values; of two groups those of the first
	M         int // of two groups those of the second
	Value     float64
	Low, High *float64
}

// Difference says whether the interval leaves zero out: the two sides differ.
func (e Estimate) Difference() bool { return e.Low != nil && (*e.Low > 0 || *e.High < 0) }

// Median is the median of values, the mean of the middle two when their number is even, with its
// interval by order statistics (David and Nagaraja, Order Statistics, section 7.1): from 6 values
// on. ok is false without values.
func Median(values []float64) (e Estimate, ok bool) {
	n := len(values)
	if n == 0 {
		return Estimate{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	e = Estimate{N: n, Value: middle(sorted)}
	// The largest l with P(B < l) <= 2.5 %, B binomial (n, 1/2): X(l) and X(n+1-l) bound the median.
	tail, term, l := 0.0, math.Exp2(-float64(n)), 0
	if term == 0 { // n is over 1,000: the normal approximation is right to the rank
		l = int(math.Floor(float64(n)/2 - z*math.Sqrt(float64(n))/2))
	} else {
		for k := 0; tail+term <= (1-Confidence)/2; k++ {
			tail += term
			term *= float64(n-k) / float64(k+1)
			l++
		}
	}
	if l >= 1 {
		low, high := sorted[l-1], sorted[n-l]
		e.Low, e.High = &low, &high
	}
	return e, true
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
