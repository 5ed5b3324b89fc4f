package tables

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// pageRows is the most rows that the service puts on a page.
const pageRows = 1000

// scan yields the entities that match a filter, in the order of their keys. A table that does
// not exist has none. limit is a hint: pages are no larger. Where columns are given the entities
// have no others, keys and ETag apart.
func (s *Store) scan(ctx context.Context, table, filter string, limit int, columns ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		o := &aztables.ListEntitiesOptions{}
		if filter != "" {
			o.Filter = &filter
		}
		if len(columns) > 0 {
			o.Select = to.Ptr("PartitionKey,RowKey," + strings.Join(columns, ","))
		}
		if limit > 0 && limit < pageRows {
			o.Top = to.Ptr(int32(limit))
		}
		client := s.service.NewClient(table)
		for { // a page may be empty and still not be the last
			var page aztables.ListEntitiesResponse
			err := s.retry(ctx, func(ctx context.Context) (err error) {
				// A pager of its own for each try: one that has failed stays failed.
				page, err = client.NewListEntitiesPager(o).NextPage(ctx)
				return err
			})
			if f := readFault(err); f != nil && f.missing() {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("reading table %q where %s: %w", table, filter, err))
				return
			}
			for _, body := range page.Entities {
				if !yield(body, nil) {
					return
				}
			}
			o.NextPartitionKey, o.NextRowKey = page.NextPartitionKey, page.NextRowKey
			if empty(o.NextPartitionKey) && empty(o.NextRowKey) {
				return
			}
		}
	}
}

func empty(s *string) bool { return s == nil || *s == "" }

// scanAs is scan with the entities read by fields, each into a new T.
func scanAs[T any](ctx context.Context, s *Store, table, filter string, limit int, fields []field[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for body, err := range s.scan(ctx, table, filter, limit) {
			var v T
			if err == nil {
				err = decode(body, fields, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// collect reads a sequence to its end.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
