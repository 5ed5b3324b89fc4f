package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// AddSimulated stores simulated results in runs where there is no row yet, expired ones too. A row that
// exists stays, whatever it is: nothing that was measured gives way to what was made up. A result without
// the mark is refused.
func (s *Store) AddSimulated(ctx context.Context, rs []result.Result) error {
	for i := range rs {
		if !rs[i].Provenance.Simulated {
			return fmt.Errorf("storing a simulated run of %s: %w: it is not marked as simulated", rs[i].Series, ErrRefused)
		}
	}
	return s.putRuns(ctx, rs, aztables.TransactionTypeAdd, s.add)
}

// FirstMeasured looks for a run without the mark of simulated ones, and says which series it is of and at
// which slot; found is false where every run is simulated, or there is none. It reads keys and marks
// alone, and no more than it must.
func (s *Store) FirstMeasured(ctx context.Context) (series wire.Series, slot time.Time, found bool, err error) {
	names, err := s.existing(ctx, runsTables)
	if err != nil {
		return series, slot, false, fmt.Errorf("looking for measured runs: %w", err)
	}
	slices.Sort(names)
	for _, table := range names {
		for body, err := range s.scan(ctx, table, "", 0, "slot", "source", "target", "path", "probe", simulatedColumn) {
			var r Row
			if err == nil {
				err = decode(body, measuredFields, &r)
			}
			if err != nil {
				return series, slot, false, fmt.Errorf("looking for measured runs: %w", err)
			}
			if !r.Simulated {
				r.Series.Environment = s.environment
				return r.Series, r.Slot, true, nil
			}
		}
	}
	return series, slot, false, nil
}

// measuredFields are what FirstMeasured reads.
var measuredFields = some(rowFields, []string{"slot", "source", "target", "path", "probe", simulatedColumn})
