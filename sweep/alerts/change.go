package alerts

import (
	"context"
	"fmt"
	"math"
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

const (
	// searchAgain is how often a series is searched for changes at the least: the search costs some milliseconds.
	searchAgain = 24 * time.Hour
	// searchMoved is how often one that has moved is.
	searchMoved = 3 * time.Hour
	// movedHours is of how many hours the newest must have moved for it to be searched sooner.
	movedHours = 12
	// changeNew is how long ago a change may be to be told: what lies further back was there before anybody looked.
	changeNew = 4 * 24 * time.Hour
	// settled is how long the new level must have lasted: some slow hours are a deviation, and a level is more.
	settled = 6 * time.Hour
	// changeMemory is for how long it is remembered which were told. The place of a change is found again with every
	// search, some hours off: one in the same direction within sameChange is the same.
	changeMemory = changeNew + 2*sameChange
	sameChange   = 24 * time.Hour
	// leastShare is by what part of the level it must have changed.
	leastShare = 0.01
)

// search looks for new changes of a series, if it is time to.
func (e *Evaluator) search(t *touched, now time.Time) bool {
	if e.alerts.Change.Off || e.ChangesIn == nil {
		return false
	}
	since := now.Sub(t.Searched)
	if since < searchMoved || since < searchAgain && !e.moved(t.SeriesLevels) {
		return false
	}
	t.Searched, t.changed = now.UTC().Truncate(time.Second), true
	p50, minima := pointsOf(t.SeriesLevels, now)
	found := e.ChangesIn(p50, minima)
	for i := len(found) - 1; i >= 0; i-- { // the newest first
		c := found[i]
		if c.Time.Before(now.Add(-changeNew)) {
			break
		}
		if c.Time.Add(settled).After(t.Newest.Add(time.Hour)) {
			continue
		}
		if e.largeEnough(c.BeforeUS, c.AfterUS) && !e.wasTold(subjectOf(t.SeriesLevels), c) {
			t.found = append(t.found, e.changeOf(t.SeriesLevels, c))
			break
		}
	}
	return true
}

func (e *Evaluator) largeEnough(before, after float64) bool {
	return math.Abs(after-before) >= max(float64(e.alerts.Change.Least)/float64(time.Microsecond), leastShare*before)
}

// wasTold says whether a change is one that an alert was raised for.
func (e *Evaluator) wasTold(subject string, c answers.Change) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, t := range e.changes[subject] {
		if t.rise == (c.AfterUS > c.BeforeUS) && t.at.Sub(c.Time).Abs() <= sameChange {
			return true
		}
	}
	return false
}

func (e *Evaluator) changeOf(l *tables.SeriesLevels, c answers.Change) judgement {
	a := tables.Alert{Kind: tables.AlertChange, Subject: subjectOf(l), Since: c.Time.UTC(), Change: string(c.Kind), BeforeUS: &c.BeforeUS, AfterUS: &c.AfterUS, P: &c.P}
	a.Simulated, a.Quiet = simulated(l)
	what := map[answers.ChangeKind]string{answers.Rerouted: "rerouted, the smallest round trips moved", answers.Congestion: "congestion, the smallest round trips stayed"}[c.Kind]
	if what == "" {
		what = "a step"
	}
	a.Message = fmt.Sprintf("p50 %s since %s, before %s: %s", ms(c.AfterUS), stamp(c.Time), ms(c.BeforeUS), what)
	return judgement{verdict: raised, alert: a}
}

// moved says whether half of the newest hours are further from what the three days before had at that hour of the
// day than a change must be. It misses what a search finds in time, and no more: each series is searched daily.
func (e *Evaluator) moved(l *tables.SeriesLevels) bool {
	return e.movedOf(l.P50US) || e.movedOf(l.MinUS)
}

func (e *Evaluator) movedOf(of []float32) bool {
	var differences []float64
	level := 0.0
	for place := len(of) - movedHours; place < len(of); place++ {
		var before []float64
		for day := 1; day <= 3; day++ {
			if v := float64(of[place-24*day]); !math.IsNaN(v) {
				before = append(before, v)
			}
		}
		if v := float64(of[place]); !math.IsNaN(v) && len(before) > 0 {
			level = median(before)
			differences = append(differences, v-level)
		}
	}
	return len(differences) > movedHours/2 && e.largeEnough(level, level+median(differences))
}

// pointsOf are the hours that are over.
func pointsOf(l *tables.SeriesLevels, now time.Time) (p50, minima []trend.Point) {
	for place := range l.P50US {
		at := l.Hour(place)
		if at.Add(time.Hour).After(now) {
			break
		}
		if v := float64(l.P50US[place]); !math.IsNaN(v) {
			p50 = append(p50, trend.Point{Time: at, Value: v})
		}
		if v := float64(l.MinUS[place]); !math.IsNaN(v) {
			minima = append(minima, trend.Point{Time: at, Value: v})
		}
	}
	return p50, minima
}

// endChanges ends the alerts of changes that were told long enough.
func (e *Evaluator) endChanges(ctx context.Context) error {
	lasts := e.alerts.Change.Lasts
	for _, c := range e.lasting() {
		if c.Kind != tables.AlertChange || c.Raised.After(e.Now().Add(-lasts)) {
			continue
		}
		why := fmt.Sprintf("told %s ago; the level need not be the old one again", span(lasts))
		if err := e.settle(ctx, judgement{verdict: over, alert: c.Alert, why: why}); err != nil {
			return err
		}
	}
	return nil
}
