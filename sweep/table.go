package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// style is how tables look where they are shown.
type style struct {
	colour  bool
	columns int // of the terminal; 0 is no terminal, and no limit
}

// tone is what a cell wants to be noticed as. Without colour it changes nothing.
type tone string

const (
	plain   tone = ""
	strong  tone = "1"  // bold
	alarm   tone = "31" // red
	subdued tone = "2"  // dim
)

func (s style) paint(text string, t tone) string {
	if !s.colour || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// column is a heading, with the unit in it, and the side on which its values line up.
type column struct {
	title string
	right bool // numbers
}

func left(title string) column   { return column{title: title} }
func number(title string) column { return column{title: title, right: true} }

// cell is one value. Whatever it holds is made visible and cut before it is printed.
type cell struct {
	text string
	tone tone
}

// table is an aligned table. Nothing but text goes in: a value without its unit in the heading
// has no place here.
type table struct {
	columns []column
	rows    [][]cell
}

// add appends a row of plain values.
func (t *table) add(values ...string) {
	row := make([]cell, len(values))
	for i, v := range values {
		row[i] = cell{text: v}
	}
	t.rows = append(t.rows, row)
}

const gutter = "  "

// width is how many columns of a terminal the table takes.
func (t *table) width() int {
	total := 0
	for _, w := range t.widths() {
		total += w + len(gutter)
	}
	return max(total-len(gutter), 0)
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(shown(c.text)))
		}
	}
	return widths
}

func shown(text string) string { return cut(visible(text), maxCell) }

// render writes the table. No line ends in a blank.
func (t *table) render(w *bytes.Buffer, s style) {
	widths := t.widths()
	heading := make([]cell, len(t.columns))
	for i, c := range t.columns {
		heading[i] = cell{c.title, strong}
	}
	t.line(w, s, widths, heading)
	for _, row := range t.rows {
		t.line(w, s, widths, row)
	}
}

func (t *table) line(w *bytes.Buffer, s style, widths []int, row []cell) {
	var line strings.Builder
	for i, c := range row {
		text := shown(c.text)
		blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if t.columns[i].right {
			text = blanks + text
		} else {
			text += blanks
		}
		// Only what is not blank is painted, so that the line's end can be trimmed.
		body := strings.Trim(text, " ")
		before, after, _ := strings.Cut(text, body)
		line.WriteString(before + s.paint(body, c.tone) + after + gutter)
	}
	w.WriteString(strings.TrimRight(line.String(), " "))
	w.WriteByte('\n')
}
