package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/svg"
)

// draw draws probers by hour or day: what is missing is dark, and each row ends with its counts.
func (v coverageView) draw() []byte {
	total := v.total()
	c := svg.Begin(svg.Head{Title: "Measured part of the planned runs",
		About: fmt.Sprintf("Which part of the planned runs was measured by prober and %s, in environment %s, slots from %s to before %s%s: %d of %d.", v.by, v.environment, stamp(v.query.Since), stamp(v.query.Until), v.filters(), total.Measured, total.Planned),
		Lines: []string{fmt.Sprintf("environment %s by %s, slots from %s to before %s%s", v.environment, v.by, stamp(v.query.Since), stamp(v.query.Until), v.filters()),
			fmt.Sprintf("n = %s planned: %s measured%s", plural(total.Planned, "run", "runs"), count(total.Measured), missingText(&total))},
		Simulated: v.coverage.Simulated})
	if len(v.coverage.Rows) == 0 {
		c.Space()
		c.Lines("", "no run was planned")
		return c.Bytes()
	}
	c.Grid(v.grid())
	c.Lines("soft", "in a cell: measured of planned runs, %, cut to a whole number; the darker, the more is missing; grey: nothing was planned; pointed at, each says its counts")
	for _, note := range v.coverage.Notes {
		c.Lines("", "note: "+note)
	}
	return c.Bytes()
}

// grid has the steps from the first row to the last.
func (v coverageView) grid() svg.Grid {
	type place struct {
		prober string
		from   int64
	}
	step, form := time.Hour, "15:04"
	if v.query.ByDay {
		step, form = 24*time.Hour, "01-02"
	}
	first, last := v.coverage.Rows[0].From, v.coverage.Rows[0].From
	counts, sums := map[place]coverCounts{}, map[string]*coverCounts{}
	g := svg.Grid{Sequence: true, MinWide: 40, RowTitle: "prober", ColumnTitle: v.by + " (UTC)"}
	for i := range v.coverage.Rows {
		r := &v.coverage.Rows[i]
		if sums[r.Prober] == nil {
			sums[r.Prober] = &coverCounts{}
			g.Rows = append(g.Rows, r.Prober)
		}
		n := countsOf(r)
		sums[r.Prober].add(n)
		counts[place{r.Prober, r.From.Unix()}] = n
		if r.From.Before(first) {
			first = r.From
		}
		if r.From.After(last) {
			last = r.From
		}
	}
	slices.Sort(g.Rows)
	var steps []time.Time
	for at := first; !at.After(last); at = at.Add(step) {
		name := at.UTC().Format(form)
		if !v.query.ByDay && (len(steps) == 0 || at.UTC().Hour() == 0) {
			name = at.UTC().Format("01-02")
		}
		steps, g.Columns = append(steps, at), append(g.Columns, name)
	}
	g.ColumnTitle += fmt.Sprintf(", from %s on", stampOf(first, v.by))
	for _, prober := range g.Rows {
		g.Ends = append(g.Ends, fmt.Sprintf("%s of %s%s", count(sums[prober].Measured), count(sums[prober].Planned), missingText(sums[prober])))
	}
	g.Box = func(row, column int) svg.Box {
		at := g.Rows[row] + " " + stampOf(steps[column], v.by)
		n, ok := counts[place{g.Rows[row], steps[column].Unix()}]
		return coverBox(at, &n, ok)
	}
	return g
}

func coverBox(at string, n *coverCounts, ok bool) svg.Box {
	if !ok || n.Planned == 0 {
		return svg.Box{Class: "none", Says: at + ": nothing was planned"}
	}
	share := float64(n.Measured) / float64(n.Planned)
	return svg.Box{Class: "cell", Shade: 1 - share, Text: fmt.Sprintf("%.0f", math.Floor(100*share)),
		Says: fmt.Sprintf("%s: %s of %s measured%s", at, count(n.Measured), count(n.Planned), missingText(n))}
}

// missingText counts what is not measured; nothing when all is.
func missingText(n *coverCounts) string {
	var out []string
	for _, of := range []struct {
		fate string
		runs int
	}{{"failed", n.Failed}, {"expired", n.Expired}, {"missed", n.Missed}, {"open", n.Open}, {"faults", n.faults()}} {
		if of.runs > 0 {
			out = append(out, fmt.Sprintf("%s %s", count(of.runs), of.fate))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(out, ", ")
}
