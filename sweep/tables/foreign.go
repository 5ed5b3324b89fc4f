package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// addRounds is how often a batch of foreign rows is sent, when others add or take back rows of
// it at the same time.
const addRounds = 5

// AddForeign stores the results of one foreign document in runs, all of them or none. A row that
// exists stays as it is. If it is of the same document, an earlier try stored it. If it is of
// another, the error has result.ErrTaken in its chain, and no row of this document is left: what
// was written by then is deleted. After any other error some rows may be stored; calling again
// stores the others, or deletes those.
//
// Rows are written in the order of their keys, so that of two documents with runs in common the
// one that is first at the first of these stores them all.
func (s *Store) AddForeign(ctx context.Context, rs []result.Result) error {
	if len(rs) == 0 {
		return nil
	}
	document := rs[0].Document
	for i := range rs {
		if r := &rs[i]; r.Document == "" || r.Document != document || !strings.HasPrefix(r.Series.Probe, wire.ForeignPrefix) {
			return fmt.Errorf("storing the foreign run of %s: %w: probe %q of document %q: want those of one foreign document",
				r.Series, ErrRefused, r.Series.Probe, r.Document)
		}
	}
	months, err := s.makeRuns(rs, aztables.TransactionTypeAdd)
	if err != nil {
		return err
	}
	if err := s.keepSeries(ctx, allSeries(rs, seriesOfResult)); err != nil {
		return fmt.Errorf("storing foreign runs: %w", err)
	}
	for _, table := range slices.Sorted(maps.Keys(months)) {
		slices.SortFunc(months[table], func(a, b operation) int { return strings.Compare(a.row, b.row) })
		all, err := batches(months[table])
		if err != nil {
			return err
		}
		for _, batch := range all {
			err := s.addOwn(ctx, table, batch, document)
			if errors.Is(err, result.ErrTaken) {
				if fault := s.takeBack(ctx, months, document); fault != nil {
					return fmt.Errorf("deleting what was stored of a foreign document: %w", fault)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// addOwn adds a batch of a document's rows, but for those that are stored already.
func (s *Store) addOwn(ctx context.Context, table string, batch []operation, document string) error {
	for round := 1; ; round++ {
		err := s.submit(ctx, table, batch)
		if !exists(err) {
			return err
		}
		if round == addRounds {
			return fmt.Errorf("giving up after losing to other writers %d times: %w", round, err)
		}
		found, err := s.owners(ctx, table, batch)
		if err != nil {
			return err
		}
		var missing []operation
		for i, op := range batch {
			switch owner := found[i]; {
			case owner.document == nil:
				missing = append(missing, op)
			case *owner.document != document:
				return fmt.Errorf("storing row %q of %q: %w, from %q", op.row, op.partition, result.ErrTaken, *owner.document)
			}
		}
		if batch = missing; len(batch) == 0 {
			return nil
		}
	}
}

// owner is the document whose row is stored; nil where there is no row.
type owner struct {
	document *string
	etag     azcore.ETag
}

// owners reads whose rows are stored under the keys of ops, which lie too far apart for a range.
func (s *Store) owners(ctx context.Context, table string, ops []operation) ([]owner, error) {
	out := make([]owner, len(ops))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(batchesAtOnce)
	for i, op := range ops {
		g.Go(func() error {
			body, etag, err := s.get(ctx, table, op.partition, op.row)
			if err != nil || body == nil {
				return err
			}
			var row struct {
				Document string `json:"document"`
			}
			if err := json.Unmarshal(body, &row); err != nil {
				return fmt.Errorf("reading row %q %q of table %q: %w", op.partition, op.row, table, err)
			}
			out[i] = owner{&row.Document, etag}
			return nil
		})
	}
	return out, g.Wait()
}

// takeBack deletes the rows of a document that are stored under the keys given.
func (s *Store) takeBack(ctx context.Context, months map[string][]operation, document string) error {
	for table, ops := range months {
		found, err := s.owners(ctx, table, ops)
		if err != nil {
			return err
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(batchesAtOnce)
		for i, op := range ops {
			if found[i].document == nil || *found[i].document != document {
				continue
			}
			g.Go(func() error { return s.delete(ctx, table, op.partition, op.row, found[i].etag) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes a row as it was read. It is no fault that it is gone, or another by now.
func (s *Store) delete(ctx context.Context, table, partition, row string, etag azcore.ETag) error {
	err := s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.NewClient(table).DeleteEntity(ctx, partition, row, &aztables.DeleteEntityOptions{IfMatch: to.Ptr(etag)})
		return err
	})
	if f := readFault(err); f != nil && (f.missing() || f.conflict()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting row %q %q of table %q: %w", partition, row, table, err)
	}
	return nil
}
