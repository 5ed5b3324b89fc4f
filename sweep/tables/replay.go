package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// readsAtOnce bounds the rows that one comparison reads at the same time.
const readsAtOnce = 8

// keyed is a row as results come to it, with its table.
type keyed struct {
	table string
	entity
}

// CompareRuns holds results against the rows that are stored in runs for them: a difference a
// result, in their order. Nothing is written. As with PutResults, expired results are refused.
func (s *Store) CompareRuns(ctx context.Context, rs []result.Result) ([]result.Difference, error) {
	return s.compareAll(ctx, rs, func(r *result.Result) (keyed, error) {
		partition, row, err := runKey(r.Series, r.Slot)
		if err != nil {
			return keyed{}, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s.keyed(s.monthName(runsTables, r.Slot), partition, row, r)
	})
}

// CompareLatest holds results against the rows of their series in latest. A row of a newer slot is
// Same, for it stays; of an older slot, or of an expired run, it is Changed: see PutLatest.
func (s *Store) CompareLatest(ctx context.Context, rs []result.Result) ([]result.Difference, error) {
	return s.compareAll(ctx, rs, func(r *result.Result) (keyed, error) { return s.keyedLatest(r) })
}

func (s *Store) keyedLatest(r *result.Result) (keyed, error) {
	if strings.HasPrefix(r.Series.Probe, wire.ForeignPrefix) {
		return keyed{}, fmt.Errorf("the latest run of %s: %w: it is foreign", r.Series, ErrRefused)
	}
	partition, row, err := latestKey(r.Series)
	if err != nil {
		return keyed{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return s.keyed(s.name(latestTable), partition, row, r)
}

func (s *Store) keyed(table, partition, row string, r *result.Result) (keyed, error) {
	v := RowOf(r)
	e, err := encode(partition, row, rowFields, &v)
	return keyed{table, e}, err
}

func (s *Store) compareAll(ctx context.Context, rs []result.Result, key func(*result.Result) (keyed, error)) ([]result.Difference, error) {
	out := make([]result.Difference, len(rs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i := range rs {
		r := &rs[i]
		if r.IsExpired() {
			return nil, fmt.Errorf("comparing the result of %s: %w: an expired run has no document", r.Series, ErrRefused)
		}
		if err := s.checkResult(r); err != nil {
			return nil, fmt.Errorf("comparing runs: %w", err)
		}
		k, err := key(r)
		if err != nil {
			return nil, fmt.Errorf("comparing runs: %w", err)
		}
		g.Go(func() error {
			body, etag, err := s.get(ctx, k.table, k.partition, k.row)
			if err != nil {
				return err
			}
			out[i] = result.Difference{Series: r.Series, Slot: r.Slot, ETag: string(etag)}
			return compare(&out[i], k, body, r)
		})
	}
	return out, g.Wait()
}

// compare fills in how a stored row, nil where there is none, differs from k.
func compare(d *result.Difference, k keyed, stored []byte, r *result.Result) error {
	if stored == nil {
		d.Change = result.Added
		return nil
	}
	var want, is Row
	if err := decode(k.body, rowFields, &want); err != nil { // as storage would give it back
		return err
	}
	if err := decode(stored, rowFields, &is); err != nil {
		// Whatever made such a row, what belongs there is known.
		d.Change, d.Columns = result.Changed, []string{"unreadable"}
		return nil
	}
	d.Document = is.Document
	if was := (age{is.Slot.Unix(), is.Failure == wire.FailureExpired}); was.supersedes(ageOf(r)) {
		return nil // only in latest, where the slot is not in the key
	}
	for i := range rowFields {
		if !equal(rowFields[i].get(&want), rowFields[i].get(&is)) {
			d.Columns = append(d.Columns, rowFields[i].Name)
		}
	}
	more, err := strangers(stored)
	if err != nil {
		return fmt.Errorf("reading row %q %q of table %q: %w", k.partition, k.row, k.table, err)
	}
	if d.Columns = append(d.Columns, more...); len(d.Columns) > 0 {
		d.Change = result.Changed
	}
	return nil
}

// equal compares what fields get.
func equal(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	return a == b
}

// columnNames are those that a row may have.
var columnNames = func() map[string]bool {
	names := map[string]bool{"PartitionKey": true, "RowKey": true, "Timestamp": true}
	for i := range rowFields {
		names[rowFields[i].Name] = true
	}
	return names
}()

// strangers are the properties of a stored row that are no columns: of an earlier version, say.
func strangers(stored []byte) (names []string, err error) {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(stored, &properties); err != nil {
		return nil, err
	}
	for name := range properties {
		if !columnNames[name] && !strings.Contains(name, "odata.") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// MendRuns writes the results whose rows are not the Same: in place of exactly the row that was
// compared, or where there was none. When somebody else changed one of them since, the error has
// result.ErrChanged in its chain; of the batches that were written by then none is undone.
// Comparing and mending once more comes to the same end.
func (s *Store) MendRuns(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	if err := s.keepSeries(ctx, allSeries(rs, seriesOfResult)); err != nil {
		return fmt.Errorf("mending runs: %w", err)
	}
	return s.mend(ctx, rs, ds, func(r *result.Result) (keyed, error) {
		partition, row, err := runKey(r.Series, r.Slot)
		if err != nil {
			return keyed{}, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s.keyed(s.monthName(runsTables, r.Slot), partition, row, r)
	})
}

// MendLatest is MendRuns for what CompareLatest found.
func (s *Store) MendLatest(ctx context.Context, rs []result.Result, ds []result.Difference) error {
	return s.mend(ctx, rs, ds, s.keyedLatest)
}

func (s *Store) mend(ctx context.Context, rs []result.Result, ds []result.Difference, key func(*result.Result) (keyed, error)) error {
	ops := map[string][]operation{}
	for i := range rs {
		op := operation{kind: aztables.TransactionTypeAdd}
		switch ds[i].Change {
		case result.Same:
			continue
		case result.Changed: // without its ETag it would be an upsert
			op.kind, op.ifMatch = aztables.TransactionTypeUpdateReplace, to.Ptr(azcore.ETag(ds[i].ETag))
		}
		k, err := key(&rs[i])
		if err != nil {
			return fmt.Errorf("mending runs: %w", err)
		}
		op.entity = k.entity
		ops[k.table] = append(ops[k.table], op)
	}
	for table, of := range ops {
		if err := s.write(ctx, table, of); err != nil {
			if f := readFault(err); f != nil && f.conflict() {
				return fmt.Errorf("mending runs: %w: %w", result.ErrChanged, err)
			}
			return fmt.Errorf("mending runs: %w", err)
		}
	}
	return nil
}

// LatestSlots are the slots of the newest runs, by series.
func (s *Store) LatestSlots(ctx context.Context) (map[wire.Series]time.Time, error) {
	out := map[wire.Series]time.Time{}
	for body, err := range s.scan(ctx, s.name(latestTable), "", 0, "slot", "source", "target", "path", "probe") {
		var r Row
		if err == nil {
			err = decode(body, rowFields, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the slots of the latest runs: %w", err)
		}
		r.Series.Environment = s.environment
		out[r.Series] = r.Slot
	}
	return out, nil
}

// RemoveRuns deletes rows exactly as they were read. It is no fault that one is gone, or another by
// now.
func (s *Store) RemoveRuns(ctx context.Context, ds []result.Difference) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for _, d := range ds {
		partition, row, err := runKey(d.Series, d.Slot)
		if err == nil && d.ETag == "" {
			err = errors.New("it was not read")
		}
		if err != nil {
			return fmt.Errorf("deleting the run of %s: %w: %w", d.Series, ErrRefused, err)
		}
		g.Go(func() error {
			return s.delete(ctx, s.monthName(runsTables, d.Slot), partition, row, azcore.ETag(d.ETag))
		})
	}
	return g.Wait()
}
