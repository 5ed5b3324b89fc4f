package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// ForeignRuns lists the rows of a foreign document that are stored: those of all months that exist,
// from one source. Where target and path are given, their keys are looked at alone, and otherwise
// every row of the source.
func (s *Store) ForeignRuns(ctx context.Context, document, source, target, path string) (out []result.Difference, err error) {
	q := RunQuery{Source: source, Target: target, Path: path}
	if err := q.validate(); err != nil {
		return nil, fmt.Errorf("reading the runs of %q: %w: %w", document, ErrRefused, err)
	}
	if source == "" || strings.ContainsAny(document, "'\x00") {
		return nil, fmt.Errorf("reading the runs of %q from %q: %w: no names for a filter", document, source, ErrRefused)
	}
	keys := keyRange{partition: source}
	if target != "" && path != "" {
		keys.rowFrom = join(target, path, wire.ForeignPrefix)
		keys.rowBefore = after(keys.rowFrom)
	}
	months, err := s.existing(ctx, runsTables)
	if err != nil {
		return nil, err
	}
	filter := keys.filter() + " and document eq '" + document + "'"
	for _, table := range months {
		for body, err := range s.scan(ctx, table, filter, 0, "slot", "source", "target", "path", "probe", "document") {
			d, err := s.storedRun(body, err)
			if err != nil {
				return nil, fmt.Errorf("reading the runs of %q: %w", document, err)
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// storedRun is a row of which no more is known than whose it is.
func (s *Store) storedRun(body []byte, err error) (result.Difference, error) {
	var key struct {
		ETag azcore.ETag `json:"odata.etag"`
	}
	var r Row
	if err == nil {
		err = json.Unmarshal(body, &key)
	}
	if err == nil {
		err = decode(body, rowFields, &r)
	}
	r.Series.Environment = s.environment
	return result.Difference{Series: r.Series, Slot: r.Slot, Change: result.Removed, Document: r.Document, ETag: string(key.ETag)}, err
}
