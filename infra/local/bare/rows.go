// Package bare writes what the app has stored once more, with the SDK alone: no plan, no ledger, nothing
// computed. What the app takes longer for than that is what the app costs.
package bare

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// batch is the most rows that the service takes at once.
const batch = 100

// Rows are rows as they are written, JSON with the types of their properties, by partition.
type Rows map[string][][]byte

// Count is the number of rows.
func (r Rows) Count() (n int) {
	for _, rows := range r {
		n += len(rows)
	}
	return n
}

// ReadRows reads all rows of a table.
func ReadRows(ctx context.Context, table *aztables.Client) (Rows, error) {
	out := Rows{}
	format := aztables.MetadataFormatFull // with the types, so that what is written again is the same
	pages := table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Format: &format})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the rows back: %w", err)
		}
		for _, raw := range page.Entities {
			partition, clean, err := withoutMetadata(raw)
			if err != nil {
				return nil, err
			}
			out[partition] = append(out[partition], clean)
		}
	}
	return out, nil
}

func withoutMetadata(raw []byte) (partition string, clean []byte, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", nil, fmt.Errorf("reading a row back: %w", err)
	}
	for k := range m {
		if strings.HasPrefix(k, "odata.") || strings.HasPrefix(k, "Timestamp") {
			delete(m, k)
		}
	}
	if err := json.Unmarshal(m["PartitionKey"], &partition); err != nil {
		return "", nil, fmt.Errorf("reading a row back: its partition: %w", err)
	}
	clean, err = json.Marshal(m)
	return partition, clean, err
}

// Write writes the rows in batches within a partition, one after the other.
func (r Rows) Write(ctx context.Context, table *aztables.Client) error {
	for _, entities := range r {
		for len(entities) > 0 {
			n := min(len(entities), batch)
			actions := make([]aztables.TransactionAction, n)
			for i, e := range entities[:n] {
				actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: e}
			}
			if _, err := table.SubmitTransaction(ctx, actions, nil); err != nil {
				return fmt.Errorf("writing rows: %w", err)
			}
			entities = entities[n:]
		}
	}
	return nil
}
