package trend

import (
	"math"
	"slices"
)

// exactPairs is up to how many differences the signed-rank distribution is computed; beyond, the
// normal approximation has the same ranks but for one or two in thousands.
const exactPairs = 100

// Paired is the Hodges–Lehmann estimate of paired differences: the median of the means of all two of
// them, each with itself included (Walsh averages), with the interval that inverts Wilcoxon's
// signed-rank test (Hodges and Lehmann 1963; Hollander, Wolfe and Chicken, Nonparametric Statistical
// Methods, 3rd edition, sections 3.2 and 3.3). It supposes that the differences are spread
// symmetrically around what is estimated. The interval is exact for few differences, conservative
// where some are equal, and absent for fewer than 6. ok is false without differences.
func Paired(differences []float64) (e Estimate, ok bool) {
	n := len(differences)
	if n == 0 {
		return Estimate{}, false
	}
	d := slices.Sorted(slices.Values(differences))
	all := n * (n + 1) / 2
	low, high := d[0], d[n-1]
	atMost := func(x float64) int { return walshAtMost(d, x) }
	e = Estimate{N: n, Value: medianOf(all, low, high, atMost)}
	if k := signedRank(n); k >= 1 {
		l, h := kth(k, low, high, atMost), kth(all+1-k, low, high, atMost)
		e.Low, e.High = &l, &h
	}
	return e, true
}

// walshAtMost counts the Walsh averages of sorted values that are at most x.
func walshAtMost(d []float64, x float64) (n int) {
	j := len(d) - 1 // of i the largest with an average of at most x; it falls as i rises
	for i := range d {
		for j >= i && d[i]/2+d[j]/2 > x {
			j--
		}
		if j < i {
			break
		}
		n += j - i + 1
	}
	return n
}

// signedRank is the largest k for which the statistic of Wilcoxon's signed-rank test is below k with
// a probability of at most 2.5 %, under the hypothesis that nothing differs: so the k-th smallest and
// largest Walsh averages are the interval. 0: there is none.
func signedRank(n int) int {
	if n > exactPairs {
		mean, variance := float64(n)*float64(n+1)/4, float64(n)*float64(n+1)*float64(2*n+1)/24
		return int(math.Floor(mean-0.5-z*math.Sqrt(variance))) + 1
	}
	// p[t] is the probability that the ranks with a positive sign add up to t.
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for t := rank * (rank + 1) / 2; t >= 0; t-- {
			p[t] /= 2
			if t >= rank {
				p[t] += p[t-rank] / 2
			}
		}
	}
	return tailRank(p)
}

// tailRank is the largest k with P(T < k) <= 2.5 %.
func tailRank(p []float64) int {
	sum := 0.0
	for k, x := range p {
		if sum += x; sum > (1-Confidence)/2 {
			return k
		}
	}
	return 0
}
