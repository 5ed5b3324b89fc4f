package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
)

// headerRow is the row key of a sweep's header; entries begin with entryPrefix.
const (
	headerRow   = "0"
	entryPrefix = "1|"
)

var headerFields = []field[ledger.Header]{
	instant("slot", "the sweep's slot", func(h *ledger.Header) *time.Time { return &h.Slot }),
	text("state", "planned, dispatched, complete or missed", func(h *ledger.Header) *string { return (*string)(&h.State) }),
	text("config_sha256", "hash of the configuration that was pinned; absent for a missed slot", func(h *ledger.Header) *string { return &h.ConfigHash }),
	text("reason", "why the slot was missed", func(h *ledger.Header) *string { return &h.Reason }),
	bytesOf("planned_bytes", "what the sweep's bulk runs may send, together: it counts against the month's budget; absent where there are none", func(h *ledger.Header) *int64 { return &h.PlannedBytes }),
	marked(simulatedColumn, "true: nobody swept, a model made the sweep up", func(h *ledger.Header) *bool { return &h.Simulated }),
}

var entryFields = []field[ledger.Entry]{
	instant("slot", "the sweep's slot", func(e *ledger.Entry) *time.Time { return &e.Slot }),
	text("source", "prober that measures", func(e *ledger.Entry) *string { return &e.Key.Source }),
	text("probe", "the probe's name in sweep.yaml", func(e *ledger.Entry) *string { return &e.Key.Probe }),
	count("part", "", "part of the probe's assignment, from 0", func(e *ledger.Entry) *int { return &e.Key.Part }),
	text("assignment_id", "the assignment's id", func(e *ledger.Entry) *string { return &e.Assignment }),
	text("state", "planned, dispatched, received or expired", func(e *ledger.Entry) *string { return (*string)(&e.State) }),
	count("run_count", "runs", "runs that were planned", func(e *ledger.Entry) *int { return &e.Runs }),
	text("attempt", "attempt whose document was received", func(e *ledger.Entry) *string { return &e.Attempt }),
	text("error", "why nothing is received, as far as is known", func(e *ledger.Entry) *string { return &e.Error }),
	marked(simulatedColumn, "true: nobody measured, a model made it up", func(e *ledger.Entry) *bool { return &e.Simulated }),
}

// bytesOf is a column of whole bytes that is absent for none. A Double is exact up to 2^53.
func bytesOf[T any](name, meaning string, at func(*T) *int64) field[T] {
	return field[T]{Column{name, Double, "bytes", meaning},
		func(v *T) any {
			if n := *at(v); n != 0 {
				return float64(n)
			}
			return nil
		},
		func(v *T, x any) { *at(v) = int64(x.(float64)) }}
}

// AdvanceHeader writes a sweep's header where its state supersedes the stored one. A hash and planned bytes
// that it leaves empty are kept from the stored header; a reason is not.
func (s *Store) AdvanceHeader(ctx context.Context, h ledger.Header) error {
	partition, _, err := s.sweepKey(h.Slot, headerRow)
	if err != nil {
		return fmt.Errorf("writing the header of a sweep: %w", err)
	}
	u := update{headerRow, func(old []byte) (entity, bool, error) {
		next := h
		if old != nil {
			var was ledger.Header
			if err := decode(old, headerFields, &was); err != nil {
				return entity{}, false, err
			}
			if !next.State.Supersedes(was.State) {
				return entity{}, false, nil
			}
			next.ConfigHash = cmp.Or(next.ConfigHash, was.ConfigHash)
			next.PlannedBytes = cmp.Or(next.PlannedBytes, was.PlannedBytes)
		}
		next.Reason = wire.CutDetail(next.Reason)
		e, err := encode(partition, headerRow, headerFields, &next)
		return e, true, err
	}}
	if err := s.advance(ctx, s.monthName(sweepsTables, h.Slot), partition, []update{u}); err != nil {
		return fmt.Errorf("writing the header of sweep %q: %w", partition, err)
	}
	return nil
}

// AdvanceEntries writes assignments' entries where their states supersede the stored ones. An
// assignment id, number of runs or attempt that one leaves empty is kept from the stored entry;
// an error is not.
//
// An entry whose assignment id is not the one of this environment is refused, and none is
// written.
func (s *Store) AdvanceEntries(ctx context.Context, es []ledger.Entry) error {
	type sweep struct{ table, partition string }
	sweeps := map[sweep][]update{}
	for i := range es {
		e := &es[i]
		row, err := s.entryRow(e)
		if err != nil {
			return fmt.Errorf("writing a ledger entry: %w", err)
		}
		partition, row, err := s.sweepKey(e.Slot, row)
		if err != nil {
			return fmt.Errorf("writing a ledger entry: %w", err)
		}
		k := sweep{s.monthName(sweepsTables, e.Slot), partition}
		sweeps[k] = append(sweeps[k], update{row, entryUpdate(partition, row, *e)})
	}
	for k, updates := range sweeps {
		if err := s.advance(ctx, k.table, k.partition, updates); err != nil {
			return fmt.Errorf("writing %d ledger entries of sweep %q: %w", len(updates), k.partition, err)
		}
	}
	return nil
}

func entryUpdate(partition, row string, next ledger.Entry) func([]byte) (entity, bool, error) {
	return func(old []byte) (entity, bool, error) {
		next := next
		if old != nil {
			var was ledger.Entry
			if err := decode(old, entryFields, &was); err != nil {
				return entity{}, false, err
			}
			if !next.State.Supersedes(was.State) {
				return entity{}, false, nil
			}
			next.Assignment = cmp.Or(next.Assignment, was.Assignment)
			next.Runs = cmp.Or(next.Runs, was.Runs)
			next.Attempt = cmp.Or(next.Attempt, was.Attempt)
		}
		next.Error = wire.CutDetail(next.Error)
		e, err := encode(partition, row, entryFields, &next)
		return e, true, err
	}
}

// entryRow is the row key of an entry.
func (s *Store) entryRow(e *ledger.Entry) (string, error) {
	for _, p := range []struct{ what, name string }{{"source", e.Key.Source}, {"probe", e.Key.Probe}} {
		if err := wire.ValidateName(p.what, p.name); err != nil {
			return "", fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	if want := wire.AssignmentID(s.environment, e.Slot, e.Key.Source, e.Key.Probe, e.Key.Part); e.Assignment != "" && e.Assignment != want {
		return "", fmt.Errorf("%w: assignment %q is not that of source %q, probe %q, part %d in environment %q", ErrRefused,
			e.Assignment, e.Key.Source, e.Key.Probe, e.Key.Part, s.environment)
	}
	if e.Key.Part < 0 {
		return "", fmt.Errorf("%w: part %d is negative", ErrRefused, e.Key.Part)
	}
	return entryPrefix + join(e.Key.Source, e.Key.Probe, fmt.Sprint(e.Key.Part)), nil
}

// sweepKey checks a key of the ledger. A slot is a whole minute, or it would not be its own name.
func (s *Store) sweepKey(slot time.Time, row string) (string, string, error) {
	if _, err := rev(slot); err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if !slot.Equal(wire.Slot(slot)) {
		return "", "", fmt.Errorf("%w: slot %s is not a whole minute", ErrRefused, slot.UTC().Format(time.RFC3339Nano))
	}
	return checked(wire.SlotName(slot), row)
}

// Sweep reads a sweep's header and entries; found is false when there are neither. The header
// has no state when only entries are stored. Entries are in the order of source, probe and part.
func (s *Store) Sweep(ctx context.Context, slot time.Time) (h ledger.Header, entries []ledger.Entry, found bool, err error) {
	partition, _, err := s.sweepKey(slot, headerRow)
	if err != nil {
		return h, nil, false, fmt.Errorf("reading a sweep: %w", err)
	}
	table := s.monthName(sweepsTables, slot)
	h = ledger.Header{Slot: slot.UTC()}
	body, _, err := s.get(ctx, table, partition, headerRow)
	if err == nil && body != nil {
		found = true
		err = decode(body, headerFields, &h)
	}
	if err == nil {
		r := keyRange{partition: partition, rowFrom: entryPrefix, rowBefore: after(entryPrefix)}
		entries, err = collect(scanAs(ctx, s, table, r.filter(), 0, entryFields))
	}
	if err != nil {
		return ledger.Header{}, nil, false, fmt.Errorf("reading sweep %q: %w", partition, err)
	}
	slices.SortFunc(entries, func(a, b ledger.Entry) int { // keys sort part 10 before part 2
		return cmp.Or(cmp.Compare(a.Key.Source, b.Key.Source), cmp.Compare(a.Key.Probe, b.Key.Probe), cmp.Compare(a.Key.Part, b.Key.Part))
	})
	return h, entries, found || len(entries) > 0, nil
}

// Sweeps reads the headers of the sweeps whose slots lie in since <= slot < until (zero is no
// bound), newest first.
func (s *Store) Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error) {
	months, err := s.months(ctx, sweepsTables, since, until)
	if err != nil {
		return nil, fmt.Errorf("reading the sweeps: %w", err)
	}
	filter := "RowKey eq '" + headerRow + "'"
	if !since.IsZero() {
		filter += " and PartitionKey ge '" + wire.SlotName(ceilMinute(since)) + "'"
	}
	if !until.IsZero() {
		filter += " and PartitionKey lt '" + wire.SlotName(ceilMinute(until)) + "'"
	}
	var out []ledger.Header
	for _, table := range months {
		hs, err := collect(scanAs(ctx, s, table, filter, 0, headerFields))
		if err != nil {
			return nil, fmt.Errorf("reading the sweeps: %w", err)
		}
		slices.Reverse(hs) // a month's keys are oldest first
		out = append(out, hs...)
	}
	return out, nil
}

// ceilMinute is the first slot not before t.
func ceilMinute(t time.Time) time.Time {
	if m := wire.Slot(t); !m.Equal(t) {
		return m.Add(time.Minute)
	}
	return t
}
