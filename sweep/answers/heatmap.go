package answers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// Clock says by whose clock a question is answered.
type Clock string

// The clocks.
const (
	ClockUTC    Clock = "utc"
	ClockSource Clock = "source"
	ClockTarget Clock = "target"
)

// ClockNames lists them in the order of the documentation.
func ClockNames() []Clock { return []Clock{ClockUTC, ClockSource, ClockTarget} }

// Heatmap is how far above its baseline a series was, by weekday and hour. Levels between changes are taken
// out, so that a step in mid-week does not paint that weekday.
type Heatmap struct {
	History
	Clock Clock
	Zone  string // IANA; "UTC"
	// Cells are by weekday, Monday first, and hour.
	Cells   [7][24]HourSpread
	Changes []Change
}

// ErrNoClock says that nobody knows the zone of the clock that was asked for.
var ErrNoClock = errors.New("its zone is not known: the end is no prober of the configuration, or its region is not in the catalog")

// ReadHeatmap answers how far above its baseline a series was, by weekday and hour of a clock. A clock that nobody
// knows is an error, ErrNoClock.
func ReadHeatmap(ctx context.Context, from HourRows, c *config.Config, q SeriesQuery, clock Clock, now time.Time) (*Heatmap, error) {
	m := &Heatmap{Clock: clock, Zone: "UTC"}
	switch zones := zonesOf(c, q.Source, q.Target); clock {
	case ClockSource:
		m.Zone = zones.Source
	case ClockTarget:
		m.Zone = zones.Target
	}
	in, err := time.LoadLocation(m.Zone)
	if err != nil || m.Zone == "" {
		return nil, fmt.Errorf("taking the %s's clock for %s: %w", clock, q, ErrNoClock)
	}
	history, hours, err := readHistory(ctx, from, q, tables.Levels, now)
	if err != nil {
		return nil, err
	}
	m.History = history
	l := levelsOf(hours)
	m.Changes = l.changes
	for day, of := range trend.ByWeekHour(trend.Detrend(l.excess, l.times(false)), in) {
		for hour, s := range of {
			m.Cells[day][hour] = spreadOf(s)
		}
	}
	return m, nil
}
