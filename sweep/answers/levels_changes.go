package answers

import "isochrone/sweep/trend"

// leastStepUS is the least change of a level that is told: 0.5 ms, or 1 % where that is more.
const leastStepUS = 500

// changesOf finds the changes of points by values in which they are looked for. The levels told are those of the
// points themselves.
func changesOf(points []trend.Point, values []float64) (out []Change) {
	if len(points) < fewHours {
		return nil
	}
	found := trend.Changes(values, trend.ChangeOptions{Least: leastStepUS})
	for i, c := range found {
		from, to := 0, len(points)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		before, _ := trend.Median(valuesOf(points[from:c.At]))
		after, _ := trend.Median(valuesOf(points[c.At:to]))
		out = append(out, Change{Time: points[c.At].Time, BeforeUS: before.Value, AfterUS: after.Value, P: c.P})
	}
	return out
}
