package trend

import (
	"math"
	"slices"
	"time"
)

// Point is a value of a moment: of an hour, the time is that at which it begins. Slices of points are in
// the order of their times, each time once. An hour without data is not in the slice; a value that is no
// finite number counts as no data in every function that takes points, and is skipped.
type Point struct {
	Time  time.Time
	Value float64
}

// finite leaves out what is no finite number. It copies only when there is such a value.
func finite(points []Point) []Point {
	if !slices.ContainsFunc(points, notFinite) {
		return points
	}
	return slices.DeleteFunc(slices.Clone(points), notFinite)
}

func notFinite(p Point) bool { return !isFinite(p.Value) }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// finiteValues are the finite of values, sorted, in a slice of their own.
func finiteValues(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if isFinite(v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// distinct leaves out points that are not after the one before: those of a time that has one already.
func distinct(points []Point) []Point {
	var last time.Time
	for i, p := range points {
		if i > 0 && !p.Time.After(last) {
			out := append([]Point(nil), points[:i]...)
			for _, p := range points[i:] {
				if p.Time.After(out[len(out)-1].Time) {
					out = append(out, p)
				}
			}
			return out
		}
		last = p.Time
	}
	return points
}
