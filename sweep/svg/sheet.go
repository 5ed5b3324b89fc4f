package svg

import (
	"math"
	"strings"
)

// Head is what stands above a drawing.
type Head struct {
	Title     string
	About     string   // what can be seen in it, for who listens
	Lines     []string // under the title: what was measured, of how much
	Simulated bool     // a model made up some of what is drawn: the drawing says so
}

// The measures of a drawing that is written from its top to its foot, in pixels.
const (
	sheetWidth = 960.0
	margin     = 20.0
	lineHigh   = 16.0
	letter     = 6.8 // the mean width of a letter at 12 px
)

// Begin begins a drawing that grows downwards: each part is drawn below what is there.
func Begin(h Head) *Canvas {
	about := h.About
	if h.Simulated {
		about += " Simulated: a model made up some of these runs."
	}
	c := New(int(sheetWidth), 0, h.Title, about)
	c.foot = 26
	c.Text(margin, c.foot, "title", fitting(h.Title, (sheetWidth-2*margin)/1.3))
	if h.Simulated {
		const sign = "SIMULATED"
		c.foot += lineHigh
		c.Text(margin, c.foot, "alarm", sign)
		c.Text(margin+1.4*Width(sign), c.foot, "soft", "a model made up some of these runs")
	}
	c.Lines("soft", h.Lines...)
	return c
}

// Lines writes lines of text below what is drawn. Those that are too long are broken between words.
func (c *Canvas) Lines(class string, lines ...string) {
	most := float64(c.width) - 2*margin
	for _, line := range lines {
		for _, part := range broken(line, most) {
			c.foot += lineHigh
			c.Text(margin, c.foot, class, part)
		}
	}
	c.need(c.width, c.foot+12)
}

// Heading begins a part of the drawing.
func (c *Canvas) Heading(text string) {
	c.foot += 10
	c.Lines("strong", text)
}

// Space leaves some room.
func (c *Canvas) Space() { c.foot += 8 }

// need makes the drawing at least so large.
func (c *Canvas) need(width int, height float64) {
	c.width, c.height = max(c.width, width), max(c.height, int(math.Ceil(height)))
}

// Width is about how wide a text is at 12 px.
func Width(text string) (w float64) {
	for _, r := range text {
		if r >= 0x1100 { // from Hangul on letters are about square
			w += 12
		} else {
			w += letter
		}
	}
	return w
}

// fitting cuts a text to a width.
func fitting(text string, most float64) string {
	if Width(text) <= most {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && Width(string(runes))+letter > most {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// broken is a text in lines of a width at the most. A word that is longer is cut.
func broken(text string, most float64) (lines []string) {
	line := ""
	for _, word := range strings.Split(text, " ") {
		word = fitting(word, most)
		switch {
		case line == "":
			line = word
		case Width(line+" "+word) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// widest is the width of the widest text, of so much at the most.
func widest(texts []string, most float64) (w float64) {
	for _, text := range texts {
		w = math.Max(w, Width(text))
	}
	return math.Min(w, most)
}
