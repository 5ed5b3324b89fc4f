package answers

import (
	"context"
	"fmt"
	"iter"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// HourRows is where the hours of series are found. tables.Store satisfies it.
type HourRows interface {
	Hours(ctx context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error]
}

// SeriesQuery asks about one series over a time.
type SeriesQuery struct {
	Source, Target, Path, Probe string
	// Since and Until bound the hours: Since <= hour < Until.
	Since, Until time.Time
}

func (q SeriesQuery) hours(columns tables.HourSelection) tables.HourQuery {
	return tables.HourQuery{Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe, Since: q.Since, Until: q.Until, Columns: columns}
}

// String names the series as messages do.
func (q SeriesQuery) String() string {
	return fmt.Sprintf("probe %q from %q to %q over path %q", q.Probe, q.Source, q.Target, q.Path)
}

// validate holds that one series is asked about, over a time.
func (q SeriesQuery) validate() error {
	for _, n := range []struct{ what, name string }{{"source", q.Source}, {"target", q.Target}, {"path", q.Path}, {"probe", q.Probe}} {
		if n.name == "" {
			return fmt.Errorf("asking about a series without its %s", n.what)
		}
	}
	if !q.Since.Before(q.Until) {
		return fmt.Errorf("asking about %s: %s is not before %s", q, q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

// Rests says of how much an answer over history is.
type Rests struct {
	Samples int // round trips received
	Runs    int
	Hours   int // hours that have a row
	// Simulated says that one of the runs at least was made up by a model.
	Simulated bool
}

func (r *Rests) add(h *tables.Hour) {
	r.Hours++
	r.Runs += h.Runs
	if n := h.Counts.Received; n != nil {
		r.Samples += *n
	}
	r.Simulated = r.Simulated || h.Simulated > 0
}

func (r *Rests) join(o *Rests) {
	r.Samples, r.Runs, r.Hours, r.Simulated = r.Samples+o.Samples, r.Runs+o.Runs, r.Hours+o.Hours, r.Simulated || o.Simulated
}

// History is what an answer about one series over a time begins with.
type History struct {
	Query SeriesQuery
	Kind  wire.Kind // of the newest hour; empty without hours
	Rests Rests
	// InWindow is how many hours begin in the window; those that are not among the hours have no data,
	// or are not rolled up yet.
	InWindow int
	// Newest is the newest hour with a row; zero without any.
	Newest time.Time
	// Behind says that hours that have ended lie after Newest: nothing was measured in them, or they
	// are not rolled up yet.
	Behind bool
}

// rollupLag is how long after its end an hour may be rolled up: the function does it every hour.
const rollupLag = 90 * time.Minute

// readHistory reads the hours of a series, oldest first. Quantiles need their histograms, which are most of
// what is to be read: columns says whether they are.
func readHistory(ctx context.Context, from HourRows, q SeriesQuery, columns tables.HourSelection, now time.Time) (History, []tables.Hour, error) {
	out := History{Query: q}
	if err := q.validate(); err != nil {
		return out, nil, err
	}
	out.InWindow = hoursBetween(q.Since, q.Until)
	hours := make([]tables.Hour, 0, min(out.InWindow, 10_000))
	for h, err := range from.Hours(ctx, q.hours(columns)) { // newest first
		if err != nil {
			return out, nil, fmt.Errorf("reading the hours of %s: %w", q, err)
		}
		if out.Rests.Hours == 0 {
			out.Kind, out.Newest = h.Kind, h.Begin
		}
		out.Rests.add(&h)
		hours = append(hours, h)
	}
	reverse(hours)
	end := q.Until
	if last := now.Add(-rollupLag); last.Before(end) {
		end = last
	}
	out.Behind = !out.Newest.IsZero() && !out.Newest.Add(time.Hour).After(end.Truncate(time.Hour).Add(-time.Hour))
	return out, hours, nil
}

// hoursBetween counts the whole hours that begin from since to before until.
func hoursBetween(since, until time.Time) int {
	first, end := ceilHour(since), ceilHour(until)
	return max(int(end.Sub(first)/time.Hour), 0)
}

func ceilHour(t time.Time) time.Time {
	if c := t.UTC().Truncate(time.Hour); c.Equal(t) {
		return c
	}
	return t.UTC().Truncate(time.Hour).Add(time.Hour)
}

func reverse[T any](list []T) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}
