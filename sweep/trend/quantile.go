package trend

import (
	"math"
	"slices"
)

// LowQuantile is the quantile p of values, p under one half, by nearest rank, with its interval by order statistics
// (David and Nagaraja, Order Statistics, section 7.1). ok is false for fewer than 1/p values: below the smallest
// of them nobody has looked, so that it would pass for a quantile that it is not.
func LowQuantile(values []float64, p float64) (e Estimate, ok bool) {
	n := len(values)
	const slack = 1e-9 // 20 × 0.05 is a little over 1 in floating point
	if p <= 0 || p >= 0.5 || float64(n)*p < 1-slack {
		return Estimate{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	e = Estimate{N: n, Value: sorted[max(int(math.Ceil(float64(n)*p-slack)), 1)-1]}
	// B counts the values below the quantile and is binomial (n, p): X(l) and X(u) bound it, with l the largest for
	// which P(B < l) <= 2.5 %, and u the smallest for which P(B >= u) <= 2.5 %.
	const tail = (1 - Confidence) / 2
	below, l, u := 0.0, 0, 0
	for k := 0; k <= n; k++ {
		below += binomialAt(n, k, p)
		if below <= tail {
			l = k + 1
		}
		if 1-below <= tail {
			u = k + 1
			break
		}
	}
	if l >= 1 {
		e.Low = &sorted[l-1]
	}
	if u >= 1 && u <= n {
		e.High = &sorted[u-1]
	}
	return e, true
}

// binomialAt is P(B = k) for B binomial (n, p).
func binomialAt(n, k int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	in, _ := math.Lgamma(float64(k + 1))
	out, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(all - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
