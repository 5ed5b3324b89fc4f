// Package svg writes drawings of answers as SVG that stands by itself: with a title and a description for who
// listens, and light or dark as the reader's system is.
package svg

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Canvas is a drawing under way. Units are CSS pixels.
type Canvas struct {
	width, height int
	title, about  string
	foot          float64 // of what is drawn from the top on
	body          bytes.Buffer
}

// New begins a drawing. The title says what it is, and about what can be seen in it.
func New(width, height int, title, about string) *Canvas {
	return &Canvas{width: width, height: height, title: title, about: about}
}

// The classes of what is drawn. The colours are those of Okabe and Ito, which colour-blind readers tell apart.
const style = `
svg { --paper: #ffffff; --ink: #1b1f24; --soft: #57606a; --rule: #d0d7de; --line: #0072b2; --second: #d55e00; --mark: #cc79a7; --cell: 0, 114, 178; --none: #eaeef2;
  background: var(--paper); font: 12px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --rule: #30363d; --line: #56b4e9; --second: #e69f00; --mark: #cc79a7; --cell: 86, 180, 233; --none: #21262d; } }
text { fill: var(--ink); } .soft { fill: var(--soft); } .title { font-size: 15px; font-weight: 600; } .alarm { fill: var(--second); font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.rule { stroke: var(--rule); fill: none; } .line { stroke: var(--line); fill: none; stroke-width: 1.5; } .second { stroke: var(--second); fill: none; stroke-dasharray: 4 3; }
.mark { stroke: var(--mark); stroke-width: 1.5; } .band { fill: var(--line); fill-opacity: 0.2; } .bar { fill: var(--line); } .none { fill: var(--none); }
.cell { fill: rgb(var(--cell)); } .fault { fill: none; stroke: var(--second); } .over { pointer-events: none; } .strong { font-weight: 600; } .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.dot { fill: var(--line); } .ring { fill: var(--paper); stroke: var(--line); stroke-width: 1.5; } .cross { stroke: var(--second); fill: none; stroke-width: 2; } .whisker { stroke: var(--line); fill: none; stroke-width: 1.5; }
.zero { stroke: var(--soft); } .limit { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 3; } .level { stroke: var(--line); fill: none; stroke-width: 2.5; } .faint { stroke: var(--soft); fill: none; stroke-opacity: 0.6; } .open { fill: none; stroke: var(--second); stroke-width: 1.5; }
`

// Bytes is the finished drawing.
func (c *Canvas) Bytes() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title about">`+"\n", c.width, c.height, c.width, c.height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"about\">%s</desc>\n<style>%s</style>\n", Escape(c.title), Escape(c.about), style)
	out.Write(c.body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// Escape makes a text safe within an element and within an attribute. What cannot be printed, and what XML does not
// allow, becomes U+FFFD.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\'':
			b.WriteString("&#39;")
		case !unicode.IsPrint(r):
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// number is a coordinate, to a hundredth.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Text writes a text whose base line begins at x, y, or as its class says.
func (c *Canvas) Text(x, y float64, class, text string) {
	fmt.Fprintf(&c.body, "<text x=\"%s\" y=\"%s\"%s>%s</text>\n", number(x), number(y), classOf(class), Escape(text))
}

// Line draws a straight line.
func (c *Canvas) Line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.body, "<path d=\"M%s %sL%s %s\"%s/>\n", number(x1), number(y1), number(x2), number(y2), classOf(class))
}

// Rect draws a rectangle that says what it is when it is pointed at. opacity is of its filling, 0 to 1.
func (c *Canvas) Rect(x, y, width, height float64, class string, opacity float64, says string) {
	fmt.Fprintf(&c.body, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"%s", number(x), number(y), number(width), number(height), classOf(class))
	if opacity < 1 {
		fmt.Fprintf(&c.body, " fill-opacity=\"%s\"", number(opacity))
	}
	if says == "" {
		c.body.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&c.body, "><title>%s</title></rect>\n", Escape(says))
}

// At is a place.
type At struct{ X, Y float64 }

// Aslant writes a text that rises to the right from x, y on.
func (c *Canvas) Aslant(x, y float64, class, text string) {
	fmt.Fprintf(&c.body, "<text transform=\"translate(%s %s) rotate(-45)\"%s>%s</text>\n", number(x), number(y), classOf(class), Escape(text))
}

// Circle draws a circle that says what it is when it is pointed at.
func (c *Canvas) Circle(x, y, r float64, class, says string) {
	fmt.Fprintf(&c.body, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"%s>%s</circle>\n", number(x), number(y), number(r), classOf(class), pointed(says))
}

// pointed is the element with what a shape says when it is pointed at.
func pointed(says string) string {
	if says == "" {
		return ""
	}
	return "<title>" + Escape(says) + "</title>"
}

// Path draws a line through places; of several parts, with nothing between them.
func (c *Canvas) Path(parts [][]At, class string) { c.PathSaying(parts, class, "") }

// PathSaying is Path that says what it is when it is pointed at.
func (c *Canvas) PathSaying(parts [][]At, class, says string) {
	c.body.WriteString("<path d=\"")
	for _, part := range parts {
		for i, at := range part {
			step := "L"
			if i == 0 {
				step = "M"
			}
			c.body.WriteString(step + number(at.X) + " " + number(at.Y))
		}
		if len(part) == 1 { // a point of its own would not be seen
			c.body.WriteString("h0.5")
		}
	}
	if says == "" {
		fmt.Fprintf(&c.body, "\"%s/>\n", classOf(class))
		return
	}
	fmt.Fprintf(&c.body, "\"%s>%s</path>\n", classOf(class), pointed(says))
}

func classOf(class string) string {
	if class == "" {
		return ""
	}
	return ` class="` + Escape(class) + `"`
}
