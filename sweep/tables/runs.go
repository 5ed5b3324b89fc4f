package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// PutResults stores results in runs, a row each, in place of what is there: the same result of
// an earlier try, or an expired row. Expired results are refused: they go through AddExpired.
//
// When it fails some rows may be stored; writing all again gives the same rows. Nothing is
// written when one of the results is refused (see ErrRefused).
func (s *Store) PutResults(ctx context.Context, rs []result.Result) error {
	for i := range rs {
		if rs[i].IsExpired() {
			return fmt.Errorf("storing the result of %s: %w: an expired run must not replace a row", rs[i].Series, ErrRefused)
		}
	}
	return s.putRuns(ctx, rs, aztables.TransactionTypeInsertReplace, s.write)
}

// AddExpired stores expired results in runs where there is no row yet. A row that exists, a
// result or an expired one, stays as it is.
func (s *Store) AddExpired(ctx context.Context, rs []result.Result) error {
	for i := range rs {
		if !rs[i].IsExpired() {
			return fmt.Errorf("expiring the run of %s: %w: it has a result", rs[i].Series, ErrRefused)
		}
	}
	return s.putRuns(ctx, rs, aztables.TransactionTypeAdd, s.add)
}

// putRuns makes the rows, all of them before the first is written, and writes them month by
// month.
func (s *Store) putRuns(ctx context.Context, rs []result.Result, kind aztables.TransactionType, write func(context.Context, string, []operation) error) error {
	months, err := s.makeRuns(rs, kind)
	if err != nil {
		return err
	}
	if err := s.keepSeries(ctx, allSeries(rs, seriesOfResult)); err != nil {
		return fmt.Errorf("storing runs: %w", err)
	}
	for table, ops := range months {
		if err := write(ctx, table, ops); err != nil {
			return err
		}
	}
	return nil
}

func seriesOfResult(r *result.Result) wire.Series { return r.Series }

// makeRuns makes the operations that store the results, by table.
func (s *Store) makeRuns(rs []result.Result, kind aztables.TransactionType) (map[string][]operation, error) {
	months := map[string][]operation{}
	for i := range rs {
		if err := s.checkResult(&rs[i]); err != nil {
			return nil, fmt.Errorf("storing runs: %w", err)
		}
		partition, row, err := runKey(rs[i].Series, rs[i].Slot)
		if err != nil {
			return nil, fmt.Errorf("storing runs: %w: %w", ErrRefused, err)
		}
		r := RowOf(&rs[i])
		e, err := encode(partition, row, rowFields, &r)
		if err != nil {
			return nil, fmt.Errorf("storing runs: %w", err)
		}
		table := s.monthName(runsTables, rs[i].Slot)
		months[table] = append(months[table], operation{entity: e, kind: kind})
	}
	for _, ops := range months {
		if _, err := batches(ops); err != nil { // before any month is written
			return nil, fmt.Errorf("storing runs: %w", err)
		}
	}
	return months, nil
}

// Encode is the entity that a result is stored as, with the types of its properties, as JSON. It is
// for who compares what is stored, or stores it elsewhere.
func Encode(r *result.Result) ([]byte, error) {
	partition, row, err := runKey(r.Series, r.Slot)
	if err != nil {
		return nil, fmt.Errorf("encoding the run of %s: %w: %w", r.Series, ErrRefused, err)
	}
	shown := RowOf(r)
	e, err := encode(partition, row, rowFields, &shown)
	if err != nil {
		return nil, fmt.Errorf("encoding the run of %s: %w", r.Series, err)
	}
	return e.body, nil
}

// add writes rows that do not exist yet. One existing row makes its whole batch fail; that batch
// is then added row by row, and it is no fault that a row exists: somebody else's, or our own
// from a try whose answer was lost.
func (s *Store) add(ctx context.Context, table string, ops []operation) error {
	all, err := batches(ops)
	if err != nil {
		return err
	}
	for _, batch := range all {
		err := s.submit(ctx, table, batch)
		if exists(err) {
			err = s.addEach(ctx, table, batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) addEach(ctx context.Context, table string, batch []operation) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(batchesAtOnce)
	for _, op := range batch {
		g.Go(func() error {
			if err := s.submit(ctx, table, []operation{op}); !exists(err) {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

func exists(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.Code == string(aztables.EntityAlreadyExists)
}
