package main

import (
	"fmt"

	"isochrone/sweep/svg"
)

// draw draws the cells; pointed at, each says its figures.
func (v heatmapView) draw() []byte {
	o := v.object
	low, most, few, ok := v.limits()
	c := svg.Begin(svg.Head{Title: fmt.Sprintf("Hours of the week, %s to %s", o.Series.Source, o.Series.Target),
		About: fmt.Sprintf("Excess over what was usual by weekday and hour, by the clock of %s (%s), probe %s over path %s in environment %s, from %s to before %s, of %d hours.",
			o.Clock, o.Zone, o.Series.Probe, o.Series.Path, o.Environment, stamp(o.Since), stamp(o.Until), o.HoursWithData),
		Lines:     []string{fmt.Sprintf("median excess over what was usual, ms; probe %s over %s, %s of %s hours", o.Series.Probe, o.Series.Path, count(o.HoursWithData), count(o.HoursInWindow))},
		Simulated: o.Simulated})
	numbers := v.numbers().rows
	grid := svg.Grid{Rows: weekdays[:], RowTitle: "day", ColumnTitle: "hour of the day, clock of " + o.Zone, Sequence: true, MinWide: 37}
	for hour := range 24 {
		grid.Columns = append(grid.Columns, fmt.Sprintf("%02d", hour))
	}
	grid.Box = func(day, hour int) svg.Box {
		is, at := v.cell(day, hour), fmt.Sprintf("%s %02d:00", weekdays[day], hour)
		if is.MedianExcessUS == nil {
			return svg.Box{Class: "none", Says: at + ": no data"}
		}
		box := svg.Box{Class: "cell", Text: numbers[day][hour+1].text,
			Says: fmt.Sprintf("%s: %s ms (quartiles %s to %s), n = %d hours", at, signed(is.MedianExcessUS), signed(is.Q1US), signed(is.Q3US), is.N)}
		if most > low {
			box.Shade = (*is.MedianExcessUS - low) / (most - low)
		}
		return box
	}
	c.Grid(grid)
	legend := "no data"
	if ok {
		legend = fmt.Sprintf("pale: %s ms, full: %s ms; a cell is of %d hours at least; grey: no data", signed(&low), signed(&most), few)
	}
	c.Lines("soft", legend)
	return c.Bytes()
}
