package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
)

// RunQuery says which runs to read. Empty fields stand for all.
type RunQuery struct {
	Source, Target, Path, Probe string
	// Since and Until bound the slots: Since <= slot < Until. Zero is no bound.
	Since, Until time.Time
	// Limit is the most rows to yield; 0 is no limit.
	Limit int
}

// Runs reads runs in the order of their keys, across months: by source, target, path and probe,
// and newest first within a series. It ends with the first error. Reading by source, and by
// target with it, reads key ranges; without a source the service has to look through the month.
func (s *Store) Runs(ctx context.Context, q RunQuery) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		left := q.Limit
		for r, err := range s.runs(ctx, q) {
			if !yield(r, err) || err != nil {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

func (s *Store) runs(ctx context.Context, q RunQuery) iter.Seq2[Row, error] {
	if err := q.validate(); err != nil {
		return failed[Row](fmt.Errorf("reading runs: %w", err))
	}
	filter, err := q.filter()
	if err != nil {
		return failed[Row](fmt.Errorf("reading runs: %w", err))
	}
	months, err := s.months(ctx, runsTables, q.Since, q.Until)
	if err != nil {
		return failed[Row](fmt.Errorf("reading runs: %w", err))
	}
	var each []iter.Seq2[Row, error]
	for _, table := range months { // newest first
		each = append(each, s.rows(ctx, table, filter, q.Limit))
	}
	if q.Source != "" && q.series() {
		return chain(each) // one series: the months follow each other, and older ones may not be needed
	}
	return merge(each, keyOfRun)
}

// rows reads the rows of a table with the columns of runs.
func (s *Store) rows(ctx context.Context, table, filter string, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for r, err := range scanAs(ctx, s, table, filter, limit, rowFields) {
			r.Series.Environment = s.environment
			if !yield(r, err) {
				return
			}
		}
	}
}

func (q RunQuery) validate() error {
	for _, p := range []struct{ what, name string }{
		{"source", q.Source}, {"target", q.Target}, {"path", q.Path}, {"probe", strings.TrimPrefix(q.Probe, wire.ForeignPrefix)},
	} {
		if p.name == "" {
			continue
		}
		if err := wire.ValidateName(p.what, p.name); err != nil {
			return err
		}
	}
	return nil
}

// prefix is the part of the row key that the query fixes, as far as it does so without a gap.
func (q RunQuery) prefix() string {
	var parts []string
	for _, p := range []string{q.Target, q.Path, q.Probe} {
		if p == "" {
			break
		}
		parts = append(parts, p+"|")
	}
	return strings.Join(parts, "")
}

// series says whether the row key is fixed up to the slot.
func (q RunQuery) series() bool { return q.Target != "" && q.Path != "" && q.Probe != "" }

// filter is the query in OData: key ranges as far as the keys go, columns for the rest.
func (q RunQuery) filter() (string, error) {
	since, until := ceilSecond(q.Since), ceilSecond(q.Until)
	keys := keyRange{partition: q.Source}
	var parts []string
	prefix := q.prefix()
	if prefix != "" {
		keys.rowFrom, keys.rowBefore = prefix, after(prefix)
	}
	if q.series() { // the slot follows in the key, newest first
		if !until.IsZero() {
			r, err := rev(until.Add(-time.Second))
			if err != nil {
				return "", err
			}
			keys.rowFrom = prefix + r
		}
		if !since.IsZero() {
			r, err := rev(since)
			if err != nil {
				return "", err
			}
			keys.rowBefore = prefix + r + "!" // behind the key itself
		}
	} else {
		if q.Path != "" && q.Target == "" { // with a target it is in the key
			parts = append(parts, "path eq '"+q.Path+"'")
		}
		if q.Probe != "" {
			parts = append(parts, "probe eq '"+q.Probe+"'")
		}
		if !since.IsZero() {
			parts = append(parts, "slot ge "+odataTime(since))
		}
		if !until.IsZero() {
			parts = append(parts, "slot lt "+odataTime(until))
		}
	}
	if k := keys.filter(); k != "" {
		parts = slices.Insert(parts, 0, k)
	}
	return strings.Join(parts, " and "), nil
}

// ceilSecond is the first whole second not before t: slots are whole seconds, and so are keys.
func ceilSecond(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if c := t.UTC().Truncate(time.Second); !c.Equal(t) {
		return c.Add(time.Second)
	}
	return t.UTC()
}

func odataTime(t time.Time) string { return "datetime'" + t.UTC().Format("2006-01-02T15:04:05Z") + "'" }

// months are the tables of a kind that hold slots from since to until, newest first. Not all of
// them need exist.
func (s *Store) months(ctx context.Context, kind string, since, until time.Time) ([]string, error) {
	const few = 24
	var out []string
	if !since.IsZero() && !until.IsZero() {
		for m := monthOf(since); m.Before(until) && len(out) <= few; m = m.AddDate(0, 1, 0) {
			out = append(out, s.monthName(kind, m))
		}
		if len(out) <= few { // fewer than asking which exist is worth
			slices.Reverse(out)
			return out, nil
		}
	}
	out, err := s.existing(ctx, kind)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(name string) bool {
		return (!since.IsZero() && name < s.monthName(kind, since)) || (!until.IsZero() && name > s.monthName(kind, until))
	})
	slices.Sort(out)
	slices.Reverse(out)
	return out, nil
}

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// existing lists the environment's tables of a kind that has a table a month.
func (s *Store) existing(ctx context.Context, kind string) ([]string, error) {
	prefix := s.name(kind)
	filter := "TableName ge '" + prefix + "0' and TableName lt '" + prefix + ":'" // ":" follows "9"
	o := &aztables.ListTablesOptions{Filter: &filter}
	var out []string
	for {
		var page aztables.ListTablesResponse
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			page, err = s.service.NewListTablesPager(o).NextPage(ctx) // as in scan
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the tables %q: %w", prefix, err)
		}
		for _, t := range page.Tables {
			if t.Name == nil || !strings.HasPrefix(*t.Name, prefix) {
				continue
			}
			// An environment whose name goes on with digits gives longer names.
			if _, err := time.Parse(monthForm, (*t.Name)[len(prefix):]); err == nil {
				out = append(out, *t.Name)
			}
		}
		if o.NextTableName = page.NextTableName; empty(o.NextTableName) {
			return out, nil
		}
	}
}
