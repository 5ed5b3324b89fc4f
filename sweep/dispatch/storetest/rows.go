package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

func rowKey(r *result.Result) string {
	return r.Series.String() + "|" + r.Slot.UTC().Format(time.RFC3339)
}

// PutResults implements ingest.Rows.
func (s *Store) PutResults(_ context.Context, rs []result.Result) error {
	return s.call("PutResults", func() {
		for i := range rs {
			s.rows[rowKey(&rs[i])] = rs[i]
		}
	})
}

// AddForeign implements ingest.Rows.
func (s *Store) AddForeign(_ context.Context, rs []result.Result) error {
	var taken error
	err := s.call("AddForeign", func() {
		for i := range rs {
			if is, ok := s.rows[rowKey(&rs[i])]; ok && is.Document != rs[i].Document {
				taken = fmt.Errorf("storing the run of %s: %w, from %q", rs[i].Series, result.ErrTaken, is.Document)
				return
			}
		}
		for i := range rs {
			s.rows[rowKey(&rs[i])] = rs[i]
		}
	})
	if err != nil {
		return err
	}
	return taken
}

// AddExpired implements dispatch.Rows.
func (s *Store) AddExpired(_ context.Context, rs []result.Result) error {
	return s.call("AddExpired", func() {
		for i := range rs {
			if _, ok := s.rows[rowKey(&rs[i])]; !ok {
				s.rows[rowKey(&rs[i])] = rs[i]
			}
		}
	})
}

// PutLatest implements dispatch.Rows.
func (s *Store) PutLatest(_ context.Context, rs []result.Result) error {
	return s.call("PutLatest", func() {
		for i := range rs {
			key := rs[i].Series.String()
			old, ok := s.latest[key]
			if !ok || rs[i].Slot.After(old.Slot) || rs[i].Slot.Equal(old.Slot) && !rs[i].IsExpired() {
				s.latest[key] = rs[i]
			}
		}
	})
}

// MarkDirty implements dispatch.Rows.
func (s *Store) MarkDirty(_ context.Context, rs []result.Result) error {
	return s.call("MarkDirty", func() {
		for i := range rs {
			s.dirty[fmt.Sprintf("hour %s %s", rs[i].Series.Source, rs[i].Slot.UTC().Format("20060102T15"))] = true
			if strings.HasPrefix(rs[i].Series.Probe, wire.ForeignPrefix) {
				continue
			}
			s.dirty[fmt.Sprintf("day %s %s", rs[i].Series.Source, rs[i].Slot.UTC().Format("20060102"))] = true
		}
	})
}

// AdvanceHeader implements dispatch.Ledger.
func (s *Store) AdvanceHeader(_ context.Context, h ledger.Header) error {
	return s.call("AdvanceHeader", func() {
		if name := wire.SlotName(h.Slot); h.State.Supersedes(s.headers[name].State) {
			s.headers[name] = h
		}
	})
}

// AdvanceEntries implements dispatch.Ledger.
func (s *Store) AdvanceEntries(_ context.Context, es []ledger.Entry) error {
	return s.call("AdvanceEntries", func() {
		for _, e := range es {
			name := wire.SlotName(e.Slot)
			if s.entries[name] == nil {
				s.entries[name] = map[ledger.Key]ledger.Entry{}
			}
			if e.State.Supersedes(s.entries[name][e.Key].State) {
				s.entries[name][e.Key] = e
			}
		}
	})
}

// Sweep implements dispatch.Ledger.
func (s *Store) Sweep(_ context.Context, slot time.Time) (h ledger.Header, es []ledger.Entry, found bool, err error) {
	err = s.call("Sweep", func() {
		name := wire.SlotName(slot)
		h = s.headers[name]
		es = slices.Collect(maps.Values(s.entries[name]))
		found = h.State != "" || len(es) > 0
	})
	return h, es, found, err
}

// Sweeps implements dispatch.Ledger.
func (s *Store) Sweeps(_ context.Context, since, until time.Time) (out []ledger.Header, err error) {
	err = s.call("Sweeps", func() {
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.headers))) {
			if h := s.headers[name]; !h.Slot.Before(since) && h.Slot.Before(until) {
				out = append(out, h)
			}
		}
	})
	return out, err
}

// MarkOpen implements dispatch.Ledger.
func (s *Store) MarkOpen(_ context.Context, slot time.Time) error {
	return s.call("MarkOpen", func() { s.open[wire.SlotName(slot)] = slot })
}

// OpenSweeps implements dispatch.Ledger.
func (s *Store) OpenSweeps(_ context.Context) (out []time.Time, err error) {
	err = s.call("OpenSweeps", func() {
		for _, name := range slices.Sorted(maps.Keys(s.open)) {
			out = append(out, s.open[name])
		}
	})
	return out, err
}

// ClearOpen implements dispatch.Ledger.
func (s *Store) ClearOpen(_ context.Context, slot time.Time) error {
	return s.call("ClearOpen", func() { delete(s.open, wire.SlotName(slot)) })
}

// ServiceTime implements dispatch.Clock. Like the real one it knows no parts of a second.
func (s *Store) ServiceTime(context.Context) (now time.Time, err error) {
	err = s.call("ServiceTime", func() { now = s.Clock().UTC().Truncate(time.Second) })
	return now, err
}

// PutProbers implements dispatch.Ledger.
func (s *Store) PutProbers(_ context.Context, rs []wire.Registration) error {
	return s.call("PutProbers", func() {
		for _, r := range rs {
			s.probers[r.Prober] = r
		}
	})
}

// Unmark takes a mark away, as whoever recomputes does, and says whether it was there: "hour" or "day", the
// source, and the hour (20060102T15) or day (20060102), with blanks between.
func (s *Store) Unmark(mark string) (was bool) {
	s.set(func() {
		was = s.dirty[mark]
		delete(s.dirty, mark)
	})
	return was
}
