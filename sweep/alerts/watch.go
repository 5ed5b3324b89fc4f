package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

const (
	// rounds is how often levels are read again when somebody else writes the same.
	rounds = 3
	// fillMost is of how many series of a source four weeks of hours are read in one invocation, a request each:
	// when there are none of them yet, and from then on once a week, for what was computed past us.
	fillMost  = 40
	fillAgain = 7 * 24 * time.Hour
	// fillReserve is left to tell what was found.
	fillReserve = time.Minute
)

// Watch takes in what hours of a source came to, and judges their series. It may be told of the same again.
// Foreign series are left out, which nobody plans, and bulk ones, whose round trips are those of a full line.
func (e *Evaluator) Watch(ctx context.Context, source string, news []tables.Level) error {
	news = slices.DeleteFunc(slices.Clone(news), func(l tables.Level) bool {
		return strings.HasPrefix(l.Series.Probe, wire.ForeignPrefix) || l.Kind.IsBulk()
	})
	if len(news) == 0 {
		return nil
	}
	slices.SortFunc(news, func(a, b tables.Level) int { return a.Begin.Compare(b.Begin) })
	defer e.turn(source)()
	err := e.begin(ctx)
	for round := 1; err == nil; round++ {
		err = e.watch(ctx, source, news)
		if !errors.Is(err, tables.ErrChanged) || round == rounds || ctx.Err() != nil {
			break
		}
		err = nil // somebody else takes in the same, or more: what he wrote is read
	}
	if err != nil {
		return fmt.Errorf("looking for alerts of %q: %w", source, err)
	}
	return nil
}

// Look judges all series of a source by what is stored of them, and searches each for changes. It is for dry runs.
func (e *Evaluator) Look(ctx context.Context, source string) error {
	err := e.begin(ctx)
	var stored map[wire.Series]*tables.SeriesLevels
	if err == nil {
		stored, err = e.stored(ctx, source)
	}
	if err != nil {
		return fmt.Errorf("looking for alerts of %q: %w", source, err)
	}
	var list []*touched
	for _, l := range stored {
		l.Searched = time.Time{}
		list = append(list, &touched{SeriesLevels: l})
	}
	slices.SortFunc(list, func(a, b *touched) int { return strings.Compare(a.Series.String(), b.Series.String()) })
	searched := e.judge(list)
	e.count(func(r *Report) { r.Series, r.Searched = r.Series+len(list), r.Searched+searched })
	return e.settleAll(ctx, list)
}

// touched is a series with news.
type touched struct {
	*tables.SeriesLevels
	news    []tables.Level
	changed bool // since it was read
	found   []judgement
}

func (e *Evaluator) watch(ctx context.Context, source string, news []tables.Level) error {
	stored, err := e.stored(ctx, source)
	if err != nil {
		return err
	}
	of := map[wire.Series]*touched{}
	for _, n := range news {
		n.Series.Environment, n.Series.Source = e.Environment, source
		t := of[n.Series]
		if t == nil {
			t = &touched{SeriesLevels: stored[n.Series]}
			if t.SeriesLevels == nil {
				if n.P50US == nil && n.MinUS == nil {
					continue // gone before it was known
				}
				t.SeriesLevels = tables.NewSeriesLevels(n.Series, n.Kind)
			}
			of[n.Series] = t
		}
		t.changed = t.Put(n) || t.changed
		t.news = append(t.news, n)
		if n.Kind != "" {
			t.Kind = n.Kind
		}
	}
	list := make([]*touched, 0, len(of))
	for _, t := range of {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *touched) int { return strings.Compare(a.Series.String(), b.Series.String()) })
	read, err := e.fill(ctx, list)
	if err != nil {
		return err
	}
	searched := e.judge(list)
	if err := e.write(ctx, list); err != nil {
		return err
	}
	e.count(func(r *Report) {
		r.Series, r.Read, r.Searched = r.Series+len(list), r.Read+read, r.Searched+searched
	})
	return e.settleAll(ctx, list)
}

// stored reads what is kept of a source.
func (e *Evaluator) stored(ctx context.Context, source string) (map[wire.Series]*tables.SeriesLevels, error) {
	out := map[wire.Series]*tables.SeriesLevels{}
	for l, err := range e.Rows.LevelsOf(ctx, source) {
		if err != nil {
			return nil, err
		}
		out[l.Series] = l
	}
	return out, nil
}

// fill reads the hours of series of which they were not read, or long ago.
func (e *Evaluator) fill(ctx context.Context, list []*touched) (read int, err error) {
	now := e.stamp()
	due := slices.DeleteFunc(slices.Clone(list), func(t *touched) bool { return t.Read.After(now.Add(-fillAgain)) })
	slices.SortStableFunc(due, func(a, b *touched) int { return a.Read.Compare(b.Read) })
	for i, t := range due {
		if i >= fillMost || ending(ctx, fillReserve) {
			break
		}
		fresh := tables.NewSeriesLevels(t.Series, t.Kind)
		until := t.Newest.Add(time.Hour)
		var hours []tables.Level
		for h, err := range e.Rows.Hours(ctx, tables.HourQuery{Source: t.Series.Source, Target: t.Series.Target, Path: t.Series.Path, Probe: t.Series.Probe,
			Since: until.Add(-tables.LevelHours * time.Hour), Until: until, Columns: tables.Levels}) {
			if err != nil {
				return read, err
			}
			hours = append(hours, tables.Level{Begin: h.Begin, P50US: h.RTT.P50US, MinUS: h.RTT.MinUS, Simulated: h.Simulated > 0})
		}
		for _, h := range slices.Backward(hours) { // oldest first
			fresh.Put(h)
		}
		for _, n := range t.news {
			fresh.Put(n)
		}
		fresh.ETag, fresh.Read, fresh.Searched = t.ETag, now, t.Searched
		t.SeriesLevels, t.changed = fresh, true
		read++
	}
	for _, t := range list {
		if t.Read.IsZero() {
			e.count(func(r *Report) { r.Waiting++ })
		}
	}
	return read, nil
}

// judge judges the series, and says how many of them it searched for changes.
func (e *Evaluator) judge(list []*touched) (searched int) {
	now := e.Now()
	for _, t := range list {
		if t.Read.IsZero() || t.Newest.IsZero() {
			continue
		}
		if !e.alerts.Deviation.Off {
			t.found = append(t.found, deviation(t.SeriesLevels, e.zone(t.Series.Source), e.alerts.Deviation, now))
		}
		if e.search(t, now) {
			searched++
		}
	}
	return searched
}

// write stores the levels, before anything that was found in them is told: of two programs one would tell
// what the other knows better.
func (e *Evaluator) write(ctx context.Context, list []*touched) error {
	var ls []*tables.SeriesLevels
	for _, t := range list {
		if t.changed {
			ls = append(ls, t.SeriesLevels)
		}
	}
	if e.DryRun || len(ls) == 0 {
		return nil
	}
	return e.Rows.WriteLevels(ctx, ls)
}

func (e *Evaluator) settleAll(ctx context.Context, list []*touched) error {
	for _, t := range list {
		for _, j := range t.found {
			if err := e.settle(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}
