package main

import (
	"fmt"
	"slices"

	"isochrone/sweep/answers"
	"isochrone/sweep/svg"
	"isochrone/sweep/trend"
)

// draw draws each probe's differences with their intervals, and zero.
func (v pathsView) draw() []byte {
	c := svg.Begin(svg.Head{Title: fmt.Sprintf("Path %s less path %s", v.a, v.b),
		About:     fmt.Sprintf("Difference of the two paths in the same slot by pair, with its interval at 95 %%, and of all pairs together. An interval that leaves zero out is a difference. %s.", v.period()),
		Lines:     []string{v.period(), fmt.Sprintf("%s - %s in the same slot (Hodges-Lehmann) with the interval at 95 %% (Wilcoxon's signed ranks)", v.a, v.b)},
		Simulated: v.simulated()})
	if len(v.found.Probes) == 0 {
		c.Space()
		c.Lines("", fmt.Sprintf("no pair was measured over both %s and %s", v.a, v.b))
	}
	for i := range v.found.Probes {
		v.drawProbe(c, &v.found.Probes[i])
	}
	return c.Bytes()
}

func (v pathsView) drawProbe(c *svg.Canvas, p *answers.ProbeDifference) {
	u := unitOf(p.Statistic)
	c.Heading(fmt.Sprintf("probe %s, %s", p.Probe, describeCompared(p.Statistic)))
	var rows []svg.Dot
	add := func(name string, d *answers.PairDifference) *svg.Dot {
		row := u.dot(name, d.Difference)
		row.Text += ", n = " + plural(d.Slots, "slot", "slots")
		row.Says = fmt.Sprintf("%s: %s %s %s, %s %s %s; difference %s", name, v.a, u.show(d.MedianA), u.heading, v.b, u.show(d.MedianB), u.heading, row.Text)
		rows = append(rows, row)
		return &rows[len(rows)-1]
	}
	for i := range p.Pairs {
		add(pairName(p.Pairs[i].Source, p.Pairs[i].Target), &p.Pairs[i])
	}
	if len(p.Pairs) > 1 {
		add("all pairs", &p.All).Strong = true
	}
	c.Dots(svg.Dots{Rows: rows, X: svg.AxisOf(fmt.Sprintf("difference of %s, %s - %s, %s", p.Statistic, v.a, v.b, u.heading), rows, 0), Zero: true})
	c.Lines("soft", fmt.Sprintf("n = %s measured over both paths; left out: %s over %s alone, %s over %s alone", plural(p.All.Slots, "slot", "slots"), count(p.All.OnlyA), v.a, count(p.All.OnlyB), v.b))
	c.Lines("soft", noteFew(rows, "too few slots for an interval at 95 %: nothing can be told")...)
}

// draw draws the groups' medians with their intervals.
func (v groupsView) draw() []byte {
	u := unitOf(v.groups.Statistic)
	head := svg.Head{Title: "Runs by " + v.by, About: fmt.Sprintf("The median of each group with its interval at 95 %%, and its shift above the base. %s.", v.period()),
		Lines: []string{v.period()}, Simulated: v.groups.Simulated}
	if len(v.groups.Groups) > 0 {
		head.Title = fmt.Sprintf("Runs by %s: %s", v.by, describeCompared(v.groups.Statistic))
		head.Lines = append(head.Lines, "dot: the median of the runs with its interval at 95 %; shift: above "+visible(v.groups.Base)+" (Hodges-Lehmann), its interval at 95 % (Mann-Whitney)")
	}
	c := svg.Begin(head)
	if len(v.groups.Groups) == 0 {
		c.Space()
		c.Lines("", "no run fits")
		return c.Bytes()
	}
	var rows []svg.Dot
	for i := range v.groups.Groups {
		g := &v.groups.Groups[i]
		row := u.dot(g.Name, g.Median)
		n := 0
		if g.Median != nil {
			n = g.Median.N
		}
		row.Text += ", n = " + plural(n, "run", "runs")
		row.Strong = g.Name == v.groups.Base
		if row.Strong {
			row.Text += ", base"
		} else if g.Shift != nil {
			row.Text += "; shift " + u.interval(g.Shift)
		}
		row.Says = fmt.Sprintf("%s: %s; %d of %s failed", g.Name, row.Text, g.Failed, plural(g.Runs, "run", "runs"))
		rows = append(rows, row)
	}
	c.Dots(svg.Dots{Rows: rows, X: svg.AxisOf(fmt.Sprintf("%s, %s", describeCompared(v.groups.Statistic), u.heading), rows)})
	c.Lines("soft", noteFew(rows, "too few runs for an interval at 95 %: nothing can be told")...)
	return c.Bytes()
}

// dot is an estimate as a row of a plot.
func (u unit) dot(name string, e *trend.Estimate) svg.Dot {
	row := svg.Dot{Label: name, Text: u.interval(e), Shape: svg.Ring}
	if e == nil {
		return row
	}
	row.Value, row.Low, row.High = u.scaled(&e.Value), u.scaled(e.Low), u.scaled(e.High)
	if row.Low != nil && row.High != nil {
		row.Shape = svg.Disc
	}
	return row
}

// interval is an estimate in a line.
func (u unit) interval(e *trend.Estimate) string {
	switch {
	case e == nil:
		return absent
	case e.Low == nil || e.High == nil:
		return u.show(&e.Value) + " " + u.heading + " (" + wordFew + ")"
	}
	return fmt.Sprintf("%s %s (%s to %s)", u.show(&e.Value), u.heading, u.show(e.Low), u.show(e.High))
}

func (u unit) scaled(v *float64) *float64 { return scaled(v, u.factor) }

// scaled is a figure in another unit.
func scaled(v *float64, factor float64) *float64 {
	if v == nil {
		return nil
	}
	out := *v * factor
	return &out
}

// pairName is a source and a target in a drawing.
func pairName(source, target string) string { return source + " → " + target }

// noteFew explains the rings of a plot, where it has any.
func noteFew(rows []svg.Dot, meaning string) []string {
	if slices.ContainsFunc(rows, func(r svg.Dot) bool { return r.Value != nil && r.Shape == svg.Ring }) {
		return []string{"ring, " + wordFew + ": " + meaning}
	}
	return nil
}
