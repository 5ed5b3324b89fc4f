package answers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// ChangesQuery asks where series got another level. Empty names stand for all.
type ChangesQuery struct {
	Source, Target, Path, Probe string
	// Since and Until bound the changes. To tell a new level from the old one the 28 days before Since are read too.
	Since, Until time.Time
	// After leaves out all series up to this one, in the order of ChangesPage; empty begins with the first.
	After string
	// MostSeries is how many series one page looks at; 0 is all.
	MostSeries int
}

// SeriesChange is a change of one series.
type SeriesChange struct {
	Series wire.Series
	Change
	Simulated bool
}

// ChangesPage is the changes of some series, by series, oldest first.
type ChangesPage struct {
	Changes []SeriesChange
	// Series is how many series were looked at, and Short how many of them have too few hours.
	Series, Short int
	Rests         Rests
	// Next is where the next page begins; empty at the end.
	Next string
}

// SeriesHours is where the series of a source are found, and their hours. tables.Store satisfies it.
type SeriesHours interface {
	HourRows
	SeriesOf(ctx context.Context, source string) ([]wire.Series, error)
}

// seriesAtOnce is how many series are looked at at a time.
const seriesAtOnce = 8

// ReadChanges answers where the series of sources got another level. A page looks at the series after q.After.
func ReadChanges(ctx context.Context, from SeriesHours, sources []string, q ChangesQuery, now time.Time) (*ChangesPage, error) {
	list, err := seriesAfter(ctx, from, sources, &q)
	if err != nil {
		return nil, err
	}
	out := &ChangesPage{}
	if q.MostSeries > 0 && len(list) > q.MostSeries {
		list = list[:q.MostSeries]
		out.Next = orderOf(list[len(list)-1])
	}
	out.Series = len(list)
	found := make([]seriesChanges, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(seriesAtOnce)
	for i, is := range list {
		g.Go(func() (err error) {
			found[i], err = changesOfSeries(ctx, from, is, &q, now)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range found {
		f := &found[i]
		out.Rests.join(&f.rests)
		out.Changes = append(out.Changes, f.changes...)
		if f.short {
			out.Short++
		}
	}
	return out, nil
}

// orderOf is where a series is in the order of pages.
func orderOf(is wire.Series) string {
	return is.Source + "|" + is.Target + "|" + is.Path + "|" + is.Probe
}

// seriesAfter lists the series that a query asks about, in their order.
func seriesAfter(ctx context.Context, from SeriesHours, sources []string, q *ChangesQuery) (out []wire.Series, err error) {
	if q.Source != "" {
		sources = []string{q.Source}
	}
	behind, _, _ := strings.Cut(q.After, "|")
	for _, source := range slices.Sorted(slices.Values(sources)) {
		if source < behind {
			continue
		}
		if q.MostSeries > 0 && len(out) > q.MostSeries {
			break // one more than asked for: there is a next page
		}
		list, err := from.SeriesOf(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("listing the series of %q: %w", source, err)
		}
		slices.SortFunc(list, func(a, b wire.Series) int { return strings.Compare(orderOf(a), orderOf(b)) })
		for _, is := range list {
			if orderOf(is) > q.After && (q.Target == "" || is.Target == q.Target) && (q.Path == "" || is.Path == q.Path) && (q.Probe == "" || is.Probe == q.Probe) {
				out = append(out, is)
			}
		}
	}
	return out, nil
}

type seriesChanges struct {
	changes []SeriesChange
	rests   Rests
	short   bool
}

func changesOfSeries(ctx context.Context, from HourRows, is wire.Series, q *ChangesQuery, now time.Time) (out seriesChanges, err error) {
	of := SeriesQuery{Source: is.Source, Target: is.Target, Path: is.Path, Probe: is.Probe, Since: q.Since.Add(-trend.BaselineWindow), Until: q.Until}
	history, hours, err := readHistory(ctx, from, of, tables.Levels, now)
	if err != nil {
		return out, err
	}
	out.rests = history.Rests
	l := levelsOf(hours)
	out.short = len(l.p50) < fewHours
	for _, c := range l.changes {
		if !c.Time.Before(q.Since) && c.Time.Before(q.Until) {
			out.changes = append(out.changes, SeriesChange{Series: is, Change: c, Simulated: history.Rests.Simulated})
		}
	}
	return out, nil
}

// Join adds the page that follows.
func (p *ChangesPage) Join(next *ChangesPage) {
	p.Changes = append(p.Changes, next.Changes...)
	p.Series, p.Short, p.Next = p.Series+next.Series, p.Short+next.Short, next.Next
	p.Rests.join(&next.Rests)
}
