package trend

import (
	"slices"
	"time"
)

// Detrend is the points less the median of their segment: what remains when the level between two
// changes is taken away. A change is the time of the first point after it; changes are in the order of
// time.
func Detrend(points []Point, changes []time.Time) []Point {
	points = finite(points)
	out := make([]Point, 0, len(points))
	for len(points) > 0 {
		for len(changes) > 0 && !changes[0].After(points[0].Time) {
			changes = changes[1:]
		}
		n := len(points)
		if len(changes) > 0 {
			n = max(before(points, changes[0]), 1)
		}
		s, _ := SpreadOf(valuesOf(points[:n]))
		for _, p := range points[:n] {
			out = append(out, Point{p.Time, p.Value - s.Median})
		}
		points = points[n:]
	}
	return out
}

// before is how many of the points are before t.
func before(points []Point, t time.Time) int {
	n, _ := slices.BinarySearchFunc(points, t, func(p Point, t time.Time) int { return p.Time.Compare(t) })
	return n
}

func valuesOf(points []Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Value
	}
	return out
}
