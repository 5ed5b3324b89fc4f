package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"isochrone/sweep/answers"
	"isochrone/sweep/svg"
	"isochrone/sweep/tables"
)

// draw draws each statistic of each matrix as cells with their numbers.
func (v matrixView) draw() []byte {
	simulated := false
	var names []string
	for _, m := range v.matrices {
		names = append(names, fmt.Sprintf("probe %s over path %s", m.Probe, m.Path))
		for i := range m.Cells {
			simulated = simulated || m.Cells[i].Simulated
		}
	}
	environment := v.matrices[0].Environment
	c := svg.Begin(svg.Head{Title: "Newest runs between all probers",
		About:     fmt.Sprintf("The newest run of every pair, sources by targets, in environment %s: %s.", environment, strings.Join(names, ", ")),
		Lines:     []string{fmt.Sprintf("environment %s, asked at %s", environment, stamp(v.now))},
		Simulated: simulated})
	for _, m := range v.matrices {
		v.drawMatrix(c, m)
	}
	return c.Bytes()
}

func (v matrixView) drawMatrix(c *svg.Canvas, m *answers.Matrix) {
	if len(m.Cells) == 0 {
		c.Heading(fmt.Sprintf("probe %s over path %s", m.Probe, m.Path))
		c.Lines("", "no pair is measured")
		return
	}
	for _, stat := range v.shown(m) {
		c.Heading(fmt.Sprintf("%s, probe %s over path %s", describeStatistic(stat), m.Probe, m.Path))
		c.Grid(matrixGrid(m, stat))
		c.Lines("soft", shadeText(m, stat))
	}
	var below bytes.Buffer
	v.summary(&below, m)
	for line := range strings.Lines(below.String()) {
		c.Lines("soft", strings.TrimSuffix(line, "\n"))
	}
	for _, of := range v.legend(m, false) {
		c.Lines("soft", of[0]+": "+of[1])
	}
}

func matrixGrid(m *answers.Matrix, stat answers.Statistic) svg.Grid {
	sources, targets := ends(m)
	low, high, _ := shades(m, stat)
	return svg.Grid{Rows: sources, Columns: targets, RowTitle: "from", ColumnTitle: "to", MinWide: 64, Box: func(row, column int) svg.Box {
		is, ok := m.Cell(sources[row], targets[column])
		if !ok {
			return svg.Box{} // the probe does not measure the pair
		}
		text := strings.TrimSpace(matrixEntry(is, m.Kind, stat, len(markDegraded+markOlder)).text)
		box := svg.Box{Class: "cell", Text: text, Says: describeCell(is, stat, text)}
		switch value := is.Value(stat); {
		case is.State == answers.Missing || is.State == answers.Failed:
			box.Class = "fault"
		case value == nil:
			box.Class = "none"
		case high > low:
			box.Shade = (*value - low) / (high - low)
		}
		return box
	}}
}

// shades are the smallest and the largest figure of a matrix.
func shades(m *answers.Matrix, stat answers.Statistic) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range m.Cells {
		if value := m.Cells[i].Value(stat); m.Cells[i].State == answers.Measured && value != nil {
			low, high, ok = math.Min(low, *value), math.Max(high, *value), true
		}
	}
	return low, high, ok
}

func shadeText(m *answers.Matrix, stat answers.Statistic) string {
	low, high, ok := shades(m, stat)
	if !ok {
		return "no data"
	}
	u := unitOf(stat)
	return fmt.Sprintf("pale: %s %s, full: %s %s; outlined: no result; pointed at, a cell says its interval at 95 %% and n", u.show(&low), u.heading, u.show(&high), u.heading)
}

// describeCell says a cell in a line.
func describeCell(c *answers.Cell, stat answers.Statistic, text string) string {
	out := fmt.Sprintf("%s: %s", pairName(c.Source, c.Target), text)
	if c.State != answers.Measured || c.Value(stat) == nil {
		return out
	}
	u := unitOf(stat)
	out += " " + u.heading
	low, high := c.LossLow, c.LossHigh
	switch stat {
	case answers.P50:
		low, high = rangeEnds(c.P50Range)
	case answers.P90:
		low, high = rangeEnds(c.P90Range)
	case answers.P99:
		low, high = rangeEnds(c.P99Range)
	case answers.Loss:
	default:
		low, high = nil, nil
	}
	if low != nil && high != nil {
		out += fmt.Sprintf(" (%s to %s)", u.show(low), u.show(high))
	}
	return out + fmt.Sprintf(", n = %s, slot %s", count(c.N), stamp(c.Slot))
}

func rangeEnds(r tables.Range) (low, high *float64) { return r.LowUS, r.HighUS }
