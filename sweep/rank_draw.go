package main

import (
	"fmt"
	"strings"

	"isochrone/sweep/reply"
	"isochrone/sweep/svg"
)

// draw draws the places by their p95, with what is asked for, and says below why others do not satisfy.
func (v rankView) draw() []byte {
	c := svg.Begin(svg.Head{Title: "Places for a copy of " + v.From,
		About: fmt.Sprintf("The p95 of the round trip at the busiest hour from %s to each place over path %s, environment %s, from %s to %s, with its interval at 95 %%, and whether the place satisfies what is asked for. %d of %d do.",
			v.From, v.Path, v.Environment, stamp(v.Since), stamp(v.Until), v.satisfied(), len(v.Regions)),
		Lines: []string{fmt.Sprintf("over path %s, environment %s, %s to %s", v.Path, v.Environment, stamp(v.Since), stamp(v.Until)),
			"asked for: " + v.asked(), fmt.Sprintf("n = %s, %s satisfy", plural(len(v.Regions), "place", "places"), count(v.satisfied()))},
		Simulated: v.Simulated})
	if len(v.Regions) == 0 {
		c.Space()
		c.Lines("", "there is no other place")
		return c.Bytes()
	}
	rows := make([]svg.Dot, len(v.Regions))
	var why []string
	for i := range v.Regions {
		rows[i] = rankDot(&v.Regions[i])
		if r := &v.Regions[i]; len(r.WhyNot) > 0 {
			why = append(why, r.Target+": "+strings.Join(r.WhyNot, "; "))
		}
	}
	plot := svg.Dots{Rows: rows}
	const title = "p95 of the round trip at the busiest hour, ms"
	if v.P95BelowUS != nil {
		plot.Limit = scaled(v.P95BelowUS, 1e-3)
		plot.LimitText = fmt.Sprintf("below %s ms", milliseconds(v.P95BelowUS))
		plot.X = svg.AxisOf(title, rows, 0, *plot.Limit)
	} else {
		plot.X = svg.AxisOf(title, rows, 0)
	}
	c.Dots(plot)
	c.Lines("soft", "disc: satisfies; cross: does not; ring: not known; no mark: no p95 is known; whisker: its interval at 95 %")
	if len(why) > 0 {
		c.Heading("Why not")
		c.Lines("", why...)
	}
	return c.Bytes()
}

// asked says what places have to satisfy.
func (v rankView) asked() string {
	var out []string
	if v.P95BelowUS != nil {
		out = append(out, fmt.Sprintf("p95 below %s ms", milliseconds(v.P95BelowUS)))
	}
	if v.MinKM != nil {
		out = append(out, fmt.Sprintf("%s km away at least", decimal(v.MinKM, 1, 0)))
	}
	if v.ThroughputBPS != nil {
		out = append(out, "throughput above "+rateText(*v.ThroughputBPS))
	}
	if v.SameGeography {
		out = append(out, "the same geography")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

func rankDot(r *reply.RankedRegion) svg.Dot {
	row := svg.Dot{Label: r.Target, Value: scaled(r.P95US, 1e-3), Low: scaled(r.P95LowUS, 1e-3), High: scaled(r.P95HighUS, 1e-3), Shape: svg.Ring}
	word := "not known"
	if r.Satisfies != nil && *r.Satisfies {
		word, row.Shape = "satisfies", svg.Disc
	} else if r.Satisfies != nil {
		word, row.Shape = "does not satisfy", svg.Cross
	}
	row.Text = word + ": no p95"
	if r.P95US != nil {
		row.Text = fmt.Sprintf("%s: %s ms", word, milliseconds(r.P95US))
	}
	if r.P95LowUS != nil || r.P95HighUS != nil {
		row.Text += fmt.Sprintf(" (%s to %s)", milliseconds(r.P95LowUS), milliseconds(r.P95HighUS))
	}
	if r.BusiestHour != nil {
		row.Text += fmt.Sprintf(" at %02d:00", *r.BusiestHour)
	}
	row.Text += ", n = " + count(r.N)
	row.Says = fmt.Sprintf("%s: %s, distance %s km, throughput %s Mbit/s of %s", r.Target, row.Text, decimal(r.DistanceKM, 1, 0), decimal(r.ThroughputBPS, 1e-6, 1), plural(r.ThroughputHours, "hour", "hours"))
	return row
}
