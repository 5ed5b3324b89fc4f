package alerts

import (
	"fmt"
	"math"
	"slices"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

const (
	weeks     = 4
	weekHours = 7 * 24
	// fewest is of how many earlier weeks an hour of the week must be known.
	fewest = 3
	// running is how many windows in a row raise an alert, and how many end it.
	running = 3
	// apart is how far apart windows in a row may be: an hour without data between them is none of either.
	apart = 3 * time.Hour
	// present is how old the newest window may be for an alert to be raised: after a replay of last month
	// nobody is woken.
	present = 24 * time.Hour
	// madScale makes the median absolute deviation an estimate of the standard deviation of a normal distribution
	// (Rousseeuw and Croux 1993).
	madScale = 1.4826
)

// window is one hour of a series held against the same hour of the weeks before it.
type window struct {
	at            time.Time
	p50, expected float64 // µs
	score         float64 // in spreads; 0 where it is not above by so much that they count
	above         bool
}

// deviation judges whether a series is slower than usual. Hours without round trips, and those of which too few
// earlier weeks are known, are left out: they neither raise an alert nor end one.
func deviation(l *tables.SeriesLevels, in *time.Location, set config.DeviationAlerts, now time.Time) judgement {
	j := judgement{alert: tables.Alert{Kind: tables.AlertDeviation, Subject: subjectOf(l)}}
	var streak []window // newest first, all above or all below
	for place := tables.LevelHours - 1; place >= fewest*weekHours; place-- {
		w, ok := windowAt(l, place, in, set)
		if !ok || l.Hour(place).Add(time.Hour).After(now) {
			continue
		}
		if n := len(streak); n > 0 && (w.above != streak[0].above || w.above && streak[n-1].at.Sub(w.at) > apart) {
			break
		}
		if streak = append(streak, w); !w.above && len(streak) == running {
			break
		}
	}
	switch {
	case len(streak) < running:
	case !streak[0].above:
		j.verdict = over
		j.why = fmt.Sprintf("p50 %s at %s, usual %s: no slower for %d hours", ms(streak[0].p50), stamp(streak[0].at), ms(streak[0].expected), running)
	case !streak[0].at.Before(now.Add(-present)):
		newest, first := streak[0], streak[len(streak)-1]
		j.verdict = raised
		j.alert.Since, j.alert.P50US, j.alert.ExpectedUS = first.at, &newest.p50, &newest.expected
		j.alert.Score = &newest.score
		j.alert.Simulated, j.alert.Quiet = simulated(l)
		j.alert.Message = fmt.Sprintf("p50 %s at %s, usual %s: %.1f spreads above, for %d hours", ms(newest.p50), stamp(newest.at), ms(newest.expected), newest.score, len(streak))
	}
	return j
}

// windowAt holds an hour against the same hour of the week, by the source's clock, of the four weeks before it.
func windowAt(l *tables.SeriesLevels, place int, in *time.Location, set config.DeviationAlerts) (window, bool) {
	p50 := float64(l.P50US[place])
	if math.IsNaN(p50) {
		return window{}, false
	}
	at := l.Hour(place)
	local := at.In(in)
	var earlier []float64
	for week := 1; week <= weeks; week++ {
		// Clocks may have been changed meanwhile: then the hour of the same name is one earlier or later.
		for _, off := range []int{-1, 0, 1} {
			p := place - week*weekHours + off
			if p < 0 || math.IsNaN(float64(l.P50US[p])) {
				continue
			}
			if then := l.Hour(p).In(in); then.Hour() == local.Hour() && then.Weekday() == local.Weekday() {
				earlier = append(earlier, float64(l.P50US[p]))
			}
		}
	}
	if len(earlier) < fewest {
		return window{}, false
	}
	w := window{at: at, p50: p50, expected: median(earlier)}
	least := float64(set.Least) / float64(time.Microsecond)
	if w.p50-w.expected <= least {
		return w, true // whatever the scatter
	}
	for i, v := range earlier {
		earlier[i] = math.Abs(v - w.expected)
	}
	above := func(spread float64) bool {
		w.score = (p50 - w.expected) / max(madScale*spread, least/float64(set.Score))
		return w.score > float64(set.Score)
	}
	own := median(earlier)
	w.above = above(own) && above(max(own, scatter(l, place))) // the scatter of all costs a sort of 672 values
	return w, true
}

// scatter is the median of how far all hours of the four weeks before one lie from the median of theirs of the
// week: three or four values are often close together by chance, and what is usual is not (as trend.Deviations).
func scatter(l *tables.SeriesLevels, place int) float64 {
	all := make([]float64, 0, weeks*weekHours)
	var of [weeks]float64
	for p := place - weekHours; p < place; p++ {
		n := 0
		for week := range weeks {
			if q := p - week*weekHours; q >= 0 && !math.IsNaN(float64(l.P50US[q])) {
				of[n] = float64(l.P50US[q])
				n++
			}
		}
		if n < fewest {
			continue
		}
		middle := median(of[:n])
		for _, v := range of[:n] {
			all = append(all, math.Abs(v-middle))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// median sorts values, of which there is one at least.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// simulated says whether a model made up some of a series' hours, and whether something was measured too.
func simulated(l *tables.SeriesLevels) (some, measured bool) {
	for i := range l.P50US {
		if l.Simulated[i] {
			some = true
		} else if !math.IsNaN(float64(l.P50US[i])) {
			measured = true
		}
	}
	return some, some && measured
}
