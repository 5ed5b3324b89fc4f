package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"isochrone/sweep/config"
	"isochrone/sweep/reply"
	"isochrone/sweep/svg"
)

// draw draws how long a seed takes by the hour at which it begins, against the window, and the other figures as text.
func (v recoveryView) draw() []byte {
	window := spanText(v.WindowS)
	c := svg.Begin(svg.Head{Title: fmt.Sprintf("A copy from %s to %s", v.Source, v.Target),
		About: fmt.Sprintf("How long a seed of %s takes by the hour of the day at which it begins, against a window of %s, over path %s in environment %s, from %s to %s.",
			config.FormatBytes(int64(v.SizeBytes)), window, v.Path, v.Environment, stamp(v.Since), stamp(v.Until)),
		Lines: []string{fmt.Sprintf("over path %s, environment %s, %s to %s", v.Path, v.Environment, stamp(v.Since), stamp(v.Until)),
			fmt.Sprintf("changes at %s; a seed of %s within %s; an outage of %s", rateText(v.ChangeBPS), config.FormatBytes(int64(v.SizeBytes)), window, spanText(v.OutageS)),
			fmt.Sprintf("n = %s with throughput, %s of probe %s; intervals at 95 %%", plural(v.Throughput.N, "hour", "hours"), plural(v.Commit.N, "round trip", "round trips"), v.Probe)},
		Simulated: v.Simulated})
	v.drawSeed(c, window)
	c.Heading("Figures")
	for _, row := range v.figures().rows {
		c.Lines("", figureLine(row))
	}
	for _, f := range v.Findings {
		c.Space()
		c.Lines("", "note: "+f.Text)
	}
	return c.Bytes()
}

// figureLine is a figure with its unit and interval in a line.
func figureLine(row []cell) string {
	if row[2].text == absent {
		return row[0].text + ": " + absent
	}
	line := row[0].text + ": " + strings.TrimSpace(row[2].text+" "+row[1].text)
	if from, to := row[3].text, row[4].text; from != to || from != absent && from != "" {
		line += fmt.Sprintf(" (%s to %s)", from, to)
	}
	return line
}

func (v recoveryView) drawSeed(c *svg.Canvas, window string) {
	const hour = 3600.0
	longest, known := v.WindowS/hour, false
	least, most := math.MaxInt, 0
	x := svg.Axis{Bare: true, Scale: svg.Scale{FromValue: 0, ToValue: 24}, Title: "hour of the day at which the seed begins, UTC; below: whether it is done within " + window}
	for i := range v.Seed {
		s := &v.Seed[i]
		if s.Seconds != nil {
			longest, known = math.Max(longest, *s.Seconds/hour), true
		}
		least, most = min(least, s.N), max(most, s.N)
		x.Ticks = append(x.Ticks, svg.Tick{Value: float64(s.StartHour) + 0.5, Label: fmt.Sprintf("%02d", s.StartHour), Below: fitsWord(s)})
	}
	if !known {
		c.Space()
		c.Lines("", "how long a seed takes is not known: throughput was not measured in the hours of the day that it needs")
		return
	}
	f := c.Plot(x, svg.NumberAxis("takes, h", 0, longest*1.08, 6), 200)
	for i := range v.Seed {
		v.drawStart(c, f, &v.Seed[i])
	}
	c.Threshold(f, v.WindowS/hour, "window "+window)
	of := plural(most, "measured hour", "measured hours")
	if least != most {
		of = fmt.Sprintf("%d to %s", least, of)
	}
	c.Lines("soft", "filled: done within the window; outlined: not; each hour of the day is of "+of)
}

// drawStart draws the bar of one hour.
func (v recoveryView) drawStart(c *svg.Canvas, f svg.Frame, s *reply.RecoverySeed) {
	if s.Seconds == nil {
		return
	}
	hours := *s.Seconds / 3600
	left, right, top := f.X.At(float64(s.StartHour)+0.12), f.X.At(float64(s.StartHour)+0.88), f.Y.At(hours)
	class := "bar"
	if s.Fits != nil && !*s.Fits {
		class = "open"
	}
	c.Rect(left, top, right-left, f.Bottom-top, class, 1, fmt.Sprintf("%02d:00: %s h, within the window: %s, n = %s", s.StartHour, decimal(&hours, 1, 2), fitsWord(s), plural(s.N, "measured hour", "measured hours")))
	c.Text((left+right)/2, top-4, "middle halo", strconv.FormatFloat(hours, 'g', 3, 64))
}

func fitsWord(s *reply.RecoverySeed) string {
	if s.Fits == nil {
		return absent
	}
	return map[bool]string{true: "yes", false: "no"}[*s.Fits]
}
