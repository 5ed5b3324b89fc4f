package tables

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// selected are some of the columns of a table, and where each is among them.
type selected[T any] struct {
	fields []field[T]
	at     map[string]int
}

// newSelected selects columns by their names.
func newSelected[T any](fields []field[T], names []string) selected[T] {
	out := selected[T]{fields: some(fields, names), at: map[string]int{}}
	for i, f := range out.fields {
		out.at[f.Name] = i
	}
	return out
}

// decode sets what raw values of the fields there are, in the order of the fields: a text may go on in the next.
func (s selected[T]) decode(raw [][]byte) (v T, err error) {
	for i := range s.fields {
		if raw[i] == nil || string(raw[i]) == "null" { // null must not become 0
			continue
		}
		value, err := s.fields[i].parseFlat(raw[i])
		if err != nil {
			return v, fmt.Errorf("reading a row, column %s: %w", s.fields[i].Name, err)
		}
		s.fields[i].set(&v, value)
	}
	return v, nil
}

// scanSelected is scanAs with a part of the columns, taking each page as the service sent it.
func scanSelected[T any](ctx context.Context, s *Store, table, filter string, of selected[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		o := &aztables.ListEntitiesOptions{Select: to.Ptr(strings.Join(namesOf(of.fields), ",")), Format: to.Ptr(aztables.MetadataFormatNone)}
		if filter != "" {
			o.Filter = &filter
		}
		client := s.service.NewClient(table)
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
			if err == nil {
				var more bool
				if more, err = of.page(took.page, func(v T) bool { return yield(v, nil) }); err == nil && !more {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, fmt.Errorf("reading table %q where %s: %w", table, filter, err))
				return
			}
			o.NextPartitionKey, o.NextRowKey = page.NextPartitionKey, page.NextRowKey
			if empty(o.NextPartitionKey) && empty(o.NextRowKey) {
				return
			}
		}
	}
}

var errEnough = errors.New("no more is wanted")

// page reads the rows of a page one by one; more is false when yield wants no more.
func (s selected[T]) page(page []byte, yield func(T) bool) (more bool, err error) {
	in, raw := flat{b: page}, make([][]byte, len(s.fields))
	err = in.page(func() error {
		clear(raw)
		if err := in.properties(func(name, value []byte) {
			if i, ok := s.at[string(name)]; ok {
				raw[i] = value
			}
		}); err != nil {
			return err
		}
		v, err := s.decode(raw)
		if err == nil && !yield(v) {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return true, err
}
