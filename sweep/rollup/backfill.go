package rollup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/sweep/tables"
)

// History is what a backfill asks beside (tables.Store).
type History interface {
	// RunMonths is the time that the tables of runs span; zero where there is none.
	RunMonths(ctx context.Context) (since, until time.Time, err error)
	// RunSources lists the sources that have runs in it.
	RunSources(ctx context.Context, since, until time.Time) ([]string, error)
	// FindSeries sees to it that every series of a source in that time is found when its runs are read.
	FindSeries(ctx context.Context, source string, since, until time.Time) error
}

// Scope says what a backfill goes over. The zero value is all of history.
type Scope struct {
	// Since and Until bound the hours: Since <= hour < Until. Both are whole hours; zero is no bound.
	Since, Until time.Time
}

// Backfill computes every hour of a scope, marked or not, and the profiles of all sources. Hours whose runs
// have not changed are not written, so one that was cut off is made again from its beginning, and does
// the rest. Windows, if it is set, is told first how many there are to go through.
func (r *Roller) Backfill(ctx context.Context, from History, s Scope, windows func(int)) (Report, error) {
	t := r.begin(ctx)
	ws, err := r.backfillWindows(ctx, from, s)
	if err != nil {
		return t.report, fmt.Errorf("backfilling: %w", err)
	}
	if windows != nil {
		windows(len(ws))
	}
	hoursErr := r.windows(ctx, t, ws)
	states, err := r.Profiles.ProfileStates(ctx)
	if err != nil {
		return t.report, errors.Join(hoursErr, fmt.Errorf("backfilling the profiles: %w", err))
	}
	profilesErr := r.profiles(ctx, t, r.Now().UTC().Truncate(24*time.Hour), states, nil)
	return t.report, errors.Join(hoursErr, profilesErr, ctx.Err())
}

// backfillWindows cuts the scope into windows, the newest first, each with the marks that lie in it.
func (r *Roller) backfillWindows(ctx context.Context, from History, s Scope) (out []window, err error) {
	since, until, err := from.RunMonths(ctx)
	if err != nil || since.IsZero() {
		return nil, err
	}
	if s.Since.After(since) {
		since = s.Since.UTC()
	}
	if !s.Until.IsZero() && s.Until.Before(until) {
		until = s.Until.UTC()
	}
	// Nothing is stored beyond the clocks' disagreement with ours.
	if end := r.Now().UTC().Truncate(time.Hour).Add(2 * time.Hour); end.Before(until) {
		until = end
	}
	if !since.Before(until) {
		return nil, nil
	}
	sources, err := from.RunSources(ctx, since, until)
	if err != nil {
		return nil, err
	}
	var found errgroup.Group
	found.SetLimit(concurrency)
	for _, source := range sources {
		found.Go(func() error { return from.FindSeries(ctx, source, since, until) })
	}
	if err := found.Wait(); err != nil {
		return nil, err
	}
	marks, err := r.Hours.HourMarks(ctx) // before the runs are read
	if err != nil {
		return nil, err
	}
	of := map[string][]tables.HourMark{}
	for _, m := range marks {
		of[m.Source] = append(of[m.Source], m)
		if !slices.Contains(sources, m.Source) {
			sources = append(sources, m.Source) // its last runs were taken away
		}
	}
	slices.Sort(sources)
	for end := until; since.Before(end); end = end.Add(-longest) {
		begin := end.Add(-longest)
		if begin.Before(since) {
			begin = since
		}
		for _, source := range sources {
			w := window{source: source, since: begin, until: end, all: true}
			for _, m := range of[source] {
				if !m.Begin.Before(begin) && m.Begin.Before(end) {
					w.marks = append(w.marks, m)
				}
			}
			out = append(out, w)
		}
	}
	return out, nil
}
