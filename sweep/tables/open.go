package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// openSweep is a sweep that somebody still has to finish.
type openSweep struct{ Slot time.Time }

var openFields = []field[openSweep]{
	instant("slot", "the sweep's slot", func(o *openSweep) *time.Time { return &o.Slot }),
}

// MarkOpen notes that a sweep is to be finished, before anything else of it is stored.
func (s *Store) MarkOpen(ctx context.Context, slot time.Time) error {
	row, _, err := s.sweepKey(slot, headerRow)
	if err != nil {
		return fmt.Errorf("marking a sweep open: %w", err)
	}
	e, err := encode(sweepPartition, row, openFields, &openSweep{slot})
	if err != nil {
		return fmt.Errorf("marking sweep %q open: %w", row, err)
	}
	if err := s.write(ctx, s.name(dirtyTable), []operation{{entity: e, kind: aztables.TransactionTypeInsertReplace}}); err != nil {
		return fmt.Errorf("marking sweep %q open: %w", row, err)
	}
	return nil
}

// OpenSweeps lists the slots that are marked open, oldest first.
func (s *Store) OpenSweeps(ctx context.Context) ([]time.Time, error) {
	open, err := collect(scanAs(ctx, s, s.name(dirtyTable), keyRange{partition: sweepPartition}.filter(), 0, openFields))
	if err != nil {
		return nil, fmt.Errorf("listing the open sweeps: %w", err)
	}
	slots := make([]time.Time, len(open))
	for i, o := range open {
		slots[i] = o.Slot
	}
	return slots, nil
}

// ClearOpen takes the mark away; it is no fault that there is none.
func (s *Store) ClearOpen(ctx context.Context, slot time.Time) error {
	row, _, err := s.sweepKey(slot, headerRow)
	if err != nil {
		return fmt.Errorf("clearing an open sweep: %w", err)
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		_, err := s.service.NewClient(s.name(dirtyTable)).DeleteEntity(ctx, sweepPartition, row, nil)
		return err
	})
	if f := readFault(err); f != nil && f.missing() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clearing open sweep %q: %w", row, err)
	}
	return nil
}
