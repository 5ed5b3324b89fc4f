package oneway

import "slices"

// groups is how many interleaved parts of a run are fitted apart, to see what a fit is worth.
const groups = 5

// drift is how fast the target's clock runs away from the source's.
type drift struct {
	// skew is a ratio; zero unless supported.
	skew      float64
	supported bool
	// low and high hold the true skew.
	low, high float64
}

// side is one direction of a run, or of a part of it.
type side struct {
	points []point
	envelope
	mean float64 // of the points' times
	// noise is the usual distance of a sample of the run from the line below: the median.
	noise float64
}

// leastNoise, in nanoseconds, keeps one direction without any noise from being the only one that
// counts.
const leastNoise = 1000

func newSide(points []point) side {
	s := sideWith(points, 0)
	slope := s.slope()
	above := make([]float64, len(points))
	for i, p := range points {
		above[i] = p.delay - slope*p.at
	}
	slices.Sort(above)
	s.noise = max(above[len(above)/2]-above[0], leastNoise)
	return s
}

func sideWith(points []point, noise float64) side {
	s := side{points: points, envelope: newEnvelope(points), noise: noise}
	for _, p := range points {
		s.mean += p.at / float64(len(points))
	}
	return s
}

// slope is that of the line below all samples that has the smallest sum of distances to them.
func (s side) slope() float64 { return s.slopeAt(s.mean) }

// part is the samples from, from + step, … before to.
func (s side) part(from, to, step int) side {
	part := make([]point, 0, (to-from)/step+1)
	for i := from; i < to; i += step {
		part = append(part, s.points[i])
	}
	return sideWith(part, s.noise)
}

// driftOf fits one skew to both directions: a clock that runs ahead makes forward delays grow and
// reverse delays shrink at the same rate.
//
// Nothing says how queueing is distributed, and so how far a fit may be off; but the same fit to a
// part of the samples is worse than to all. The largest difference u between the fit to all and
// those to interleaved fifths and to the two halves, which show a queue that wanders slowly, stands
// for its uncertainty. The slope is used where it is larger than 2u: in a short run, where the
// noise of the minima is larger than the drift, none is. Nor is it where the two directions
// contradict each other, beyond what their own parts do: that is a queue which grows, and no clock.
func driftOf(forward, reverse side) drift {
	all, f, r := jointSlope(forward, reverse), forward.slope(), -reverse.slope()
	var u, uf, ur float64
	compare := func(from, to, step int) {
		pf, pr := forward.part(from, to, step), reverse.part(from, to, step)
		u = max(u, abs(jointSlope(pf, pr)-all))
		uf = max(uf, abs(pf.slope()-f))
		ur = max(ur, abs(-pr.slope()-r))
	}
	n := len(forward.points)
	for g := range groups {
		compare(g, n, groups)
	}
	compare(0, n/2, 1)
	compare(n/2, n, 1)
	d := drift{low: min(all-2*u, f, r), high: max(all+2*u, f, r)}
	if abs(all) > 2*u && abs(f-r) <= 2*(uf+ur)+contradiction {
		d.skew, d.supported = all, true
	} else {
		d.low, d.high = min(d.low, 0), max(d.high, 0)
	}
	return d
}

// contradiction is how far the directions' skews may differ in any case: 1 ppm.
const contradiction = 1e-6

// jointSlope is the skew k for which the lines of slope k below the forward delays and of slope −k
// below the reverse delays have the smallest sum of distances to all samples, each direction's
// counted in its own noise, so that the quieter one says more. That sum is convex in k, and its
// smallest value lies between the two directions' own slopes.
func jointSlope(forward, reverse side) float64 {
	a, b := forward.slope(), -reverse.slope()
	low, high := min(a, b), max(a, b)
	for range 60 {
		k := (low + high) / 2
		growth := (forward.touch(k).at-forward.mean)/forward.noise - (reverse.touch(-k).at-reverse.mean)/reverse.noise
		if growth < 0 {
			low = k
		} else {
			high = k
		}
	}
	return (low + high) / 2
}

func abs(x float64) float64 { return max(x, -x) }
