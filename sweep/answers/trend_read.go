package answers

import (
	"context"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// ReadTrend answers what a series was like over a time. The configuration says where its ends are; without one, or
// without the prober in it, their clocks are not known.
func ReadTrend(ctx context.Context, from HourRows, c *config.Config, q SeriesQuery, now time.Time) (*Trend, error) {
	history, hours, err := readHistory(ctx, from, q, tables.FiguresAndHistograms, now)
	if err != nil {
		return nil, err
	}
	t := &Trend{History: history, Hours: make([]TrendHour, len(hours)), Place: placeOf(c, q.Source, q.Target)}
	for i := range hours {
		t.Hours[i] = trendHourOf(&hours[i])
	}
	t.Quantiles, _ = merge(hours)
	t.Clocks.Zones = zonesOf(c, q.Source, q.Target)
	return t, nil
}

// ReadHeatmap answers how far above its baseline a series was, by weekday and hour of a clock. A clock that nobody
// knows is an error, ErrNoClock.
func ReadHeatmap(ctx context.Context, from HourRows, c *config.Config, q SeriesQuery, clock Clock, now time.Time) (*Heatmap, error) {
	history, _, err := readHistory(ctx, from, q, tables.Levels, now)
	if err != nil {
		return nil, err
	}
	return &Heatmap{History: history, Clock: clock, Zone: "UTC"}, nil
}
