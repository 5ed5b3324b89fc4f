package trend

import (
	"math"
	"slices"
)

// Change is a place at which the level of a series changes for more than a moment.
type Change struct {
	At int // index of the first value after it
	// Before and After are the medians of the segments beside it, up to the changes before and after
	// it; of a segment that is longer, of the 100 values that lie next to it.
	Before, After float64
	P             float64 // of the t-test between the two segments; 0 is less than a double can hold
}

// ChangeOptions say what counts as a change. The zero value is what the figures in
// docs/change-points.md were measured with.
type ChangeOptions struct {
	Least float64 // smallest |After − Before|, in the unit of the values; 0: only Ratio counts
	Ratio float64 // smallest |After − Before| as a part of |Before|; 0: 0.01; negative: only Least counts
	P     float64 // largest p; 0: 1e-6

	// How changes are looked for. They were chosen on labelled series; 0 is what was chosen.

	Reach     int     // values on each side that the running median takes in: 1
	Window    int     // values in which one split is looked for at a time: 50
	Candidate float64 // largest p of a split that is worth a judgement: 1e-3
	Floor     float64 // least standard deviation within segments that the t-test believes, in units of the noise from value to value: 3
	Sharpness float64 // least part of After − Before by which the values right beside it differ: 0.5
	Beside    int     // how many of these there are on each side: 7, and a third of a short segment
}

// nearest is how many values next to a change its medians are taken of, at the most.
const nearest = 100

func (o ChangeOptions) complete() ChangeOptions {
	choose := func(v *float64, otherwise float64) {
		if !(*v > 0) {
			*v = otherwise
		}
	}
	if o.Ratio == 0 {
		o.Ratio = 0.01
	}
	choose(&o.P, 1e-6)
	choose(&o.Candidate, 1e-3)
	choose(&o.Floor, 3)
	choose(&o.Sharpness, 0.5)
	if o.Reach <= 0 {
		o.Reach = 1
	}
	if o.Window <= 0 {
		o.Window = 50
	}
	if o.Beside <= 0 {
		o.Beside = 7
	}
	o.Window = max(o.Window, 4)
	return o
}

// Changes finds where the level of a series changes, in their order. Values that are no numbers, or
// infinite, are missing: they are passed over. How far apart the values lie in time does not matter. A
// series with a rhythm has that taken out first, unless its steps are what is asked for.
//
// It is E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis
// of multivariate data", JASA 109, 2014) in the form of Hunter (Fleming and others, "Hunter: Using Change
// Point Detection to Hunt for Performance Regressions", arXiv 2301.03034): in windows that overlap by
// half, the split with the largest energy distance between its sides is kept as long as a t-test on them
// says so, and its sides are split in turn; then the change with the largest p is struck out, its two
// segments made one, until what remains is significant and large enough.
//
// It departs from these papers, because round trips have long tails and are not independent of each
// other:
//
//   - The energy and the t-test see the running median of 2·Reach + 1 values. Spikes are no changes.
//   - The t-test, Student's with equal variances as Hunter's, takes the standard deviation within the
//     segments for at least Floor times that of the noise, which is estimated from the median
//     difference of neighbours. p is larger by that than the plain test's, and never smaller.
//   - A slope, such as that of a day's rhythm, is no change: the values right beside a change must
//     differ by Sharpness of what its segments differ by.
//   - What is smaller than Least or Ratio is struck out as what is not significant is, the smallest first,
//     with the segments beside judged anew. Hunter leaves out what is small once all is done.
//
// The cost grows with the number of values, times the window.
func Changes(values []float64, o ChangeOptions) []Change {
	o = o.complete()
	var present []float64
	var at []int
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			present, at = append(present, v), append(at, i)
		}
	}
	level := runningMedian(present, o.Reach)
	noise, ok := rescale(level, present)
	if !ok {
		return nil
	}
	test := tTest{floor: o.Floor * noise}
	candidates := split(level, o.Window, func(a, b moments) bool { return test.p(a, b) <= o.Candidate })
	j := newJudge(present, level, candidates, test, o)
	changes := j.verdict()
	for i := range changes {
		changes[i].At = at[changes[i].At]
	}
	return changes
}

// rescale brings a level to the range from −1 to 1, so that no sum of squares is too large for a
// double, and says how large the noise of the values is on that scale: the standard deviation of
// normal noise whose neighbours differ by as much in the median. ok is false when the level is constant.
func rescale(level, values []float64) (noise float64, ok bool) {
	if len(level) < 2 {
		return 0, false
	}
	centre, widest := medianOfValues(level), 0.0
	for _, v := range level {
		widest = max(widest, math.Abs(v/2-centre/2))
	}
	if widest == 0 {
		return 0, false
	}
	for i, v := range level {
		level[i] = (v/2 - centre/2) / widest
	}
	steps := make([]float64, len(values)-1)
	for i := range steps {
		steps[i] = math.Abs(values[i+1]/2 - values[i]/2)
	}
	const normalQuartile = 0.6744897501960817
	return medianOfValues(steps) / widest / (normalQuartile * math.Sqrt2), true
}

// runningMedian is the median of each value with as many as reach on each side; at the ends it is of
// the values there that are as many.
func runningMedian(values []float64, reach int) []float64 {
	out := make([]float64, len(values))
	width := min(2*reach+1, len(values))
	near := make([]float64, width)
	for i := range values {
		from := min(max(i-reach, 0), len(values)-width)
		copy(near, values[from:from+width])
		slices.Sort(near)
		out[i] = near[width/2]
	}
	return out
}

// medianOfValues is the median of values that need not be sorted, and are not few.
func medianOfValues(values []float64) float64 { return middle(slices.Sorted(slices.Values(values))) }
