package answers

import (
	"slices"
	"time"

	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

const (
	// fewHours is below how many hours no change is looked for: there are no two days to compare.
	fewHours = 48
	// together is how far apart a change of the least round trips and one of the medians may be that are one.
	together = 6 * time.Hour
)

// levels are a series' hours without what they were made of: what stands still, what moved, and what is above it.
type levels struct {
	p50, minima      []trend.Point
	changes          []Change
	baseline, excess []trend.Point
}

// levelsOf looks for the changes of hours that are oldest first, and takes the baseline between them.
func levelsOf(hours []tables.Hour) (l levels) {
	l.p50, l.minima = make([]trend.Point, 0, len(hours)), make([]trend.Point, 0, len(hours))
	for i := range hours {
		h := &hours[i]
		if h.RTT.P50US != nil {
			l.p50 = append(l.p50, trend.Point{Time: h.Begin, Value: *h.RTT.P50US})
		}
		if h.RTT.MinUS != nil {
			l.minima = append(l.minima, trend.Point{Time: h.Begin, Value: *h.RTT.MinUS})
		}
	}
	l.changes = changesIn(l.p50, l.minima)
	l.baseline = trend.Baseline(l.minima, l.times(true), trend.BaselineWindow)
	l.excess = trend.Excess(l.p50, l.baseline)
	return l
}

// times are those of the changes; of reroutes alone, after which the baseline begins anew, or of all.
func (l *levels) times(reroutes bool) (out []time.Time) {
	for i := range l.changes {
		if !reroutes || l.changes[i].Kind != Congestion {
			out = append(out, l.changes[i].Time)
		}
	}
	return out
}

// ChangesIn finds where the medians and the smallest round trips of a series' hours, both oldest first and in µs, got
// another level.
func ChangesIn(p50, minima []trend.Point) []Change { return changesIn(p50, minima) }

// changesIn finds where medians and least round trips got another level, and says of each what moved.
func changesIn(p50, minima []trend.Point) (out []Change) {
	medians := changesOf(p50, deseasoned(p50))
	floors := changesOf(minima, valuesOf(minima))
	taken := make([]bool, len(medians))
	for _, f := range floors {
		c := f
		c.Kind = Rerouted
		if at := nearest(medians, f.Time); at >= 0 && !taken[at] {
			taken[at] = true
			c.BeforeUS, c.AfterUS, c.P = medians[at].BeforeUS, medians[at].AfterUS, min(f.P, medians[at].P)
		}
		out = append(out, c)
	}
	for i, m := range medians {
		if taken[i] {
			continue
		}
		m.Kind = Congestion
		if len(minima) < fewHours {
			m.Kind = Step
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Change) int { return a.Time.Compare(b.Time) })
	return out
}

// nearest is the change nearest to a time, within what is together; -1 where there is none.
func nearest(list []Change, at time.Time) int {
	best, found := together, -1
	for i := range list {
		if d := list[i].Time.Sub(at).Abs(); d <= best {
			best, found = d, i
		}
	}
	return found
}

func valuesOf(points []trend.Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Value
	}
	return out
}

// What is usual is that of the hour of the week from three weeks on, and before that of the hour of the day.
const (
	fewDays  = 7 * 24 * time.Hour
	fewWeeks = 21 * 24 * time.Hour
)

// deseasoned are the values less what their hour of the week (UTC) usually adds, or of the day where the weeks are
// too few: the median of how far such hours lie above the median of the time around them. Levels stay as they
// are, for the time around moves with them; and a weekend is no change of level.
func deseasoned(points []trend.Point) []float64 {
	out := valuesOf(points)
	if len(points) < 7*24 || span(points) < fewDays {
		return out // nobody knows yet what is usual
	}
	hours, period := 24, 24*time.Hour
	if span(points) >= fewWeeks {
		hours, period = 7*24, 7*24*time.Hour
	}
	around := mediansAround(points, period/2)
	at := func(p trend.Point) int { return int(p.Time.Unix()/3600) % hours }
	above := make([][]float64, hours)
	for i, p := range points {
		above[at(p)] = append(above[at(p)], p.Value-around[i])
	}
	usual := make([]float64, hours)
	for hour, of := range above {
		if s, ok := trend.SpreadOf(of); ok {
			usual[hour] = s.Median
		}
	}
	for i, p := range points {
		out[i] -= usual[at(p)]
	}
	return out
}

func span(points []trend.Point) time.Duration {
	return points[len(points)-1].Time.Sub(points[0].Time) + time.Hour
}

// mediansAround are the medians of the values within half a period of each.
func mediansAround(points []trend.Point, half time.Duration) []float64 {
	out := make([]float64, len(points))
	var sorted []float64
	from, to := 0, 0
	for i, p := range points {
		for ; to < len(points) && points[to].Time.Sub(p.Time) <= half; to++ {
			at, _ := slices.BinarySearch(sorted, points[to].Value)
			sorted = slices.Insert(sorted, at, points[to].Value)
		}
		for ; p.Time.Sub(points[from].Time) > half; from++ {
			at, _ := slices.BinarySearch(sorted, points[from].Value)
			sorted = slices.Delete(sorted, at, at+1)
		}
		out[i] = sorted[len(sorted)/2]
	}
	return out
}
