package oneway

import "sort"

// point is a delay at a time, both in nanoseconds from the run's own zero points.
type point struct{ at, delay float64 }

// envelope is the lower convex hull of a direction's delays over time: the only samples that a
// straight line from below can touch (Moon, Skelly and Towsley 1999, section 4).
type envelope struct {
	hull []point
	// slopes[i] is from hull[i] to hull[i+1]; they rise.
	slopes []float64
}

// newEnvelope makes the envelope of points in order of time (Andrew's monotone chain).
func newEnvelope(points []point) envelope {
	hull := make([]point, 0, 16)
	for _, p := range points {
		if n := len(hull); n > 0 && hull[n-1].at == p.at {
			if hull[n-1].delay <= p.delay {
				continue
			}
			hull = hull[:n-1]
		}
		for n := len(hull); n >= 2 && !turnsUp(hull[n-2], hull[n-1], p); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	e := envelope{hull: hull, slopes: make([]float64, len(hull)-1)}
	for i := range e.slopes {
		e.slopes[i] = (hull[i+1].delay - hull[i].delay) / (hull[i+1].at - hull[i].at)
	}
	return e
}

func turnsUp(a, b, c point) bool {
	return (b.at-a.at)*(c.delay-a.delay) > (b.delay-a.delay)*(c.at-a.at)
}

// touch is the sample that a line of that slope touches from below.
func (e envelope) touch(slope float64) point {
	return e.hull[sort.SearchFloat64s(e.slopes, slope)]
}

// under is the height, at a time, of the line of that slope that touches the samples from below.
func (e envelope) under(slope, at float64) float64 {
	p := e.touch(slope)
	return p.delay + slope*(at-p.at)
}

// slopeAt is the slope of the envelope at a time. For the mean of all times it is the line below
// all samples that has the smallest sum of distances to them: the solution of the linear
// program of Moon, Skelly and Towsley.
func (e envelope) slopeAt(at float64) float64 {
	if len(e.slopes) == 0 {
		return 0
	}
	i := sort.Search(len(e.hull), func(i int) bool { return e.hull[i].at > at })
	return e.slopes[min(max(i-1, 0), len(e.slopes)-1)]
}
