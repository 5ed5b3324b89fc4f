package trend

import (
	"math"
	"slices"
)

// exactGroup is up to how many values a group may have for the distribution to be computed.
const exactGroup = 40

// Shift is by how much the values of a lie above those of b: the median of all differences of one of
// a and one of b (Hodges and Lehmann 1963), with the interval that inverts the test of Mann and Whitney
// (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, sections 4.2 and
// 4.3). It supposes that the two are spread alike. The interval is exact for small groups, conservative
// where some values are equal, and absent for too few, such as 3 and 4. ok is false when one of them
// has no values.
func Shift(a, b []float64) (e Estimate, ok bool) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return Estimate{}, false
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	low, high := a[0]-b[m-1], a[n-1]-b[0]
	atMost := func(x float64) int { return differencesAtMost(a, b, x) }
	e = Estimate{N: n, M: m, Value: medianOf(n*m, low, high, atMost)}
	if k := rankSum(n, m); k >= 1 {
		l, h := kth(k, low, high, atMost), kth(n*m+1-k, low, high, atMost)
		e.Low, e.High = &l, &h
	}
	return e, true
}

// differencesAtMost counts the differences of a value of a and one of b, both sorted, that are at
// most x.
func differencesAtMost(a, b []float64, x float64) (n int) {
	j := 0 // of i the first with a difference of at most x; it rises with i
	for i := range a {
		for j < len(b) && a[i]-b[j] > x {
			j++
		}
		n += len(b) - j
	}
	return n
}

// rankSum is as signedRank, for the statistic of Mann and Whitney.
func rankSum(n, m int) int {
	if max(n, m) > exactGroup {
		mean, variance := float64(n)*float64(m)/2, float64(n)*float64(m)*float64(n+m+1)/12
		return max(int(math.Floor(mean-0.5-z*math.Sqrt(variance)))+1, 0)
	}
	// p[j][u] is the probability that of i values of one group and j of the other u pairs are in one
	// order: the largest of all is one of the i, and above all j, or one of the j (Mann and Whitney 1947).
	p := make([][]float64, m+1)
	for j := range p {
		p[j] = make([]float64, n*m+1)
		p[j][0] = 1
	}
	for i := 1; i <= n; i++ {
		for j := 1; j <= m; j++ {
			of := float64(i) / float64(i+j)
			next := make([]float64, n*m+1)
			for u := range i*j + 1 {
				if u >= j {
					next[u] += of * p[j][u-j]
				}
				next[u] += (1 - of) * p[j-1][u]
			}
			p[j] = next
		}
	}
	return tailRank(p[m])
}
