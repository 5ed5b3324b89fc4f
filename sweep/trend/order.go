package trend

import "math"

// kth finds the k-th smallest, from 1, of many values of which only is known how many are at most x.
// They need not exist in memory: there are millions of pairs of some thousand values. atMost rises
// with x. The search halves the doubles between low and high by their order, 64 times at the most, so
// what it finds is exact.
func kth(k int, low, high float64, atMost func(x float64) int) float64 {
	a, b := ordinal(low), ordinal(high)
	for a < b {
		if middle := a + (b-a)/2; atMost(double(middle)) >= k {
			b = middle
		} else {
			a = middle + 1
		}
	}
	return double(a)
}

// ordinal numbers the doubles in their order; those that are no numbers apart.
func ordinal(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func double(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	if n == 1<<63-1 {
		return 0 // and never −0
	}
	return math.Float64frombits(^n)
}

// medianOf is the median of n values that kth searches.
func medianOf(n int, low, high float64, atMost func(x float64) int) float64 {
	m := kth((n+1)/2, low, high, atMost)
	if n%2 == 1 {
		return m
	}
	return m/2 + kth(n/2+1, low, high, atMost)/2
}
