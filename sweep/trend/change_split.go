package trend

import (
	"math"
	"slices"
)

// split proposes changes: in windows that overlap by half, the split with the largest energy
// distance, if worth says that it is worth a judgement, and then those of its sides. The answer is
// sorted, each place once.
func split(values []float64, window int, worth func(before, after moments) bool) []int {
	var found []int
	var of func(from, to int)
	of = func(from, to int) {
		k := energySplit(values[from:to])
		if k == 0 || !worth(momentsOf(values[from:from+k]), momentsOf(values[from+k:to])) {
			return
		}
		found = append(found, from+k)
		of(from, from+k)
		of(from+k, to)
	}
	for from := 0; ; from += window / 2 {
		to := min(from+window, len(values))
		of(from, to)
		if to == len(values) {
			break
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// energySplit is where two sides of values are furthest apart by the energy distance with the
// exponent 1, weighted by nm / (n + m) as Matteson and James (2014) weight it: the index of the
// first value after it. 0: they are nowhere apart.
func energySplit(values []float64) int {
	n := len(values)
	// The sums of distances between all pairs of values within the left, within the right and across.
	var left, right float64
	for i, a := range values {
		for _, b := range values[:i] {
			right += math.Abs(a - b)
		}
	}
	all, best, at := right, 0.0, 0
	for k := range n - 1 {
		a := values[k]
		for _, b := range values[:k] {
			left += math.Abs(a - b)
		}
		for _, b := range values[k+1:] {
			right -= math.Abs(a - b)
		}
		if q := energy(left, right, all-left-right, k+1, n-k-1); q > best {
			best, at = q, k+1
		}
	}
	return at
}

// energy is the weighted energy distance of n values and m values, of which the pairs' distances add up to
// within the first, within the second, and across. One value is at no distance from itself.
func energy(first, second, across float64, n, m int) float64 {
	fn, fm := float64(n), float64(m)
	e := 2 * across / (fn * fm)
	if n > 1 {
		e -= first / (fn * (fn - 1) / 2)
	}
	if m > 1 {
		e -= second / (fm * (fm - 1) / 2)
	}
	return e * fn * fm / (fn + fm)
}
