package simulate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/config"
)

// happen decides on what happens in the window: a step in the middle of a week, a queue that stays, and a prober that is away.
func (m *Model) happen(c *config.Config) {
	random := m.random("events")
	whole := m.Until.Sub(m.Since)
	at := func(part float64, day time.Weekday, hour int) time.Time {
		return near(m.Since.Add(time.Duration(part*float64(whole))), day, hour, m.Since, m.Until)
	}
	long := slices.DeleteFunc(slices.Clone(m.Pairs), func(p Pair) bool { return p.FloorUS < leastToChange || p.Path != m.Pairs[0].firstPath(c) })
	random.Shuffle(len(long), func(i, j int) { long[i], long[j] = long[j], long[i] })
	if len(long) > 0 {
		p := long[0]
		m.Steps = append(m.Steps, Step{p.Source, p.Target, p.Path, at(0.5, time.Wednesday, 11), round(max(stepRatio*p.FloorUS, leastStepUS))})
	}
	if len(long) > 1 {
		p := long[1]
		queue := round(max(crowdRatio*p.FloorUS, leastCrowdUS))
		m.Congestions = append(m.Congestions, Congestion{p.Source, p.Target, p.Path, at(0.75, time.Tuesday, 9), queue, round(math.Ln2 * queue)})
	}
	if len(c.Probers) > 1 {
		from := at(0.625, time.Sunday, 2)
		m.Outages = append(m.Outages, Outage{c.Probers[random.IntN(len(c.Probers))].ID, from, from.Add(outageHours * time.Hour)})
	}
}

// firstPath is the path of the configuration on which things change: public where there is one.
func (p *Pair) firstPath(c *config.Config) string {
	for _, q := range c.Probers {
		if len(q.Addresses["public"]) > 0 {
			return "public"
		}
	}
	return p.Path
}

// near is the instant of a weekday and hour, UTC, that lies nearest to t and inside of a window; t's own whole hour where none does.
func near(t time.Time, day time.Weekday, hour int, since, until time.Time) time.Time {
	midnight := t.UTC().Truncate(24 * time.Hour)
	best := t.UTC().Truncate(time.Hour)
	found := false
	for d := -7; d <= 7; d++ {
		is := midnight.AddDate(0, 0, d).Add(time.Duration(hour) * time.Hour)
		if is.Weekday() != day || is.Before(since) || !is.Before(until) {
			continue
		}
		if !found || is.Sub(t).Abs() < best.Sub(t).Abs() {
			best, found = is, true
		}
	}
	return best
}

// clocks notes the instants in the window at which a zone's clocks change.
func (m *Model) clocks(name string, zone *time.Location) {
	if slices.ContainsFunc(m.Clocks, func(c ClockChange) bool { return c.Zone == name }) {
		return
	}
	_, before := m.Since.In(zone).Zone()
	for t := m.Since; t.Before(m.Until); t = t.Add(15 * time.Minute) {
		if _, now := t.In(zone).Zone(); now != before {
			m.Clocks = append(m.Clocks, ClockChange{name, t, before, now})
			before = now
		}
	}
}

func comparePairs(p, q config.Pair) int {
	return cmp.Or(strings.Compare(p.Source, q.Source), strings.Compare(p.Target, q.Target), strings.Compare(p.Path, q.Path))
}
