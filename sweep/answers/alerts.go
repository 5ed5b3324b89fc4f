package answers

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/tables"
)

// AlertRows is where alerts are found. tables.Store satisfies it.
type AlertRows interface {
	Alerts(ctx context.Context, q tables.AlertQuery) iter.Seq2[tables.Alert, error]
}

// AlertQuery asks what was worth telling.
type AlertQuery struct {
	Kind tables.AlertKind // empty: all
	// Since and Until bound the time in which an alert lasted, a part of it at least.
	Since, Until time.Time
	Open         bool // only those that last
}

// longestAlert is how long before a time that is asked about an alert may have begun. Of those that began earlier
// none is found.
const longestAlert = 366 * 24 * time.Hour

// ReadAlerts answers which alerts there were, the newest first by when they were raised.
func ReadAlerts(ctx context.Context, rows AlertRows, q AlertQuery) ([]tables.Alert, error) {
	out := []tables.Alert{}
	for a, err := range rows.Alerts(ctx, tables.AlertQuery{Kind: q.Kind, Since: q.Since.Add(-longestAlert), Until: q.Until}) {
		if err != nil {
			return nil, fmt.Errorf("reading the alerts: %w", err)
		}
		lasts := a.Ended.IsZero()
		if q.Open && !lasts || !lasts && a.Ended.Before(q.Since) || !a.Raised.Before(q.Until) {
			continue
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b tables.Alert) int {
		return cmp.Or(b.Raised.Compare(a.Raised), cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Subject, b.Subject))
	})
	return out, nil
}
