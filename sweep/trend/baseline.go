package trend

import "time"

// BaselineWindow is over how long the design looks back for a baseline: four weeks.
const BaselineWindow = 28 * 24 * time.Hour

// Baseline is at each point the least value of the window that ends with it: of times after that of the
// point less window, up to its own. At a reset, the time of the first point after a change, what was
// before is forgotten: a longer route has another floor. Resets are in the order of time. Every point
// has a baseline from the first on; what one says of the floor is as good as the data behind it.
func Baseline(minima []Point, resets []time.Time, window time.Duration) []Point {
	minima = finite(minima)
	out := make([]Point, 0, len(minima))
	var least []Point // of the window, each less than all that came after it
	for _, p := range minima {
		for len(resets) > 0 && !resets[0].After(p.Time) {
			least, resets = least[:0], resets[1:]
		}
		for len(least) > 0 && !least[0].Time.After(p.Time.Add(-window)) {
			least = least[1:]
		}
		for len(least) > 0 && least[len(least)-1].Value >= p.Value {
			least = least[:len(least)-1]
		}
		least = append(least, p)
		out = append(out, Point{p.Time, least[0].Value})
	}
	return out
}

// Excess is by how much points lie above the baseline of the same time; those without one are left out.
func Excess(p50, baseline []Point) []Point {
	p50, baseline = finite(p50), finite(baseline)
	out := make([]Point, 0, len(p50))
	for _, p := range p50 {
		for len(baseline) > 0 && baseline[0].Time.Before(p.Time) {
			baseline = baseline[1:]
		}
		if len(baseline) > 0 && baseline[0].Time.Equal(p.Time) {
			out = append(out, Point{p.Time, p.Value - baseline[0].Value})
		}
	}
	return out
}
