package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// HourRow is the row key of a series' hour within its source's partition.
func HourRow(series wire.Series, hour time.Time) (string, error) {
	if err := series.Validate(); err != nil {
		return "", err
	}
	if !hour.Equal(hour.UTC().Truncate(time.Hour)) {
		return "", fmt.Errorf("hour %s is not whole", hour.UTC().Format(time.RFC3339Nano))
	}
	r, err := rev(hour)
	if err != nil {
		return "", err
	}
	_, row, err := checked(series.Source, join(series.Target, series.Path, series.Probe, r))
	return row, err
}

// yearName is the name of the table that holds the hour's year.
func (s *Store) yearName(kind string, hour time.Time) string {
	return kind + s.environment + fourDigits(hour).Format(yearForm)
}

// years are the tables of hours from since to before until, oldest first.
func (s *Store) years(since, until time.Time) (out []string) {
	for at := since.UTC(); at.Before(until); at = time.Date(at.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC) {
		out = append(out, s.yearName(hoursTables, at))
	}
	return out
}

// HourStamps reads what is stored of a source's hours from since to before until.
func (s *Store) HourStamps(ctx context.Context, source string, since, until time.Time) ([]Stamp, error) {
	list, err := s.SeriesOf(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("reading the hours of a source: %w", err)
	}
	out, err := collect(bySeries(ctx, list, until.Sub(since) <= shortTime, func(ctx context.Context, is wire.Series) iter.Seq2[Stamp, error] {
		return hoursOf(s, is, since, until, func(table, filter string) iter.Seq2[Stamp, error] { return s.stampsIn(ctx, table, filter) })
	}))
	if err != nil {
		return nil, fmt.Errorf("reading the hours of %q: %w", source, err)
	}
	return out, nil
}

// HourChange is one row of hours that is to change: to Put, in place of the row that Was, or of
// none. Without Put the row is deleted.
type HourChange struct {
	Put    *Hour
	Source string // of a row to delete, with its hour
	Begin  time.Time
	Was    Stamp
}

// WriteHours changes hours, each only if the stored row is still the one that was read. Where one is not,
// the error has ErrChanged in its chain, and others may have been changed.
func (s *Store) WriteHours(ctx context.Context, cs []HourChange) error {
	tables := map[string][]operation{}
	for i := range cs {
		op, table, err := s.hourChange(&cs[i])
		if err != nil {
			return fmt.Errorf("storing hours: %w", err)
		}
		tables[table] = append(tables[table], op)
	}
	if err := s.keepSeries(ctx, putSeries(cs)); err != nil {
		return fmt.Errorf("storing hours: %w", err)
	}
	for table, ops := range tables {
		if err := s.replace(ctx, table, ops); err != nil {
			return fmt.Errorf("storing hours: %w", err)
		}
	}
	return nil
}

func putSeries(cs []HourChange) iter.Seq[wire.Series] {
	return func(yield func(wire.Series) bool) {
		for i := range cs {
			if cs[i].Put != nil && !yield(cs[i].Put.Series) {
				return
			}
		}
	}
}

func (s *Store) hourChange(c *HourChange) (operation, string, error) {
	if c.Put == nil {
		op, err := removal(c.Source, c.Was)
		return op, s.yearName(hoursTables, c.Begin), err
	}
	if err := s.own(c.Put.Series.Environment); err != nil {
		return operation{}, "", fmt.Errorf("hour of %s: %w", c.Put.Series, err)
	}
	row, err := HourRow(c.Put.Series, c.Put.Begin)
	if err != nil {
		return operation{}, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	e, err := encode(c.Put.Series.Source, row, hourFields, c.Put)
	return change(e, c.Was), s.yearName(hoursTables, c.Put.Begin), err
}

// HourQuery says which hours to read. Empty names stand for all; a source must be named.
type HourQuery struct {
	Source, Target, Path, Probe string
	// Since and Until bound the hours: Since <= hour < Until. Both must be set.
	Since, Until time.Time
	// Columns says which columns are read; the zero value is all.
	Columns HourSelection
}

// Hours reads hours, by target, path and probe, and newest first within a series.
func (s *Store) Hours(ctx context.Context, q HourQuery) iter.Seq2[Hour, error] {
	runs := RunQuery{Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe}
	if err := runs.validate(); err != nil || q.Source == "" || q.Since.IsZero() || q.Until.IsZero() {
		return failed[Hour](fmt.Errorf("reading hours: %w: want a source, since and until (%v)", ErrRefused, err))
	}
	list, err := s.seriesIn(ctx, runs)
	if err != nil {
		return failed[Hour](fmt.Errorf("reading hours: %w", err))
	}
	return bySeries(ctx, list, q.Until.Sub(q.Since) <= shortTime, func(ctx context.Context, is wire.Series) iter.Seq2[Hour, error] {
		return s.hoursOfSeries(ctx, is, q)
	})
}

func (s *Store) hoursOfSeries(ctx context.Context, is wire.Series, q HourQuery) iter.Seq2[Hour, error] {
	read := func(table, filter string) iter.Seq2[Hour, error] { return scanAs(ctx, s, table, filter, 0, hourFields) }
	if some, ok := q.Columns.fields(); ok {
		read = func(table, filter string) iter.Seq2[Hour, error] { return scanSelected(ctx, s, table, filter, some) }
	}
	return func(yield func(Hour, error) bool) {
		for h, err := range hoursOf(s, is, q.Since, q.Until, read) {
			if is.Environment = s.environment; err == nil {
				h.Series = is // what was asked for: a selection may be without its columns
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// hoursOf reads a series' hours, newest first, across years.
func hoursOf[T any](s *Store, is wire.Series, since, until time.Time, read func(table, filter string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	keys, err := seriesRange(is, since, until)
	if err != nil {
		return failed[T](fmt.Errorf("%w: %w", ErrRefused, err))
	}
	var each []iter.Seq2[T, error]
	for _, table := range slices.Backward(s.years(since, until)) {
		each = append(each, read(table, keys.filter()))
	}
	return chain(each)
}

// HourOfRow is the hour that a row key of HourRow names.
func HourOfRow(row string) (time.Time, error) {
	digits := row[strings.LastIndexByte(row, '|')+1:]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) != 10 || n < 0 {
		return time.Time{}, fmt.Errorf("row key %q does not end in a time", row)
	}
	return time.Unix(maxUnixSecond-n, 0).UTC(), nil
}

// SeriesOfRow is the series, without its environment, that a row key of HourRow names in a source's partition.
func SeriesOfRow(source, row string) (wire.Series, error) {
	parts := strings.Split(row, "|")
	if len(parts) != 4 {
		return wire.Series{}, fmt.Errorf("row key %q has %d parts: want target, path, probe and a time", row, len(parts))
	}
	return wire.Series{Source: source, Target: parts[0], Path: parts[1], Probe: parts[2]}, nil
}
