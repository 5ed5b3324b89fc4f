package answers

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"isochrone/sweep/tables"
)

// RunRows is where every run is found. tables.Store satisfies it.
type RunRows interface {
	Runs(ctx context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error]
}

// Runs are the newest runs that fit a question.
type Runs struct {
	// Rows are newest slot first, and by series within a slot.
	Rows []tables.Row
	// Total is how many runs fit; Rows holds fewer when there was a limit.
	Total int
}

// ReadRuns answers which runs fit the query. The limit holds for all series together; 0 means
// no limit. However many runs fit, no more than twice the limit are held at a time.
func ReadRuns(ctx context.Context, from RunRows, q tables.RunQuery) (*Runs, error) {
	limit := q.Limit
	q.Limit = 0 // the store's order is by series: its limit would cut the wrong ones, and the total with them
	out := &Runs{}
	for row, err := range from.Runs(ctx, q) {
		if err != nil {
			return nil, fmt.Errorf("reading runs: %w", err)
		}
		out.Total++
		out.Rows = append(out.Rows, row)
		if limit > 0 && len(out.Rows) >= 2*limit {
			out.keep(limit)
		}
	}
	out.keep(limit)
	return out, nil
}

func (r *Runs) keep(limit int) {
	slices.SortStableFunc(r.Rows, func(a, b tables.Row) int {
		return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(a.Series.String(), b.Series.String()), cmp.Compare(a.Part, b.Part))
	})
	if limit > 0 && len(r.Rows) > limit {
		clear(r.Rows[limit:]) // their histograms must not stay reachable
		r.Rows = r.Rows[:limit]
	}
}
