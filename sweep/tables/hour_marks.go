package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
)

// hourForm is how the key of a mark names its hour.
const hourForm = "20060102T15"

// HourMark says that runs of a source changed in an hour. Its ETag is another whenever they do again.
type HourMark struct {
	Source string
	Begin  time.Time
	ETag   string
}

// HourMarks lists the marked hours, by source, and oldest first within one.
func (s *Store) HourMarks(ctx context.Context) (out []HourMark, err error) {
	err = s.eachMark(ctx, hourPartition, func(m mark, etag string) { out = append(out, HourMark{m.Source, m.Begin, etag}) })
	if err != nil {
		return nil, fmt.Errorf("listing the marked hours: %w", err)
	}
	return out, nil
}

// eachMark reads the marks of a partition in the order of their keys.
func (s *Store) eachMark(ctx context.Context, partition string, take func(m mark, etag string)) error {
	for body, err := range s.scan(ctx, s.name(dirtyTable), keyRange{partition: partition}.filter(), 0, namesOf(dirtyFields)...) {
		var m mark
		var key struct {
			ETag azcore.ETag `json:"odata.etag"`
		}
		if err == nil {
			err = decode(body, dirtyFields, &m)
		}
		if err == nil {
			err = json.Unmarshal(body, &key)
		}
		if err != nil {
			return err
		}
		take(m, string(key.ETag))
	}
	return nil
}

// ClearHour takes a mark away as it was read. One that was set again since stays, which is no fault;
// gone says that there is none any more: somebody else took it away.
func (s *Store) ClearHour(ctx context.Context, m HourMark) (gone bool, err error) {
	partition, row, err := hourMarkKey(m.Source, m.Begin)
	if err != nil {
		return false, fmt.Errorf("clearing the mark of an hour: %w", err)
	}
	if gone, err = s.clearMark(ctx, partition, row, m.ETag); err != nil {
		return false, fmt.Errorf("clearing the mark of hour %q: %w", row, err)
	}
	return gone, nil
}

func (s *Store) clearMark(ctx context.Context, partition, row, etag string) (gone bool, err error) {
	if etag == "" {
		return false, fmt.Errorf("%w: it was not read", ErrRefused)
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.NewClient(s.name(dirtyTable)).DeleteEntity(ctx, partition, row, &aztables.DeleteEntityOptions{IfMatch: to.Ptr(azcore.ETag(etag))})
		return err
	})
	switch f := readFault(err); {
	case err == nil:
		return false, nil
	case f != nil && f.missing():
		return true, nil
	case f != nil && f.conflict():
		return false, nil
	}
	return false, err
}

// MarkHours marks hours of a source, as MarkDirty does for results.
func (s *Store) MarkHours(ctx context.Context, source string, hours []time.Time) error {
	var ops []operation
	for _, hour := range hours {
		partition, row, err := hourMarkKey(source, hour)
		if err != nil {
			return fmt.Errorf("marking hours: %w", err)
		}
		e, err := encode(partition, row, dirtyFields, &mark{source, hour})
		if err != nil {
			return fmt.Errorf("marking hours: %w", err)
		}
		ops = append(ops, operation{entity: e, kind: aztables.TransactionTypeInsertReplace})
	}
	if err := s.write(ctx, s.name(dirtyTable), ops); err != nil {
		return fmt.Errorf("marking hours: %w", err)
	}
	return nil
}

func hourMarkKey(source string, hour time.Time) (string, string, error) {
	err := wire.ValidateName("source", source)
	if err == nil && !hour.Equal(hour.UTC().Truncate(time.Hour)) {
		err = fmt.Errorf("hour %s is not whole", hour.UTC().Format(time.RFC3339Nano))
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return checked(hourPartition, strings.Join([]string{source, hour.UTC().Format(hourForm)}, "|"))
}
