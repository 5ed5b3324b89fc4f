package trend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// slopes are those of all two of some points with rising x: a year of hours has 38 million. They are not
// made: how many are at most some value is counted in O(n log n), as inversions, and those of a narrow
// bracket are listed (Dillencourt, Mount and Netanyahu, A Randomized Algorithm for Slope Selection, 1992).
type slopes struct {
	x, y   []float64
	all    int
	bound  float64   // all lie between −bound and bound
	sample []float64 // some of them, sorted
	zero   ranks     // how many are below 0, and at most 0
	known  []counted // what was counted so far
	rests  []float64
	merged []float64
	keys   []residual
	space  []residual
}

// ranks are how many slopes are less than some value, and at most it.
type ranks struct{ less, atMost int }

// counted is how many slopes are at most p.
type counted struct {
	p      float64
	atMost int
}

// residual is the value of a point less what a slope explains of it.
type residual struct {
	r  float64
	at int32
}

// slopesOf needs two points at least. y is finite.
func slopesOf(x, y []float64) *slopes {
	n := len(x)
	s := &slopes{x: x, y: y, all: n * (n - 1) / 2, keys: make([]residual, n), space: make([]residual, n), rests: make([]float64, n), merged: make([]float64, n)}
	s.zero = ranks{atMost: s.atMost(0)}
	s.zero.less = s.zero.atMost - tiedPairs(y)
	apart := math.Inf(1)
	for i := range n - 1 {
		apart = min(apart, x[i+1]-x[i])
	}
	s.bound = min(2*(slices.Max(y)-slices.Min(y))/apart, math.MaxFloat64/4)
	rnd := rand.New(rand.NewPCG(uint64(n), 1)) // the result does not depend on it, only the time
	s.sample = make([]float64, min(s.all, 4096))
	for k := range s.sample {
		i, j := rnd.IntN(n), rnd.IntN(n-1)
		if j >= i {
			j++
		}
		s.sample[k] = s.slope(min(i, j), max(i, j))
	}
	slices.Sort(s.sample)
	return s
}

func (s *slopes) slope(i, j int) float64 { return (s.y[j] - s.y[i]) / (s.x[j] - s.x[i]) }

// tiedPairs is how many pairs of values are equal.
func tiedPairs(values []float64) (pairs int) {
	for _, n := range ties(values) {
		pairs += n * (n - 1) / 2
	}
	return pairs
}

// ties are the sizes of the groups of equal values, those of one left out.
func ties(values []float64) (sizes []int) {
	sorted := slices.Sorted(slices.Values(values))
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n] == sorted[0] {
			n++
		}
		if n > 1 {
			sizes = append(sizes, n)
		}
		sorted = sorted[n:]
	}
	return sizes
}

// atMost counts the slopes that are at most p: of i before j those with y(j) − p·x(j) <= y(i) − p·x(i).
func (s *slopes) atMost(p float64) int {
	for i := range s.rests {
		s.rests[i] = s.y[i] - float64(p*s.x[i]) // rounded alike here and in order, on every processor
	}
	n := countInversions(s.rests, s.merged)
	s.known = append(s.known, counted{p, n})
	return n
}

// order is the points in the order of what p leaves of them, of equals the later first.
func (s *slopes) order(p float64) {
	for i := range s.keys {
		s.keys[i] = residual{s.y[i] - float64(p*s.x[i]), int32(i)}
	}
	sortCounting(s.keys, s.space, nil)
}

// countInversions sorts a and counts the pairs whose later value is not larger.
func countInversions(a, space []float64) (n int) {
	const few = 12
	if len(a) <= few {
		for j := 1; j < len(a); j++ {
			k, v := j, a[j]
			for ; k > 0 && v <= a[k-1]; k-- {
				a[k] = a[k-1]
			}
			a[k] = v
			n += j - k
		}
		return n
	}
	half := len(a) / 2
	n = countInversions(a[:half], space[:half]) + countInversions(a[half:], space[half:])
	left, right := space[:half], a[half:]
	copy(left, a[:half])
	i, j := 0, 0
	for i < len(left) && j < len(right) {
		l, r := left[i], right[j]
		if r <= l {
			n += len(left) - i
			a[i+j] = r
			j++
		} else {
			a[i+j] = l
			i++
		}
	}
	copy(a[i+j:], left[i:])
	return n
}

// sortCounting sorts a and counts the pairs that change places: the later of two comes first when it is
// not larger. It tells each of them to moved, if there is one.
func sortCounting(a, space []residual, moved func(earlier, later residual)) (n int) {
	const few = 12
	if len(a) <= few {
		for j := 1; j < len(a); j++ {
			k, v := j, a[j]
			for ; k > 0 && v.r <= a[k-1].r; k-- {
				if moved != nil {
					moved(a[k-1], v)
				}
				a[k] = a[k-1]
				n++
			}
			a[k] = v
		}
		return n
	}
	half := len(a) / 2
	n = sortCounting(a[:half], space[:half], moved) + sortCounting(a[half:], space[half:], moved)
	left := space[:half]
	copy(left, a[:half])
	i, j := 0, half
	for k := 0; i < len(left) && j < len(a); k++ {
		if a[j].r > left[i].r {
			a[k] = left[i]
			i++
			continue
		}
		if moved != nil {
			for _, l := range left[i:] {
				moved(l, a[j])
			}
		}
		n += len(left) - i
		a[k] = a[j]
		j++
	}
	copy(a[j-(len(left)-i):], left[i:])
	return n
}

// kth is the k-th smallest slope, from 1. It is right but for rounding: slopes that lie closer together than
// the values are precise may be taken for each other.
func (s *slopes) kth(k int) float64 { return s.run(k, 1)[0] }

// median is the median of all slopes.
func (s *slopes) median() float64 {
	two := s.run((s.all+1)/2, 2-s.all%2)
	return two[0]/2 + two[len(two)-1]/2
}

// run is as many slopes from the k-th smallest on.
func (s *slopes) run(k, many int) (out []float64) {
	var list []float64
	var b bracket
	for ; len(out) < many; k++ {
		if s.zero.less < k && k <= s.zero.atMost {
			out = append(out, 0) // of values in whole microseconds very many are
			continue
		}
		if list == nil || k > b.upTo {
			b = s.bracket(k)
			list = s.list(b)
		}
		out = append(out, list[min(max(k-b.below-1, 0), len(list)-1)])
	}
	return out
}

// bracket holds the slopes above low and up to high; without those that are high if that is 0. below are
// at most low, upTo at most high.
type bracket struct {
	low, high   float64
	below, upTo int
}

// bracket narrows one down that has the k-th slope, which is not 0, until few are in it.
func (s *slopes) bracket(k int) bracket {
	b := bracket{low: -s.bound, high: s.bound, upTo: s.all}
	if k <= s.zero.less {
		b.high, b.upTo = 0, s.zero.less
	} else {
		b.low, b.below = 0, s.zero.atMost
	}
	for _, c := range s.known {
		if c.atMost >= k && c.p < b.high {
			b.high, b.upTo = c.p, c.atMost
		}
		if c.atMost < k && c.p > b.low {
			b.low, b.below = c.p, c.atMost
		}
	}
	few := max(4*len(s.x), 64)
	take := func(p float64) {
		if b.upTo-b.below <= few || !(p > b.low && p < b.high) {
			return
		}
		if c := s.atMost(p); c >= k {
			b.high, b.upTo = p, c
		} else {
			b.low, b.below = p, c
		}
	}
	m, part := float64(len(s.sample)), float64(k)/float64(s.all)
	margin := 2*math.Sqrt(part*(1-part)*m) + 1 // two standard errors of its rank in the sample
	take(s.sample[max(int(part*m-margin), 0)])
	take(s.sample[min(int(part*m+margin), len(s.sample)-1)])
	for b.upTo-b.below > few {
		inside, width := b.upTo-b.below, b.high-b.low
		guess := b.low + width*float64(k-b.below)/float64(inside)
		take(guess - width/32)
		take(guess + width/32)
		if 2*(b.upTo-b.below) > inside { // they crowd somewhere
			low, high := ordinal(b.low), ordinal(b.high)
			if high-low <= 1 {
				break // all of them are one double
			}
			take(double(low + (high-low)/2))
		}
	}
	return b
}

// list is the slopes of a bracket, sorted: those of the points whose residuals are in another order at its
// ends.
func (s *slopes) list(b bracket) (out []float64) {
	if b.upTo-b.below > max(4*len(s.x), 64) {
		return []float64{b.high} // more than are ever listed: all of them are one double
	}
	s.order(b.high)
	if b.high == 0 {
		slices.SortFunc(s.keys, func(a, b residual) int { return cmp.Or(cmp.Compare(a.r, b.r), cmp.Compare(a.at, b.at)) })
	}
	place := make([]float64, len(s.keys))
	for k, key := range s.keys {
		place[key.at] = float64(k)
	}
	s.order(b.low)
	for k, key := range s.keys {
		s.keys[k].r = place[key.at]
	}
	out = make([]float64, 0, b.upTo-b.below)
	sortCounting(s.keys, s.space, func(u, v residual) { out = append(out, s.slope(int(min(u.at, v.at)), int(max(u.at, v.at)))) })
	if len(out) == 0 {
		return []float64{b.high} // by rounding
	}
	slices.Sort(out)
	return out
}
