package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// update is a row that depends on what is stored in its place.
type update struct {
	row string
	// decide returns what to write in place of stored, nil when nothing is stored; or false
	// when what is stored is to stay. It may be asked several times.
	decide func(stored []byte) (entity, bool, error)
}

// stored is a row as it was read.
type stored struct {
	body []byte
	etag azcore.ETag
}

// pointReads is up to how many rows are read one by one; more are read as a range.
const pointReads = 3

// advance brings rows of one partition forward: it reads them, lets each update decide, and
// writes with Add or If-Match. Where somebody else was faster everything is read again, so that
// no decision rests on what is no longer stored. The same happens after an answer that was lost:
// then our own row is found, and stays.
//
// columns are those that the decisions rest on; none stands for all.
func (s *Store) advance(ctx context.Context, table, partition string, updates []update, columns ...string) error {
	slices.SortStableFunc(updates, func(a, b update) int { return strings.Compare(a.row, b.row) })
	for begun, round := time.Now(), 1; ; round++ {
		before, err := s.read(ctx, table, partition, updates, columns)
		if err != nil {
			return err
		}
		ops, err := decideAll(updates, before)
		if err != nil {
			return err
		}
		if len(ops) == 0 {
			return nil
		}
		err = s.write(ctx, table, ops)
		f := readFault(err)
		if err == nil {
			return nil
		} else if f == nil || !f.conflict() {
			return err
		}
		// Somebody else got on, so this ends, unless they are very many.
		wait := s.patience.wait(min(round, 3)) / 4
		if time.Since(begun)+wait > s.patience.budget {
			return fmt.Errorf("giving up after losing to other writers %d times: %w", round, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// decideAll asks each update, in order, and returns one operation a row at the most. A second
// update of a row decides over what the first wants to write.
func decideAll(updates []update, before map[string]stored) ([]operation, error) {
	var ops []operation
	for _, u := range updates {
		old, exists := before[u.row]
		last := len(ops) - 1
		again := last >= 0 && ops[last].row == u.row // updates are sorted by row
		body := old.body
		if again {
			body = ops[last].body
		}
		e, write, err := u.decide(body)
		switch {
		case err != nil:
			return nil, err
		case !write:
		case again:
			ops[last].entity = e
		case exists:
			ops = append(ops, operation{e, aztables.TransactionTypeUpdateReplace, to.Ptr(old.etag)})
		default:
			ops = append(ops, operation{e, aztables.TransactionTypeAdd, nil})
		}
	}
	return ops, nil
}

// read reads the rows that updates (sorted) are about, and perhaps others.
func (s *Store) read(ctx context.Context, table, partition string, updates []update, columns []string) (map[string]stored, error) {
	out := map[string]stored{}
	if len(updates) <= pointReads {
		for _, u := range updates {
			body, etag, err := s.get(ctx, table, partition, u.row)
			if err != nil {
				return nil, err
			}
			if body != nil {
				out[u.row] = stored{body, etag}
			}
		}
		return out, nil
	}
	r := keyRange{partition: partition, rowFrom: updates[0].row, rowBefore: updates[len(updates)-1].row + "!"} // "!" sorts before all that keys hold
	for body, err := range s.scan(ctx, table, r.filter(), 0, columns...) {
		if err != nil {
			return nil, err
		}
		var key struct {
			Row  string      `json:"RowKey"`
			ETag azcore.ETag `json:"odata.etag"`
		}
		if err := json.Unmarshal(body, &key); err != nil {
			return nil, fmt.Errorf("reading table %q: %w", table, err)
		}
		if key.ETag == "" { // an update without it would be an upsert
			return nil, fmt.Errorf("reading table %q: row %q came without its ETag", table, key.Row)
		}
		out[key.Row] = stored{body, key.ETag}
	}
	return out, nil
}

// get reads one row; nil when it, or its table, does not exist.
func (s *Store) get(ctx context.Context, table, partition, row string) ([]byte, azcore.ETag, error) {
	var got aztables.GetEntityResponse
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		got, err = s.service.NewClient(table).GetEntity(ctx, partition, row, nil)
		return err
	})
	if f := readFault(err); f != nil && f.missing() {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading row %q %q of table %q: %w", partition, row, table, err)
	}
	return got.Value, got.ETag, nil
}
