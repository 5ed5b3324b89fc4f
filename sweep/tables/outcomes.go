package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
)

// outcomeFields are the columns that tell what became of a run, and no figures.
var outcomeFields = some(rowFields, []string{"slot", "source", "target", "path", "probe", "failure", "assignment_id", "part", simulatedColumn})

var outcomeColumns = namesOf(outcomeFields)

// Outcomes reads what became of runs: rows with the series, slot, failure, assignment, part and mark of
// simulated ones, and nothing else. The order is that of Runs; the limit of the query does not count.
func (s *Store) Outcomes(ctx context.Context, q RunQuery) iter.Seq2[Row, error] {
	reading := func(err error) iter.Seq2[Row, error] {
		return failed[Row](fmt.Errorf("reading what became of runs: %w", err))
	}
	if err := q.validate(); err != nil {
		return reading(err)
	}
	filter, err := q.filter()
	if err != nil {
		return reading(err)
	}
	months, err := s.months(ctx, runsTables, q.Since, q.Until)
	if err != nil {
		return reading(err)
	}
	var each []iter.Seq2[Row, error]
	for _, table := range months {
		each = append(each, s.outcomes(ctx, table, filter))
	}
	if len(each) == 1 {
		return each[0]
	}
	return merge(each, keyOfRun)
}

func (s *Store) outcomes(ctx context.Context, table, filter string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for body, err := range s.scan(ctx, table, filter, 0, outcomeColumns...) {
			var r Row
			if err == nil {
				err = decode(body, outcomeFields, &r)
			}
			r.Series.Environment = s.environment
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Entries reads the ledger's entries of the slots in since <= slot < until, oldest slot first; of one
// source alone where it is not empty. Neither bound may be zero.
func (s *Store) Entries(ctx context.Context, source string, since, until time.Time) iter.Seq2[ledger.Entry, error] {
	reading := func(err error) iter.Seq2[ledger.Entry, error] {
		return failed[ledger.Entry](fmt.Errorf("reading the ledger's entries: %w", err))
	}
	if since.IsZero() || until.IsZero() {
		return reading(fmt.Errorf("%w: want since and until", ErrRefused))
	}
	prefix := entryPrefix
	if source != "" {
		if err := wire.ValidateName("source", source); err != nil {
			return reading(err)
		}
		prefix += source + "|"
	}
	months, err := s.months(ctx, sweepsTables, since, until)
	if err != nil {
		return reading(err)
	}
	filter := "PartitionKey ge '" + wire.SlotName(ceilMinute(since)) + "' and PartitionKey lt '" + wire.SlotName(ceilMinute(until)) + "' and " +
		keyRange{rowFrom: prefix, rowBefore: after(prefix)}.filter()
	var each []iter.Seq2[ledger.Entry, error]
	for _, table := range slices.Backward(months) {
		each = append(each, scanAs(ctx, s, table, filter, 0, entryFields))
	}
	return chain(each)
}
