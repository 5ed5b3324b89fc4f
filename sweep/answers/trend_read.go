package answers

import (
	"context"
	"errors"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
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
	l := levelsOf(hours)
	t.Changes = l.changes
	t.put(l.baseline, func(h *TrendHour, v float64) { h.BaselineUS = &v })
	t.put(l.excess, func(h *TrendHour, v float64) { h.ExcessUS = &v })
	t.Slope = slopeOf(l.p50)
	t.Diurnal, t.DiurnalRefused = diurnalOf(l.p50)
	t.Clocks = clocksOf(l.p50, zonesOf(c, q.Source, q.Target))
	return t, nil
}

// put gives points to the hours that they are of. Both are in order.
func (t *Trend) put(points []trend.Point, into func(*TrendHour, float64)) {
	at := 0
	for _, p := range points {
		for at < len(t.Hours) && t.Hours[at].Begin.Before(p.Time) {
			at++
		}
		if at < len(t.Hours) && t.Hours[at].Begin.Equal(p.Time) {
			into(&t.Hours[at], p.Value)
		}
	}
}

// slopeOf is the slope of the hours' medians.
func slopeOf(p50 []trend.Point) *Slope {
	found, ok := trend.TrendOf(p50)
	if !ok {
		return nil
	}
	return &Slope{PerDay: found.Slope, P: found.P, N: found.N}
}

// diurnalOf looks for a daily rhythm in all points, or where these have gaps in those since the last one, if they
// are enough.
func diurnalOf(p50 []trend.Point) (*Diurnal, string) {
	found, err := trend.DiurnalOf(p50)
	if errors.Is(err, trend.ErrGaps) {
		for i := len(p50) - 1; i > 0; i-- {
			if p50[i].Time.Sub(p50[i-1].Time) > trend.DiurnalGap {
				if p50[len(p50)-1].Time.Sub(p50[i].Time) >= trend.DiurnalLeast-time.Hour {
					p50 = p50[i:]
					found, err = trend.DiurnalOf(p50)
				}
				break
			}
		}
	}
	if err != nil {
		return nil, err.Error()
	}
	class := DiurnalClass(trend.FontugneMS.Times(1000).Of(found))
	return &Diurnal{Daily: found.Daily, AmplitudeUS: found.Amplitude, Class: class, N: found.N, Since: p50[0].Time}, ""
}

// clocksOf are the hours of the day by the clocks that are known.
func clocksOf(p50 []trend.Point, zones Zones) Clocks {
	c := Clocks{Zones: zones, UTC: *spreads(trend.ByHour(p50, time.UTC))}
	for _, of := range []struct {
		zone string
		into **[24]HourSpread
	}{{zones.Source, &c.Source}, {zones.Target, &c.Target}} {
		if in, err := time.LoadLocation(of.zone); err == nil && of.zone != "" {
			*of.into = spreads(trend.ByHour(p50, in))
		}
	}
	return c
}

func spreads(of [24]trend.Spread) *[24]HourSpread {
	var out [24]HourSpread
	for i, s := range of {
		out[i] = spreadOf(s)
	}
	return &out
}

func spreadOf(s trend.Spread) HourSpread {
	if s.N == 0 {
		return HourSpread{}
	}
	return HourSpread{N: s.N, MedianUS: &s.Median, Q1US: s.Q1, Q3US: s.Q3}
}
