package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"isochrone/sweep/reply"
	"isochrone/sweep/svg"
)

const (
	trendHigh = 260.0 // pixels of the plot
	trendFew  = 0.001 // of the hours lie above the drawing: one spike must not flatten the rest
	halfHour  = 1800.0
)

// draw draws the hours: the median, the least round trip since the last reroute, and where the level changed.
func (v trendView) draw() []byte {
	o := v.object
	c := svg.Begin(svg.Head{Title: fmt.Sprintf("Round trip from %s to %s", o.Series.Source, o.Series.Target),
		About: fmt.Sprintf("Hourly medians of probe %s over path %s in environment %s, from %s to before %s: %d of %d hours have data, the others are gaps. %d changes of level.",
			o.Series.Probe, o.Series.Path, o.Environment, stamp(o.Since), stamp(o.Until), o.HoursWithData, o.HoursInWindow, len(o.Changes)),
		Lines:     []string{fmt.Sprintf("probe %s over %s, n = %s round trips in %s of %s hours", o.Series.Probe, o.Series.Path, count(*o.RestsOn.Samples), count(o.HoursWithData), count(o.HoursInWindow))},
		Simulated: o.Simulated})
	low, high, ok := drawnRange(o.Hours)
	if !ok {
		c.Space()
		c.Lines("", "no data")
		return c.Bytes()
	}
	f := c.Plot(svg.TimeAxis("hour, UTC", o.Since, o.Until), svg.NumberAxis("p50 of the hour, ms", low/1000, high/1000, 6), trendHigh)
	place := func(h *reply.TrendHour, us float64) svg.At {
		return svg.At{X: f.X.At(float64(h.T.Unix()) + halfHour), Y: math.Max(f.Y.At(us/1000), f.Top)}
	}
	c.Path(unbroken(o.Hours, func(h *reply.TrendHour) *float64 { return h.BaselineUS }, place), "second")
	c.Path(unbroken(o.Hours, func(h *reply.TrendHour) *float64 { return h.P50US }, place), "line")
	for _, change := range o.Changes {
		x := f.X.At(float64(change.T.Unix()))
		c.Line(x, f.Top, x, f.Bottom, "mark")
		c.Text(x+4, f.Top+12, "soft halo", change.Kind)
	}
	c.Lines("soft", "solid: p50 of the hour; dashed: least of the trailing 28 days since the last reroute; upright: a change of level")
	return c.Bytes()
}

// unbroken are lines through hours that follow each other; a missing one is a gap.
func unbroken(hours []reply.TrendHour, of func(*reply.TrendHour) *float64, place func(*reply.TrendHour, float64) svg.At) (out [][]svg.At) {
	var last time.Time
	for i := range hours {
		h := &hours[i]
		v := of(h)
		if v == nil {
			continue
		}
		if last.IsZero() || h.T.Sub(last) > time.Hour {
			out = append(out, nil)
		}
		last = h.T
		out[len(out)-1] = append(out[len(out)-1], place(h, *v))
	}
	return out
}

// drawnRange is from the least baseline to nearly the largest median, µs.
func drawnRange(hours []reply.TrendHour) (low, high float64, ok bool) {
	var medians []float64
	low = math.Inf(1)
	for i := range hours {
		h := &hours[i]
		if h.P50US == nil {
			continue
		}
		medians = append(medians, *h.P50US)
		low = min(low, *h.P50US)
		if h.BaselineUS != nil {
			low = min(low, *h.BaselineUS)
		}
	}
	if len(medians) == 0 {
		return 0, 0, false
	}
	slices.Sort(medians)
	return low, medians[len(medians)-1-int(float64(len(medians))*trendFew)], true
}
