package svg

import "math"

// Shape is what stands at a value, so that colour is never all that tells.
type Shape int

// The shapes.
const (
	Disc  Shape = iota
	Ring        // not sure, or not known
	Cross       // not satisfied
	Up          // a triangle: more than before
	Down        // a triangle: less than before
)

// Dot is a row of a dot plot: a value with the ends of its interval.
type Dot struct {
	Label            string
	Value, Low, High *float64 // nil is not known, and not drawn
	Shape            Shape
	Strong           bool   // stands for the others together
	Text             string // at the end of the row: the figures, n
	Says             string // when it is pointed at
}

// Dots is a dot-and-whisker plot: a row a value.
type Dots struct {
	Rows      []Dot
	X         Axis
	Zero      bool     // draw a line at zero
	Limit     *float64 // draw a line at a limit
	LimitText string
}

const (
	rowHigh  = 22.0
	maxLabel = 330.0
	minPlot  = 320.0
)

// AxisOf is an axis for values of rows, whatever else shall be on it included.
func AxisOf(title string, rows []Dot, also ...float64) Axis {
	low, high := math.Inf(1), math.Inf(-1)
	take := func(v float64) { low, high = math.Min(low, v), math.Max(high, v) }
	for i := range rows {
		for _, v := range []*float64{rows[i].Value, rows[i].Low, rows[i].High} {
			if v != nil {
				take(*v)
			}
		}
	}
	for _, v := range also {
		take(v)
	}
	if low > high {
		low, high = 0, 1
	}
	return NumberAxis(title, low, high, 8)
}

// Dots draws the plot below what is drawn.
func (c *Canvas) Dots(d Dots) {
	labels, texts := make([]string, len(d.Rows)), make([]string, len(d.Rows))
	for i := range d.Rows {
		labels[i], texts[i] = d.Rows[i].Label, d.Rows[i].Text
	}
	left := margin + widest(labels, maxLabel) + 14
	textWide := widest(texts, 2*maxLabel)
	right := math.Max(sheetWidth-margin-textWide-14, left+minPlot)
	top := c.foot + 12
	if d.Limit != nil {
		top += lineHigh
	}
	bottom := top + float64(len(d.Rows))*rowHigh + 4
	x := c.across(d.X, left, right, top, bottom)
	c.need(int(right+textWide+14+margin), c.foot+12)
	if d.Zero {
		c.Line(x.At(0), top-4, x.At(0), bottom, "zero")
	}
	if d.Limit != nil {
		at := x.At(*d.Limit)
		c.Line(at, top-4, at, bottom, "limit")
		class := "strong middle"
		if wide := Width(d.LimitText) / 2; at-wide < left {
			class = "strong"
		} else if at+wide > right {
			class = "strong end"
		}
		c.Text(at, top-8, class, d.LimitText)
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		y := top + (float64(i)+0.5)*rowHigh + 2
		class := ""
		if r.Strong {
			class = " strong"
			if i > 0 {
				c.Line(margin, y-rowHigh/2, right+textWide+14, y-rowHigh/2, "rule")
			}
		}
		c.Text(left-10, y+4, "end"+class, fitting(r.Label, maxLabel))
		c.Text(right+14, y+4, "soft"+class, fitting(r.Text, 2*maxLabel))
		c.dot(x, r, y)
	}
}

// dot draws a value with its whiskers. A side whose end is not known has none.
func (c *Canvas) dot(x Axis, r *Dot, y float64) {
	if r.Value == nil {
		return
	}
	at := x.At(*r.Value)
	for _, end := range []*float64{r.Low, r.High} {
		if end != nil {
			to := x.At(*end)
			c.Path([][]At{{{at, y}, {to, y}}, {{to, y - 4}, {to, y + 4}}}, "whisker")
		}
	}
	c.Mark(at, y, r.Shape, r.Says)
}

// Mark draws a shape at a place.
func (c *Canvas) Mark(x, y float64, shape Shape, says string) {
	const r = 4.5
	class, path := "dot", [][]At{}
	switch shape {
	case Up:
		path = [][]At{{{x, y - r - 1}, {x + r, y + r - 1}, {x - r, y + r - 1}, {x, y - r - 1}}}
	case Down:
		path = [][]At{{{x, y + r + 1}, {x + r, y - r + 1}, {x - r, y - r + 1}, {x, y + r + 1}}}
	case Cross:
		class, path = "cross", [][]At{{{x - r, y - r}, {x + r, y + r}}, {{x - r, y + r}, {x + r, y - r}}}
	case Ring:
		class = "ring"
	}
	if len(path) > 0 {
		c.PathSaying(path, class, says)
		return
	}
	c.Circle(x, y, r, class, says)
}
