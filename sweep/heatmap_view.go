package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"isochrone/sweep/reply"
)

// heatmapView turns a heat map into the formats.
type heatmapView struct{ object *reply.Heatmap }

var weekdays = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

func (v heatmapView) answer() answer {
	return answer{object: v.object, records: v.object.Cells, text: v.text, drawing: v.draw, simulated: v.object.Simulated}
}

func (v heatmapView) cell(day, hour int) *reply.HeatmapCell { return &v.object.Cells[24*day+hour] }

// limits are the smallest and the largest cell, µs, and over how many hours the least known cell is.
func (v heatmapView) limits() (low, high float64, few int, ok bool) {
	low, high, few = math.Inf(1), math.Inf(-1), math.MaxInt
	for i := range v.object.Cells {
		if c := &v.object.Cells[i]; c.MedianExcessUS != nil {
			low, high, few, ok = min(low, *c.MedianExcessUS), max(high, *c.MedianExcessUS), min(few, c.N), true
		}
	}
	return low, high, few, ok
}

func (v heatmapView) text(w *bytes.Buffer, st style) {
	o := v.object
	historyHead(w, st, "excess over what was usual", o.Series, o.Head, o.Window)
	low, high, few, ok := v.limits()
	if !ok {
		w.WriteString("\nno data\n")
		return
	}
	fmt.Fprintf(w, "\nms by weekday and hour, clock of %s (%s)\n", o.Clock, o.Zone)
	if t := v.numbers(); st.columns == 0 || t.width() <= st.columns {
		t.render(w, st)
	} else {
		v.shades(w, low, high)
	}
	fmt.Fprintf(w, "\nfrom %s to %s ms; a cell is of %d hours at least; %s taken out\n", signed(&low), signed(&high), few, plural(len(o.Changes), "change of level", "changes of level"))
	if few < 3 {
		w.WriteString("cells of fewer than three hours say little: raise --since\n")
	}
}

func (v heatmapView) numbers() *table {
	t := &table{columns: []column{left("day")}}
	for hour := range 24 {
		t.columns = append(t.columns, number(fmt.Sprintf("%02d", hour)))
	}
	_, high, _, _ := v.limits()
	for day, name := range weekdays {
		row := []cell{{text: name}}
		for hour := range 24 {
			c := v.cell(day, hour)
			shown := cell{text: decimal(c.MedianExcessUS, 1e-3, 2)}
			if shown.text == "-0.00" {
				shown.text = "0.00"
			}
			if m := c.MedianExcessUS; m != nil && *m > 500 && *m > high/2 {
				shown.tone = alarm
			}
			row = append(row, shown)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// shades are the cells as signs, two for each.
func (v heatmapView) shades(w *bytes.Buffer, low, high float64) {
	var b strings.Builder
	b.WriteString("     00    03    06    09    12    15    18    21\n")
	signs := []string{"··", "░░", "▒▒", "▓▓", "██"}
	for day, name := range weekdays {
		b.WriteString(name + "  ")
		for hour := range 24 {
			m := v.cell(day, hour).MedianExcessUS
			switch {
			case m == nil:
				b.WriteString("--")
			case high <= low:
				b.WriteString(signs[0])
			default:
				b.WriteString(signs[min(int((*m-low)/(high-low)*float64(len(signs))), len(signs)-1)])
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("·· is the smallest, ██ the largest, -- without data\n")
	w.WriteString(b.String())
}
