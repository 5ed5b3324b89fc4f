package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
)

// DayMark says that runs of a source changed on a day. Its ETag is another whenever they do again.
type DayMark struct {
	Source string
	Begin  time.Time
	ETag   string
}

// DayMarks lists the marked days, by source, and oldest first within one.
func (s *Store) DayMarks(ctx context.Context) (out []DayMark, err error) {
	err = s.eachMark(ctx, dayPartition, func(m mark, etag string) { out = append(out, DayMark{m.Source, m.Begin, etag}) })
	if err != nil {
		return nil, fmt.Errorf("listing the marked days: %w", err)
	}
	return out, nil
}

// ClearDay takes a mark away as it was read. One that was set again since stays, and one that is gone was
// taken away by somebody else: neither is a fault.
func (s *Store) ClearDay(ctx context.Context, m DayMark) error {
	partition, row, err := dayMarkKey(m.Source, m.Begin)
	if err != nil {
		return fmt.Errorf("clearing the mark of a day: %w", err)
	}
	if _, err = s.clearMark(ctx, partition, row, m.ETag); err != nil {
		return fmt.Errorf("clearing the mark of day %q: %w", row, err)
	}
	return nil
}

// MarkDay marks a day of a source, as MarkDirty does for results.
func (s *Store) MarkDay(ctx context.Context, source string, day time.Time) error {
	partition, row, err := dayMarkKey(source, day)
	if err != nil {
		return fmt.Errorf("marking a day: %w", err)
	}
	e, err := encode(partition, row, dirtyFields, &mark{source, day})
	if err != nil {
		return fmt.Errorf("marking a day: %w", err)
	}
	if err := s.write(ctx, s.name(dirtyTable), []operation{{entity: e, kind: aztables.TransactionTypeInsertReplace}}); err != nil {
		return fmt.Errorf("marking a day: %w", err)
	}
	return nil
}

func dayMarkKey(source string, day time.Time) (string, string, error) {
	err := wire.ValidateName("source", source)
	if err == nil && !day.Equal(day.UTC().Truncate(24*time.Hour)) {
		err = fmt.Errorf("day %s is not whole", day.UTC().Format(time.RFC3339Nano))
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return checked(dayPartition, source+"|"+day.UTC().Format("20060102"))
}
