package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/sweep/result"
)

// ErrChanged is in the chain of every error that says that somebody else changed a row since it was
// read. Reading and deciding once more is the remedy.
var ErrChanged = result.ErrChanged

// inputsColumn holds the hash of all that a row of hours or profiles was computed from.
const inputsColumn = "inputs_sha256"

// Stamp is what has to be known of a stored row of hours or profiles before it is computed again.
type Stamp struct {
	Row    string // its key within the source's partition
	Inputs string // the hash of what it was computed from
	ETag   string // empty where there is no row
}

// stamps reads the stamps of the rows in a range of one table.
func (s *Store) stamps(ctx context.Context, table, filter string) ([]Stamp, error) {
	return collect(s.stampsIn(ctx, table, filter))
}

func (s *Store) stampsIn(ctx context.Context, table, filter string) iter.Seq2[Stamp, error] {
	return func(yield func(Stamp, error) bool) {
		for body, err := range s.scan(ctx, table, filter, 0, inputsColumn) {
			var stamp Stamp
			if err == nil {
				stamp, err = stampOf(table, body)
			}
			if !yield(stamp, err) || err != nil {
				return
			}
		}
	}
}

func stampOf(table string, body []byte) (Stamp, error) {
	var row struct {
		RowKey string
		Inputs string      `json:"inputs_sha256"`
		ETag   azcore.ETag `json:"odata.etag"`
	}
	if err := json.Unmarshal(body, &row); err != nil {
		return Stamp{}, fmt.Errorf("reading table %q: %w", table, err)
	}
	if row.ETag == "" { // an update without it would be an upsert
		return Stamp{}, fmt.Errorf("reading table %q: row %q came without its ETag", table, row.RowKey)
	}
	return Stamp{row.RowKey, row.Inputs, string(row.ETag)}, nil
}

// change is the operation that puts e in the place of the row with that stamp, or of none.
func change(e entity, was Stamp) operation {
	if was.ETag == "" {
		return operation{entity: e, kind: aztables.TransactionTypeAdd}
	}
	return operation{e, aztables.TransactionTypeUpdateReplace, to.Ptr(azcore.ETag(was.ETag))}
}

// removal is the operation that deletes the row with that stamp.
func removal(partition string, was Stamp) (operation, error) {
	partition, row, err := checked(partition, was.Row)
	if err == nil && was.ETag == "" {
		err = errors.New("it was not read")
	}
	if err != nil {
		return operation{}, fmt.Errorf("deleting row %q %q: %w: %w", partition, was.Row, ErrRefused, err)
	}
	e, err := newEntity(partition, row).done()
	return operation{e, aztables.TransactionTypeDelete, to.Ptr(azcore.ETag(was.ETag))}, err
}

// replace writes operations that hold to what was read; an error has ErrChanged in its chain where
// one of the rows is another by now.
func (s *Store) replace(ctx context.Context, table string, ops []operation) error {
	err := s.write(ctx, table, ops)
	if f := readFault(err); f != nil && f.conflict() {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}
