package tables

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// The partitions of the dirty table.
const (
	hourPartition  = "hour"
	dayPartition   = "day"
	sweepPartition = "sweep"
)

// mark says that rows of a source changed in an hour or on a day.
type mark struct {
	Source string
	Begin  time.Time
}

var dirtyFields = []field[mark]{
	text("source", "prober whose rows changed", func(m *mark) *string { return &m.Source }),
	instant("begin", "first instant of the hour or day", func(m *mark) *time.Time { return &m.Begin }),
}

// MarkDirty marks the hours and days that results lie in as changed, so that what is computed
// from them is computed again. Foreign results mark the hour alone: a day's lake file holds none of
// theirs. Rows are written before it is called; a mark that exists gets a
// new ETag, so that whoever read the rows before cannot clear it. Calls at the same time are
// written together.
func (s *Store) MarkDirty(ctx context.Context, rs []result.Result) error {
	ops, err := s.marksOf(rs)
	if err == nil && len(ops) > 0 {
		err = s.marks.write(ctx, ops, func(ctx context.Context, ops []operation) error { return s.write(ctx, s.name(dirtyTable), ops) })
	}
	if err != nil {
		return fmt.Errorf("marking what changed: %w", err)
	}
	return nil
}

// marksOf are the marks of results, each once.
func (s *Store) marksOf(rs []result.Result) ([]operation, error) {
	seen := map[string]bool{}
	var ops []operation
	for i := range rs {
		if err := s.checkResult(&rs[i]); err != nil {
			return nil, err
		}
		source := rs[i].Series.Source
		if err := wire.ValidateName("source", source); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		hour := rs[i].Slot.UTC().Truncate(time.Hour)
		for _, m := range []struct {
			partition, form string
			begin           time.Time
		}{{hourPartition, "20060102T15", hour}, {dayPartition, "20060102", hour.Truncate(24 * time.Hour)}} {
			row := join(source, m.begin.Format(m.form))
			if seen[row] || m.partition == dayPartition && strings.HasPrefix(rs[i].Series.Probe, wire.ForeignPrefix) {
				continue
			}
			seen[row] = true
			partition, row, err := checked(m.partition, row)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrRefused, err)
			}
			e, err := encode(partition, row, dirtyFields, &mark{source, m.begin})
			if err != nil {
				return nil, err
			}
			ops = append(ops, operation{entity: e, kind: aztables.TransactionTypeInsertReplace})
		}
	}
	return ops, nil
}
