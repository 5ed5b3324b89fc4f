package tables

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// pages yields the entities that match a filter as raw values, at the places that at says, nil where an
// entity has none: taken from each page as the service sent it. They hold until the next is asked for.
func (s *Store) pages(ctx context.Context, table, filter string, at map[string]int) iter.Seq2[[][]byte, error] {
	return func(yield func([][]byte, error) bool) {
		var columns []string
		for name := range at {
			if !strings.HasPrefix(name, "odata.") {
				columns = append(columns, name)
			}
		}
		o := &aztables.ListEntitiesOptions{Filter: &filter, Select: to.Ptr(strings.Join(columns, ","))}
		client, raw := s.service.NewClient(table), make([][]byte, len(at))
		for {
			var page aztables.ListEntitiesResponse
			var took tapped
			err := s.retry(ctx, func(ctx context.Context) (err error) {
				page, err = client.NewListEntitiesPager(o).NextPage(withTap(ctx, &took)) // as in scan
				return err
			})
			if f := readFault(err); f != nil && f.missing() {
				return
			}
			in := flat{b: took.page}
			more := true
			if err == nil {
				err = in.page(func() error {
					clear(raw)
					err := in.properties(func(name, value []byte) {
						if i, ok := at[string(name)]; ok {
							raw[i] = value
						}
					})
					if more && err == nil {
						more = yield(raw, nil)
					}
					return err
				})
			}
			if !more {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("reading table %q where %s: %w", table, filter, err))
				return
			}
			o.NextPartitionKey, o.NextRowKey = page.NextPartitionKey, page.NextRowKey
			if empty(o.NextPartitionKey) && empty(o.NextRowKey) {
				return
			}
		}
	}
}
