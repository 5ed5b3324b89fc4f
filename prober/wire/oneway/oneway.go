// Package oneway estimates how the target's clock differs from the source's from delays measured
// in both directions, so that one-way delays can be told without synchronised clocks.
//
// A forward delay as measured is the delay plus the offset (target's clock − source's), a reverse
// one the delay minus the offset. Queueing only adds, so lines below all delays of a direction
// follow the offset and its drift (Paxson, "On calibrating measurements of packet transit times",
// 1998; Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay
// measurements", 1999). Half the difference of the two lines is the offset, if the path is
// symmetric. If it is not, half the asymmetry is in the offset, and nothing in the delays can tell:
// the bound says so.
package oneway

import (
	"errors"
	"math"
	"slices"
)

// Least is the smallest number of samples for an estimate.
const Least = 20

// MaxSkewPPM is the largest skew of a clock that runs evenly, in parts per million. Quartz has up
// to 100, and a kernel that is steered up to 500 more, on either side.
const MaxSkewPPM = 1200

// Why there is no estimate.
var (
	ErrFew    = errors.New("too few samples in order of time")
	ErrUneven = errors.New("a clock did not run evenly")
)

// Estimate is what the delays of a run say of the two clocks. Durations are nanoseconds.
type Estimate struct {
	// Offset is the target's clock less the source's, halfway between the first sample and the last.
	Offset float64
	// SkewPPM is how fast the offset grows, in parts per million; 0 unless Skewed: a run that is
	// short or noisy does not say.
	SkewPPM float64
	Skewed  bool
	// Forward and Reverse are the delays with the estimated offset taken out, in the order of the
	// samples.
	Forward, Reverse []int64
	// Bound is how far the offset at any time of the run, and so every delay, can be from the truth:
	// half the smallest round trip, because no delay is negative, and what the fit may be off.
	Bound float64
}

// Of makes the estimate from samples in order of time: when each was sent, by the source's clock,
// and its delays in both directions as measured (RFC 7679). The three have equal lengths. It
// returns ErrFew or ErrUneven.
func Of(at, forward, reverse []int64) (Estimate, error) {
	n := len(at)
	if n < Least || !slices.IsSorted(at) || at[0] == at[n-1] {
		return Estimate{}, ErrFew
	}
	// All is counted from the first sample: offsets may be years, which floating point does not hold
	// to a nanosecond.
	start, about := at[0], forward[0]
	f, r := make([]point, n), make([]point, n)
	for i := range at {
		t := float64(at[i] - start)
		f[i], r[i] = point{t, difference(forward[i], about)}, point{t, difference(reverse[i], -about)}
		if abs(f[i].delay) > farthest || abs(r[i].delay) > farthest {
			return Estimate{}, ErrUneven
		}
	}
	out, back := newSide(f), newSide(r)
	d := driftOf(out, back)
	if abs(d.skew) > MaxSkewPPM/1e6 || stepped(f, r, out, back, d.skew) {
		return Estimate{}, ErrUneven
	}
	middle, end := float64(at[n-1]-start)/2, float64(at[n-1]-start)
	offset := (out.under(d.skew, 0) - back.under(-d.skew, 0)) / 2 // at the start, less about
	e := Estimate{
		Offset:  float64(about) + offset + d.skew*middle,
		SkewPPM: d.skew * 1e6,
		Skewed:  d.supported,
		Bound:   bound(out, back, d, offset, end),
		Forward: make([]int64, n),
		Reverse: make([]int64, n),
	}
	for i := range f {
		now := offset + d.skew*f[i].at
		e.Forward[i] = int64(math.Round(f[i].delay - now))
		e.Reverse[i] = int64(math.Round(r[i].delay + now))
	}
	return e, nil
}

// farthest is how far delays may be apart: more than any timeout, and exact in floating point.
const farthest = 1e15

// difference is a − b, to the nanosecond where it is no larger than farthest.
func difference(a, b int64) float64 {
	if rough := float64(a) - float64(b); abs(rough) > 2*farthest {
		return rough
	}
	return float64(a - b)
}

// stepped says whether the delays contradict a clock that runs evenly. The forward and the reverse
// delay of one sample add up to a round trip, in which no clock shows; the smallest of each
// direction add up to the smallest round trip or a little less. Where a clock was set by s in
// between, the smallest of one direction lie before it and those of the other after it, and add up
// to s less. More than twice the usual variation of round trips is not a little.
func stepped(f, r []point, out, back side, skew float64) bool {
	trips := make([]float64, len(f))
	for i := range f {
		trips[i] = f[i].delay + r[i].delay
	}
	slices.Sort(trips)
	least := out.under(skew, 0) + back.under(-skew, 0) // of both directions, an offset cancels out
	return least < 0 || trips[0]-least > 2*(trips[len(trips)/2]-trips[0])+stepSlack
}

// stepSlack, in nanoseconds: steps that small do no harm, and a slew over a run is about as large.
const stepSlack = 50_000

// bound is how far the offset at the start plus skew·t can be from the truth, at any t from 0 to
// end. The true offset is a line below all forward delays and above all negated reverse ones, and
// its skew lies between the drift's low and high; the distance of two lines is largest at an end.
func bound(out, back side, d drift, offset, end float64) float64 {
	// Of the lines below the samples, the highest at the start is the one that falls most, and at
	// the end the one that rises most.
	last := offset + d.skew*end
	return max(
		out.under(d.low, 0)-offset, offset+back.under(-d.high, 0),
		out.under(d.high, end)-last, last+back.under(-d.low, end),
	)
}
