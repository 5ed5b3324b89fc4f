package tables

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"
)

// What the service holds a batch to, besides one partition and no key twice. The service says
// 4 MiB; what is around the entities (about 600 bytes each, and the annotations' escapes) is left
// a wide margin.
const (
	maxBatch          = 100
	maxBatchBytes     = 3 << 20
	operationOverhead = 1 << 10
	batchesAtOnce     = 4 // in flight; a partition takes 2,000 entities a second
)

// operation is one row's change within a batch.
type operation struct {
	entity
	kind aztables.TransactionType
	// ifMatch is the ETag that the stored row must still have. Without it the service takes an
	// update for an upsert.
	ifMatch *azcore.ETag
}

// batches splits operations into batches that the service accepts: one partition each, in the
// order of the partitions. Azurite would accept others.
//
// Two operations on one key are refused, unless they are the same, which is then done once.
func batches(ops []operation) ([][]operation, error) {
	partitions := map[string][]operation{}
	seen := map[[2]string][]byte{}
	for _, op := range ops {
		key := [2]string{op.partition, op.row}
		if body, twice := seen[key]; twice {
			if bytes.Equal(body, op.body) {
				continue
			}
			return nil, fmt.Errorf("row %q %q: %w: two different rows have this key", op.partition, op.row, ErrRefused)
		}
		seen[key] = op.body
		partitions[op.partition] = append(partitions[op.partition], op)
	}
	var out [][]operation
	for _, partition := range slices.Sorted(maps.Keys(partitions)) {
		var batch []operation
		size := 0
		for _, op := range partitions[partition] {
			n := len(op.body) + operationOverhead
			if len(batch) == maxBatch || (len(batch) > 0 && size+n > maxBatchBytes) {
				out, batch, size = append(out, batch), nil, 0
			}
			batch, size = append(batch, op), size+n
		}
		out = append(out, batch)
	}
	return out, nil
}

// write writes operations in batches, a few at once. A batch is stored whole or not at all;
// when one fails, others may have been stored.
func (s *Store) write(ctx context.Context, table string, ops []operation) error {
	all, err := batches(ops)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(batchesAtOnce)
	for _, batch := range all {
		g.Go(func() error { return s.submit(ctx, table, batch) })
	}
	return g.Wait()
}

// submit writes one batch.
func (s *Store) submit(ctx context.Context, table string, batch []operation) error {
	actions := make([]aztables.TransactionAction, len(batch))
	for i, op := range batch {
		actions[i] = aztables.TransactionAction{ActionType: op.kind, Entity: op.body, IfMatch: op.ifMatch}
	}
	client := s.service.NewClient(table)
	err := s.writing(ctx, table, func(ctx context.Context) error {
		_, err := client.SubmitTransaction(ctx, actions, nil)
		return err
	})
	if err == nil {
		return nil
	}
	row := batch[0]
	if f := readFault(err); f != nil && f.Index >= 0 && f.Index < len(batch) {
		row = batch[f.Index]
	}
	return fmt.Errorf("writing %d rows of partition %q to table %q, row %q: %w", len(batch), row.partition, table, row.row, err)
}
