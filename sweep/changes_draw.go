package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"isochrone/sweep/reply"
	"isochrone/sweep/svg"
)

// draw draws a row a change, series by series, at its time.
func (v changesView) draw() []byte {
	o := v.object
	c := svg.Begin(svg.Head{Title: "Changes of level",
		About: fmt.Sprintf("Changes of level of the round trip by series and time, from %s to before %s, in environment %s: %d in %d series.", stamp(o.Since), stamp(o.Until), o.Environment, len(o.Changes), o.Series),
		Lines: []string{fmt.Sprintf("environment %s, from %s to before %s", o.Environment, stamp(o.Since), stamp(o.Until)),
			fmt.Sprintf("n = %s in %s, of %s and %s; looked at from 28 days before on", plural(len(o.Changes), "change", "changes"), plural(o.Series, "series", "series"),
				plural(*o.RestsOn.Hours, "hour", "hours"), plural(*o.RestsOn.Samples, "sample", "samples"))},
		Simulated: o.Simulated})
	if len(o.Changes) == 0 {
		c.Space()
		c.Lines("", "no level has changed")
		return c.Bytes()
	}
	changes := slices.Clone(o.Changes)
	slices.SortStableFunc(changes, func(a, b reply.SeriesChange) int {
		return cmp.Or(cmp.Compare(changedSeries(&a), changedSeries(&b)), a.T.Compare(b.T))
	})
	rows := make([]svg.Dot, len(changes))
	for i := range changes {
		rows[i] = changeRow(&changes[i])
		if i > 0 && changedSeries(&changes[i]) == changedSeries(&changes[i-1]) {
			rows[i].Label = ""
		}
	}
	c.Dots(svg.Dots{Rows: rows, X: svg.TimeAxis("first hour of the new level, UTC", o.Since, o.Until)})
	c.Lines("soft", "at the end of a row: the median of the hours before → after, in ms; triangle up: slower, down: quicker; p of the test that found it")
	return c.Bytes()
}

func changedSeries(c *reply.SeriesChange) string {
	return pairName(c.Source, c.Target) + ", " + c.Path + ", " + c.Probe
}

func changeRow(c *reply.SeriesChange) svg.Dot {
	at := float64(c.T.Unix())
	row := svg.Dot{Label: changedSeries(c), Value: &at, Shape: svg.Up,
		Text: fmt.Sprintf("%s → %s ms, %s, p %s", milliseconds(&c.BeforeUS), milliseconds(&c.AfterUS), c.Kind, pText(c.P))}
	if c.AfterUS < c.BeforeUS {
		row.Shape = svg.Down
	}
	if c.Simulated {
		row.Text += ", simulated"
	}
	row.Says = fmt.Sprintf("%s, %s: %s", row.Label, stamp(c.T), row.Text)
	return row
}

// The measures of a drawing of a file's levels.
const (
	levelsHigh    = 240.0
	levelsMedians = 400 // of stretches of lines, at the most
)

// draw draws the levels as steps over the medians of short stretches.
func (v changesFileView) draw() []byte {
	times := v.series.times
	since, until := slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	c := svg.Begin(svg.Head{Title: "Levels of " + v.name,
		About: fmt.Sprintf("Levels of the round trip between changes, and medians of short stretches, from %s to %s: %d changes in %d lines.", stamp(since), stamp(until), len(v.changes), len(times)),
		Lines: []string{fmt.Sprintf("from %s to %s%s", stamp(since), stamp(until), v.cadence()),
			fmt.Sprintf("n = %s; %s, %s missing", plural(len(v.changes), "change", "changes"), plural(len(times), "line", "lines"), count(v.series.missing))}})
	medians, low, high := v.stretches()
	if len(medians) == 0 {
		c.Space()
		c.Lines("", "no data: every round trip is missing")
		return c.Bytes()
	}
	for _, change := range v.changes {
		low, high = math.Min(low, math.Min(change.Before, change.After)), math.Max(high, math.Max(change.Before, change.After))
	}
	f := c.Plot(svg.TimeAxis("time, UTC", since, until), svg.NumberAxis("round trip, ms", low, high, 6), levelsHigh)
	for _, part := range medians {
		for i, at := range part {
			part[i] = svg.At{X: f.X.At(at.X), Y: f.Y.At(at.Y)}
		}
	}
	c.Path(medians, "faint")
	v.steps(c, f, since, until)
	c.Lines("soft", "thick: the level, a step is a change, pointed at it says from what to what; thin: the median of stretches of "+plural(v.stretch(), "line", "lines"))
	for i, change := range v.changes {
		if i == 8 {
			c.Lines("soft", fmt.Sprintf("and %s more: --format table has them", count(len(v.changes)-i)))
			break
		}
		c.Lines("", fmt.Sprintf("%s: %s → %s ms, p %s", stamp(change.Time), decimal(&change.Before, 1, 3), decimal(&change.After, 1, 3), pText(change.P)))
	}
	return c.Bytes()
}

// steps draws the level between each two changes, and a mark at each. Without changes the stretches are all there is.
func (v changesFileView) steps(c *svg.Canvas, f svg.Frame, since, until time.Time) {
	if len(v.changes) == 0 {
		return
	}
	at := func(t time.Time, ms float64) svg.At { return svg.At{X: f.X.At(float64(t.Unix())), Y: f.Y.At(ms)} }
	line := []svg.At{at(since, v.changes[0].Before)}
	for _, change := range v.changes {
		line = append(line, at(change.Time, change.Before), at(change.Time, change.After))
	}
	line = append(line, at(until, v.changes[len(v.changes)-1].After))
	c.Path([][]svg.At{line}, "level")
	for _, change := range v.changes {
		shape, place := svg.Up, at(change.Time, change.After)
		if change.After < change.Before {
			shape = svg.Down
		}
		c.Mark(place.X, place.Y, shape, fmt.Sprintf("%s: %s → %s ms, p %s", stamp(change.Time), decimal(&change.Before, 1, 3), decimal(&change.After, 1, 3), pText(change.P)))
	}
}

// stretch is of how many lines a stretch is.
func (v changesFileView) stretch() int {
	return (len(v.series.values) + levelsMedians - 1) / levelsMedians
}

// stretches are the medians of stretches, in Unix seconds and milliseconds, and the least and the largest. Where all
// of a stretch is missing there is a gap.
func (v changesFileView) stretches() (out [][]svg.At, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	gap := true
	n := v.stretch()
	for from := 0; from < len(v.series.values); from += n {
		to := min(from+n, len(v.series.values))
		var known []float64
		for _, ms := range v.series.values[from:to] {
			if !math.IsNaN(ms) {
				known = append(known, ms)
			}
		}
		if len(known) == 0 {
			gap = true
			continue
		}
		if gap {
			out, gap = append(out, nil), false
		}
		slices.Sort(known)
		median := known[(len(known)-1)/2]
		last := &out[len(out)-1]
		*last = append(*last, svg.At{X: float64(v.series.times[from+(to-from)/2].Unix()), Y: median})
		low, high = math.Min(low, median), math.Max(high, median)
	}
	return out, low, high
}
