package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"isochrone/sweep/reply"
	"isochrone/sweep/svg"
)

// The measures of a drawing of a series, in pixels.
const (
	drawWidth, drawHeight         = 960, 360
	drawLeft, drawRight           = 60.0, 940.0
	drawTop, drawBottom           = 56.0, 316.0
	drawTicks                     = 6
	drawFew                       = 0.001 // of the hours lie above the drawing: one spike must not flatten the rest
	secondsOfHour         float64 = 3600
)

// draw draws the hours: the median, the least round trip since the last reroute, and where the level changed.
func (v trendView) draw() []byte {
	o := v.object
	title := fmt.Sprintf("Round trip from %s to %s", o.Series.Source, o.Series.Target)
	about := fmt.Sprintf("Hourly medians of probe %s over path %s in environment %s, from %s to before %s: %d of %d hours have data, the others are gaps. %d changes of level.",
		o.Series.Probe, o.Series.Path, o.Environment, stamp(o.Since), stamp(o.Until), o.HoursWithData, o.HoursInWindow, len(o.Changes))
	if o.Simulated {
		about += " Simulated."
	}
	c := svg.New(drawWidth, drawHeight, title, about)
	c.Text(drawLeft, 22, "title", title)
	c.Text(drawLeft, 40, "soft", fmt.Sprintf("ms, hourly p50; probe %s over %s, n = %s round trips in %s of %s hours", o.Series.Probe, o.Series.Path, count(*o.RestsOn.Samples), count(o.HoursWithData), count(o.HoursInWindow)))
	if o.Simulated {
		c.Text(drawRight, 22, "alarm end", "SIMULATED")
	}
	across := svg.Scale{FromValue: float64(o.Since.Unix()), ToValue: float64(o.Until.Unix()), FromAt: drawLeft, ToAt: drawRight}
	for _, tick := range svg.TimeTicks(o.Since, o.Until) {
		x := across.At(float64(tick.Time.Unix()))
		c.Line(x, drawTop, x, drawBottom, "rule")
		c.Text(x, drawBottom+18, "soft middle", tick.Label)
	}
	low, high, ok := drawnRange(o.Hours)
	if !ok {
		c.Text((drawLeft+drawRight)/2, (drawTop+drawBottom)/2, "middle", "no data")
		return c.Bytes()
	}
	up, step := svg.Scale{FromValue: low / 1000, ToValue: high / 1000, FromAt: drawBottom, ToAt: drawTop}.Widened(drawTicks)
	for _, tick := range up.Ticks(step) {
		c.Line(drawLeft, up.At(tick), drawRight, up.At(tick), "rule")
		c.Text(drawLeft-6, up.At(tick)+4, "soft end", svg.Label(tick, step))
	}
	place := func(h *reply.TrendHour, us float64) svg.At {
		return svg.At{X: across.At(float64(h.T.Unix()) + secondsOfHour/2), Y: math.Max(up.At(us/1000), drawTop)}
	}
	c.Path(unbroken(o.Hours, func(h *reply.TrendHour) *float64 { return h.BaselineUS }, place), "second")
	c.Path(unbroken(o.Hours, func(h *reply.TrendHour) *float64 { return h.P50US }, place), "line")
	for _, change := range o.Changes {
		x := across.At(float64(change.T.Unix()))
		c.Line(x, drawTop, x, drawBottom, "mark")
		c.Text(x+4, drawTop+12, "soft", change.Kind)
	}
	c.Text(drawLeft, drawHeight-8, "soft", "solid: p50 of the hour; dashed: least of the trailing 28 days since the last reroute; upright: a change of level; times are UTC")
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
	return low, medians[len(medians)-1-int(float64(len(medians))*drawFew)], true
}
