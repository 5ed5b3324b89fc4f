package svg

import (
	"math"
	"time"
)

// Axis is a direction of a plot. Its title has the unit.
type Axis struct {
	Scale
	Title string
	Ticks []Tick
	Bare  bool // without rules at the ticks
}

// Tick is a place on an axis with its label.
type Tick struct {
	Value float64
	Label string
	Below string // a second line of the label
}

// NumberAxis ends at round values around two others.
func NumberAxis(title string, low, high float64, about int) Axis {
	s, step := Scale{FromValue: low, ToValue: high}.Widened(about)
	a := Axis{Scale: s, Title: title}
	for _, v := range s.Ticks(step) {
		a.Ticks = append(a.Ticks, Tick{Value: v, Label: Label(v, step)})
	}
	return a
}

// TimeAxis is in Unix seconds, from since to until.
func TimeAxis(title string, since, until time.Time) Axis {
	a := Axis{Scale: Scale{FromValue: float64(since.Unix()), ToValue: float64(until.Unix())}, Title: title}
	ticks := TimeTicks(since, until)
	every := 1 + len(ticks)/15
	for i := 0; i < len(ticks); i += every {
		a.Ticks = append(a.Ticks, Tick{Value: float64(ticks[i].Time.Unix()), Label: ticks[i].Label})
	}
	return a
}

// placed is the axis from one coordinate to another.
func (a Axis) placed(from, to float64) Axis {
	a.FromAt, a.ToAt = from, to
	return a
}

// Frame is where a plot lies.
type Frame struct {
	X, Y                     Scale
	Left, Right, Top, Bottom float64
}

// Plot draws the axes of a plot of a height below what is drawn, with rules at the ticks, and says where values are.
func (c *Canvas) Plot(x, y Axis, height float64) Frame {
	labels := make([]string, len(y.Ticks))
	for i, t := range y.Ticks {
		labels[i] = t.Label
	}
	c.foot += 24
	c.Text(margin, c.foot, "soft", y.Title)
	f := Frame{Left: margin + math.Max(widest(labels, 120), 24) + 8, Right: sheetWidth - margin, Top: c.foot + 12}
	f.Bottom = f.Top + height
	y = y.placed(f.Bottom, f.Top)
	for _, t := range y.Ticks {
		c.Line(f.Left, y.At(t.Value), f.Right, y.At(t.Value), "rule")
		c.Text(f.Left-6, y.At(t.Value)+4, "soft end", t.Label)
	}
	x = c.across(x, f.Left, f.Right, f.Top, f.Bottom)
	f.X, f.Y = x.Scale, y.Scale
	return f
}

// across draws an axis under a plot, with rules up to its top and its title below. Labels without room are left out.
func (c *Canvas) across(x Axis, left, right, top, bottom float64) Axis {
	x = x.placed(left, right)
	foot, free := bottom+lineHigh, math.Inf(-1) // from where on a label has room
	for _, t := range x.Ticks {
		at := x.At(t.Value)
		if !x.Bare {
			c.Line(at, top, at, bottom, "rule")
		}
		if wide := Width(t.Label); at-wide/2 >= free {
			c.Text(at, bottom+lineHigh, "soft middle", t.Label)
			free = at + wide/2 + letter
		}
		if t.Below != "" {
			foot = bottom + 2*lineHigh
			c.Text(at, foot, "middle", t.Below)
		}
	}
	c.foot = foot + lineHigh + 2
	c.Text((left+right)/2, c.foot, "soft middle", x.Title)
	c.foot += 4
	c.need(int(right+margin), c.foot+12)
	return x
}

// Threshold is a dashed line at a value of a plot's upward axis; what it is stands above the plot.
func (c *Canvas) Threshold(f Frame, value float64, text string) {
	y := f.Y.At(value)
	c.Line(f.Left, y, f.Right, y, "limit")
	c.Text(f.Right, f.Top-12, "end strong", "dashed: "+text)
}
