package answers

import (
	"context"
	"time"

	"isochrone/prober/wire"
)

// ChangesQuery asks where series got another level. Empty names stand for all.
type ChangesQuery struct {
	Source, Target, Path, Probe string
	// Since and Until bound the changes. To tell a new level from the old one the 28 days before Since are read too.
	Since, Until time.Time
	// After leaves out all series up to this one, in the order of ChangesPage; empty begins with the first.
	After string
	// MostSeries is how many series one page looks at; 0 is all.
	MostSeries int
}

// SeriesChange is a change of one series.
type SeriesChange struct {
	Series wire.Series
	Change
	Simulated bool
}

// ChangesPage is the changes of some series, by series, oldest first.
type ChangesPage struct {
	Changes []SeriesChange
	// Series is how many series were looked at, and Short how many of them have too few hours.
	Series, Short int
	Rests         Rests
	// Next is where the next page begins; empty at the end.
	Next string
}

// SeriesHours is where the series of a source are found, and their hours. tables.Store satisfies it.
type SeriesHours interface {
	HourRows
	SeriesOf(ctx context.Context, source string) ([]wire.Series, error)
}

// ReadChanges answers where the series of sources got another level. A page looks at the series after q.After.
func ReadChanges(ctx context.Context, from SeriesHours, sources []string, q ChangesQuery, now time.Time) (*ChangesPage, error) {
	return &ChangesPage{}, nil
}
