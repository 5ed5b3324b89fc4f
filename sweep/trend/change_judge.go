package trend

import (
	"cmp"
	"container/heap"
	"math"
)

// judge strikes out of the proposed changes the worst, one after the other, and makes its two segments
// one, until all that are left are changes.
type judge struct {
	values  []float64 // as they were measured
	test    tTest
	options ChangeOptions

	changes []proposal
	worst   faults
}

// proposal is a proposed change. The first and the last of a judge are the ends of the series.
type proposal struct {
	at           int
	before, next int     // the proposals beside it that are not struck out
	segment      moments // of the level from here to the next
	version      int     // of the judgement: what is in the heap with another is out of date
	Change
}

func newJudge(values, level []float64, candidates []int, test tTest, o ChangeOptions) *judge {
	j := &judge{values: values, test: test, options: o, changes: make([]proposal, len(candidates)+2)}
	for i := range j.changes {
		j.changes[i].before, j.changes[i].next = i-1, i+1
	}
	for i, at := range candidates {
		j.changes[i+1].at = at
	}
	last := len(j.changes) - 1
	j.changes[last].at = len(values)
	for i := range last {
		j.changes[i].segment = momentsOf(level[j.changes[i].at:j.changes[i+1].at])
	}
	for i := 1; i < last; i++ {
		j.look(i)
	}
	return j
}

// verdict is what is left, in order.
func (j *judge) verdict() (out []Change) {
	for len(j.worst) > 0 {
		f, _ := heap.Pop(&j.worst).(fault)
		c := &j.changes[f.proposal]
		if f.version != c.version {
			continue
		}
		before, next := &j.changes[c.before], &j.changes[c.next]
		before.segment = before.segment.and(c.segment)
		before.next, next.before = c.next, c.before
		c.version++
		j.look(c.before)
		j.look(c.next)
	}
	for i := j.changes[0].next; i < len(j.changes)-1; i = j.changes[i].next {
		out = append(out, j.changes[i].Change)
	}
	return out
}

// look judges a change beside which a segment is new.
func (j *judge) look(i int) {
	if i == 0 || i == len(j.changes)-1 {
		return
	}
	c := &j.changes[i]
	before, next := &j.changes[c.before], &j.changes[c.next]
	c.version++
	c.Change = Change{At: c.at, P: j.test.p(before.segment, c.segment)}
	f := fault{proposal: i, version: c.version}
	if c.P > j.options.P || math.IsNaN(c.P) {
		f.insignificant, f.badness = true, c.P
		heap.Push(&j.worst, f)
		return
	}
	left, right := j.values[before.at:c.at], j.values[c.at:next.at]
	c.Before, c.After = medianOfValues(last(left, nearest)), medianOfValues(first(right, nearest))
	step := math.Abs(c.After - c.Before)
	beside := medianOfValues(first(right, j.beside(len(right)))) - medianOfValues(last(left, j.beside(len(left))))
	switch sharp := j.options.Sharpness * step; {
	case math.Signbit(beside) != math.Signbit(c.After-c.Before) || math.Abs(beside) < sharp:
		f.badness = 0 // above all that are too small
	case step == 0 || step < j.options.Least || step < j.options.Ratio*math.Abs(c.Before):
		f.badness = -step
	default:
		return
	}
	heap.Push(&j.worst, f)
}

// beside is how many values of a segment of n lie right beside its end: a third at the most, or of a
// slope that is two short segments all would be beside.
func (j *judge) beside(n int) int { return min(j.options.Beside, max(3, (n+2)/3)) }

func first(values []float64, n int) []float64 { return values[:min(n, len(values))] }
func last(values []float64, n int) []float64  { return values[max(0, len(values)-n):] }

// fault is why a proposal is no change.
type fault struct {
	proposal, version int
	insignificant     bool
	badness           float64 // of two faults of a kind the larger is struck out first
}

// faults is a heap of them, the worst on top.
type faults []fault

// Len implements heap.Interface.
func (f faults) Len() int { return len(f) }

// Less implements heap.Interface: those that are equally bad go by their place, so that the same
// values have the same changes.
func (f faults) Less(i, j int) bool {
	a, b := f[i], f[j]
	if a.insignificant != b.insignificant {
		return a.insignificant
	}
	return cmp.Or(cmp.Compare(b.badness, a.badness), cmp.Compare(a.proposal, b.proposal)) < 0
}

// Swap implements heap.Interface.
func (f faults) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *faults) Push(x any) {
	if next, ok := x.(fault); ok {
		*f = append(*f, next)
	}
}

// Pop implements heap.Interface.
func (f *faults) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}
