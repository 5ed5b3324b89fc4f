package rollup_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// memory is the store in memory, with the faults of storetest; the conformance tests hold it to the
// real one.
type memory struct {
	environment string
	// fault, if it is set, says how a call fails. call counts all calls from 0.
	fault func(call int, op string) storetest.Fault
	// before, if it is set, is called at the beginning of every call, without the lock.
	before func(op string)

	lock     sync.Mutex
	calls    []string
	etags    int
	runs     map[string]tables.Row
	marks    map[string]tables.HourMark
	hours    map[string]kept[tables.Hour]
	profiles map[string]kept[tables.Profile]
	states   map[string]tables.ProfileState
}

type kept[T any] struct {
	v    T
	etag string
}

func newMemory(environment string) *memory {
	return &memory{environment: environment, runs: map[string]tables.Row{}, marks: map[string]tables.HourMark{}, hours: map[string]kept[tables.Hour]{},
		profiles: map[string]kept[tables.Profile]{}, states: map[string]tables.ProfileState{}}
}

func (m *memory) call(op string, act func() error) error {
	if m.before != nil {
		m.before(op)
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	fault := storetest.None
	if m.fault != nil {
		fault = m.fault(len(m.calls), op)
	}
	m.calls = append(m.calls, op)
	if fault == storetest.NotStored || fault == storetest.Dead {
		return storetest.ErrInjected
	}
	if err := act(); err != nil {
		return err
	}
	if fault == storetest.StoredAnyway {
		return storetest.ErrInjected
	}
	return nil
}

// etag must be called with the lock held.
func (m *memory) etag() string {
	m.etags++
	return strconv.Itoa(m.etags)
}

// runKey sorts as the tables do.
func runKey(s wire.Series, slot time.Time) string {
	return fmt.Sprintf("%s %s|%s|%s|%010d", s.Source, s.Target, s.Path, s.Probe, 9_999_999_999-slot.Unix())
}

func markKey(source string, hour time.Time) string {
	return source + "|" + hour.UTC().Format("20060102T15")
}

// put is what ingest does: the rows, and then the marks.
func (m *memory) put(_ context.Context, rs []result.Result) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for i := range rs {
		m.runs[runKey(rs[i].Series, rs[i].Slot)] = tables.RowOf(&rs[i])
	}
	for i := range rs {
		m.mark(rs[i].Series.Source, rs[i].Slot.Truncate(time.Hour))
	}
	return nil
}

func (m *memory) mark(source string, hour time.Time) {
	m.marks[markKey(source, hour)] = tables.HourMark{Source: source, Begin: hour, ETag: m.etag()}
}

// remove is what a replay does with a run that its document does not come to any more.
func (m *memory) remove(_ context.Context, r result.Result) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.runs, runKey(r.Series, r.Slot))
	m.mark(r.Series.Source, r.Slot.Truncate(time.Hour))
	return nil
}

func (m *memory) HourMarks(context.Context) (out []tables.HourMark, err error) {
	err = m.call("HourMarks", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.marks)) {
			out = append(out, m.marks[key])
		}
		return nil
	})
	return out, err
}

func (m *memory) ClearHour(_ context.Context, k tables.HourMark) (gone bool, err error) {
	err = m.call("ClearHour", func() error {
		is, ok := m.marks[markKey(k.Source, k.Begin)]
		if gone = !ok; ok && is.ETag == k.ETag {
			delete(m.marks, markKey(k.Source, k.Begin))
		}
		return nil
	})
	return gone, err
}

func (m *memory) MarkHours(_ context.Context, source string, hours []time.Time) error {
	return m.call("MarkHours", func() error {
		for _, h := range hours {
			m.mark(source, h)
		}
		return nil
	})
}

func (m *memory) HourStamps(_ context.Context, source string, since, until time.Time) (out []tables.Stamp, err error) {
	err = m.call("HourStamps", func() error {
		for _, h := range m.hours {
			if h.v.Series.Source == source && !h.v.Begin.Before(since) && h.v.Begin.Before(until) {
				row, err := tables.HourRow(h.v.Series, h.v.Begin)
				if err != nil {
					return err
				}
				out = append(out, tables.Stamp{Row: row, Inputs: h.v.Inputs, ETag: h.etag})
			}
		}
		return nil
	})
	return out, err
}

func (m *memory) HourRuns(_ context.Context, source string, since, until time.Time) iter.Seq2[tables.Row, error] {
	return func(yield func(tables.Row, error) bool) {
		var rows []tables.Row
		if err := m.call("HourRuns", func() error {
			for _, key := range slices.Sorted(maps.Keys(m.runs)) {
				if r := m.runs[key]; r.Series.Source == source && !r.Slot.Before(since) && r.Slot.Before(until) {
					rows = append(rows, r)
				}
			}
			return nil
		}); err != nil {
			yield(tables.Row{}, err)
			return
		}
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// changeIn is what the tables do with one row.
func changeIn[T any](m *memory, in map[string]kept[T], key string, put *T, was tables.Stamp) error {
	if is := in[key]; is.etag != was.ETag {
		return fmt.Errorf("row %q: %w", key, tables.ErrChanged)
	}
	if put == nil {
		delete(in, key)
	} else {
		in[key] = kept[T]{*put, m.etag()}
	}
	return nil
}

func (m *memory) WriteHours(_ context.Context, cs []tables.HourChange) error {
	return m.call("WriteHours", func() error {
		for _, c := range cs { // one after the other: those before a fault are stored
			key := c.Source + " " + c.Was.Row
			if c.Put != nil {
				key = runKey(c.Put.Series, c.Put.Begin)
			}
			if err := changeIn(m, m.hours, key, c.Put, c.Was); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *memory) KeepProfiles(_ context.Context, source string) error {
	return m.call("KeepProfiles", func() error {
		if _, ok := m.states[source]; !ok {
			m.states[source] = tables.ProfileState{Source: source, Day: time.Unix(0, 0).UTC(), ETag: m.etag()}
		}
		return nil
	})
}

func (m *memory) ProfileStates(context.Context) (out []tables.ProfileState, err error) {
	err = m.call("ProfileStates", func() error {
		for _, key := range slices.Sorted(maps.Keys(m.states)) {
			out = append(out, m.states[key])
		}
		return nil
	})
	return out, err
}

func (m *memory) AdvanceProfiles(_ context.Context, was tables.ProfileState, day time.Time) error {
	return m.call("AdvanceProfiles", func() error {
		if m.states[was.Source].ETag == was.ETag {
			m.states[was.Source] = tables.ProfileState{Source: was.Source, Day: day, ETag: m.etag()}
		}
		return nil
	})
}

func profileKey(s wire.Series, hour int) string {
	return fmt.Sprintf("%s %s|%s|%s|%02d", s.Source, s.Target, s.Path, s.Probe, hour)
}

func (m *memory) ProfileStamps(_ context.Context, source string) (out []tables.Stamp, err error) {
	err = m.call("ProfileStamps", func() error {
		for key, p := range m.profiles {
			if p.v.Series.Source == source {
				out = append(out, tables.Stamp{Row: strings.TrimPrefix(key, source+" "), Inputs: p.v.Inputs, ETag: p.etag})
			}
		}
		return nil
	})
	return out, err
}

func (m *memory) Hours(_ context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	return func(yield func(tables.Hour, error) bool) {
		var hours []tables.Hour
		if err := m.call("Hours", func() error {
			for _, key := range slices.Sorted(maps.Keys(m.hours)) {
				if h := m.hours[key].v; h.Series.Source == q.Source && !h.Begin.Before(q.Since) && h.Begin.Before(q.Until) {
					hours = append(hours, h)
				}
			}
			return nil
		}); err != nil {
			yield(tables.Hour{}, err)
			return
		}
		for _, h := range hours {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (m *memory) WriteProfiles(_ context.Context, cs []tables.ProfileChange) error {
	return m.call("WriteProfiles", func() error {
		for _, c := range cs {
			key := c.Source + " " + c.Was.Row
			if c.Put != nil {
				key = profileKey(c.Put.Series, c.Put.HourOfDay)
			}
			if err := changeIn(m, m.profiles, key, c.Put, c.Was); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *memory) RunMonths(context.Context) (since, until time.Time, err error) {
	err = m.call("RunMonths", func() error {
		for _, r := range m.runs {
			month := time.Date(r.Slot.Year(), r.Slot.Month(), 1, 0, 0, 0, 0, time.UTC)
			if since.IsZero() || month.Before(since) {
				since = month
			}
			if month.AddDate(0, 1, 0).After(until) {
				until = month.AddDate(0, 1, 0)
			}
		}
		return nil
	})
	return since, until, err
}

func (m *memory) RunSources(context.Context, time.Time, time.Time) (out []string, err error) {
	err = m.call("RunSources", func() error {
		for _, r := range m.runs {
			out = append(out, r.Series.Source)
		}
		slices.Sort(out)
		out = slices.Compact(out)
		return nil
	})
	return out, err
}

func (m *memory) FindSeries(context.Context, string, time.Time, time.Time) error {
	return m.call("FindSeries", func() error { return nil })
}

// state is all that rolling up has made, a line each.
func (m *memory) state(t testing.TB) (lines []string) {
	t.Helper()
	m.lock.Lock()
	defer m.lock.Unlock()
	for key := range m.marks {
		lines = append(lines, "mark "+key)
	}
	for _, h := range m.hours {
		lines = append(lines, "hour "+line(t, h.v))
	}
	for _, p := range m.profiles {
		lines = append(lines, "profile "+line(t, p.v))
	}
	for _, s := range m.states {
		lines = append(lines, fmt.Sprintf("state %s %s", s.Source, s.Day.Format(time.DateOnly)))
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return lines
}
