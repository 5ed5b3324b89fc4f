package svg

import "math"

// Box is a cell of a grid.
type Box struct {
	Class string  // cell, none, fault; "" is no box at all
	Shade float64 // of a cell: 0 is pale, 1 full
	Text  string
	Says  string // when it is pointed at
}

// Grid is rows and columns of cells, shaded by their values.
type Grid struct {
	Rows, Columns []string
	RowTitle      string // over the rows' names
	ColumnTitle   string // over the columns' names
	Ends          []string
	Box           func(row, column int) Box
	// Sequence says that the columns are in steps: where their names have no room some are left out. Otherwise
	// they are written aslant.
	Sequence bool
	MinWide  float64 // least width of a cell
}

const (
	boxHigh  = 26.0
	boxGap   = 2.0
	maxShade = 0.6 // text on a cell must stay readable in light and in dark
	minBox   = 3.0
)

// Grid draws the grid below what is drawn.
func (c *Canvas) Grid(g Grid) {
	boxes, wide := g.boxes()
	names := widest(g.Columns, maxLabel)
	left := margin + math.Max(widest(g.Rows, maxLabel), Width(g.RowTitle)) + 12
	if !g.Sequence && left+float64(len(g.Columns))*(names+8) <= sheetWidth {
		wide = math.Max(wide, names+8)
	}
	aslant := !g.Sequence && names > wide-4
	if g.Sequence {
		wide = math.Max(minBox, math.Min(wide, (sheetWidth-margin-left-widest(g.Ends, maxLabel)-8)/float64(max(len(g.Columns), 1))))
	}
	c.foot += 22
	c.Text(left, c.foot, "soft", g.ColumnTitle)
	top := c.foot + lineHigh + 8
	overhang := 0.0
	if aslant {
		top += names * 0.71
		overhang = names * 0.71
	}
	c.Text(left-10, top-8, "soft end", g.RowTitle)
	c.names(g, left, top, wide, aslant)
	for row, name := range g.Rows {
		y := top + float64(row)*boxHigh
		c.Text(left-10, y+boxHigh/2+4, "end", fitting(name, maxLabel))
		for column := range g.Columns {
			c.box(boxes[row][column], left+float64(column)*wide, y, wide)
		}
		if len(g.Ends) > 0 {
			c.Text(left+float64(len(g.Columns))*wide+8, y+boxHigh/2+4, "soft", fitting(g.Ends[row], maxLabel))
		}
	}
	right := left + float64(len(g.Columns))*wide
	c.foot = top + float64(len(g.Rows))*boxHigh + 4
	c.need(int(right+math.Max(overhang, widest(g.Ends, maxLabel)+8)+margin), c.foot+12)
}

// boxes are all cells, and how wide they are so that their texts have room.
func (g *Grid) boxes() (boxes [][]Box, wide float64) {
	wide = g.MinWide
	boxes = make([][]Box, len(g.Rows))
	for row := range g.Rows {
		for column := range g.Columns {
			b := g.Box(row, column)
			boxes[row] = append(boxes[row], b)
			text := Width(b.Text)
			if b.Class == "fault" {
				text *= 1.15 // it is bold
			}
			wide = math.Max(wide, text+8)
		}
	}
	return boxes, wide
}

func (c *Canvas) names(g Grid, left, top, wide float64, aslant bool) {
	every := 1
	if g.Sequence && len(g.Columns) > 0 {
		every = int(math.Ceil((widest(g.Columns, maxLabel) + 4) / wide))
	}
	for i := 0; i < len(g.Columns); i += every {
		x := left + (float64(i)+0.5)*wide
		if aslant {
			c.Aslant(x, top-8, "soft", fitting(g.Columns[i], maxLabel))
			continue
		}
		c.Text(x, top-8, "soft middle", g.Columns[i])
	}
}

func (c *Canvas) box(b Box, x, y, wide float64) {
	if b.Class == "" {
		return
	}
	opacity := 1.0
	if b.Class == "cell" {
		opacity = 0.06 + (maxShade-0.06)*b.Shade
	}
	gap := math.Min(boxGap, wide/6)
	c.Rect(x, y, wide-gap, boxHigh-boxGap, b.Class, opacity, b.Says)
	if b.Text != "" && Width(b.Text) <= wide {
		class := "middle over"
		if b.Class == "fault" {
			class = "middle over alarm"
		}
		c.Text(x+(wide-gap)/2, y+boxHigh/2+3, class, b.Text)
	}
}
