package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"isochrone/sweep/trend"
)

// changeObject is a change of a series that is not ours: of its name, source and target we know nothing.
type changeObject struct {
	Time   time.Time `json:"time"` // of the first round trip after it
	Before float64   `json:"before_ms"`
	After  float64   `json:"after_ms"`
	P      float64   `json:"p"`
}

// changeLine is the same for csv, where p has an exponent: as a decimal it would fill the line.
type changeLine struct {
	Time   time.Time `json:"time"`
	Before float64   `json:"before_ms"`
	After  float64   `json:"after_ms"`
	P      string    `json:"p"`
}

// ofFile answers for a series of a file.
func (c *changesCommand) ofFile() error {
	in := c.env.stdin
	if c.file != "-" {
		f, err := os.Open(c.file)
		if err != nil {
			return usage("", "%w", err)
		}
		defer func() { _ = f.Close() }() // it is only read from
		in = f
	}
	read, err := readSeries(in)
	if err != nil {
		var refused *seriesRefusal
		if errors.As(err, &refused) {
			return bad(refused.remedy, "%s: %w", titled(c.file), err)
		}
		return bad("see that the file is whole", "reading %s: %w", titled(c.file), err)
	}
	if read.backwards > 0 {
		c.warn("%s: the time of %s is before that of the line above; the lines are taken in their order", titled(c.file), plural(read.backwards, "line", "lines"))
	}
	view := changesFileView{name: titled(c.file), series: read, changes: []changeObject{}}
	for _, found := range trend.Changes(read.values, c.options()) {
		view.changes = append(view.changes, changeObject{read.times[found.At], toNanoseconds(found.Before), toNanoseconds(found.After), threeDigits(found.P)})
	}
	if c.format == formatJSON {
		var out bytes.Buffer
		if err := writeJSONLines(&out, view.changes); err != nil {
			return err
		}
		return c.write(out.Bytes())
	}
	return c.print(c.format, answer{records: view.records(), text: view.text, drawing: view.draw})
}

// toNanoseconds rounds milliseconds: the mean of two values has more digits than either.
func toNanoseconds(ms float64) float64 { return math.Round(ms*1e6) / 1e6 }

// writeJSONLines writes an object a line. They must hold nothing that could steer a terminal.
func writeJSONLines[T any](w *bytes.Buffer, objects []T) error {
	enc := json.NewEncoder(w)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			return fmt.Errorf("writing JSON: %w", err)
		}
	}
	return nil
}

// changesFileView shows the changes of a file as a table or a drawing.
type changesFileView struct {
	name    string
	series  *series
	changes []changeObject
}

// threeDigits rounds a p-value: more digits of it say nothing.
func threeDigits(p float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(p, 'e', 2, 64), 64)
	if err != nil {
		return p
	}
	return short
}

func (v changesFileView) records() []changeLine {
	out := make([]changeLine, 0, len(v.changes))
	for _, c := range v.changes {
		out = append(out, changeLine{c.Time, c.Before, c.After, strconv.FormatFloat(c.P, 'g', -1, 64)})
	}
	return out
}

func (v changesFileView) text(w *bytes.Buffer, st style) {
	times := v.series.times
	fmt.Fprintf(w, "changes of %s, from %s to %s%s\n", v.name, stamp(times[0]), stamp(times[len(times)-1]), v.cadence())
	if len(v.changes) > 0 {
		changesTable(v.changes).render(w, st)
	}
	fmt.Fprintf(w, "\nn = %s; %s, %s missing\n", plural(len(v.changes), "change", "changes"), plural(len(times), "line", "lines"), count(v.series.missing))
}

// cadence is the usual time between two lines.
func (v changesFileView) cadence() string {
	times := v.series.times
	if len(times) < 2 {
		return ""
	}
	steps := make([]time.Duration, len(times)-1)
	for i := range steps {
		steps[i] = times[i+1].Sub(times[i])
	}
	slices.Sort(steps)
	return fmt.Sprintf(", mostly every %s", steps[len(steps)/2].Round(time.Millisecond))
}

func changesTable(changes []changeObject) *table {
	t := &table{columns: []column{left("time (UTC)"), number("before ms"), number("after ms"), number("difference ms"), number("difference %"), number("p")}}
	for _, c := range changes {
		difference, ratio := c.After-c.Before, c.After/c.Before-1
		t.add(c.Time.Format(time.RFC3339), decimal(&c.Before, 1, 3), decimal(&c.After, 1, 3), decimal(&difference, 1, 3), decimal(&ratio, 100, 1),
			pText(c.P))
	}
	return t
}

// pText shows a p-value. One that is too small for a double is not zero.
func pText(p float64) string {
	if p < 1e-300 {
		return "< 1e-300"
	}
	return strconv.FormatFloat(p, 'e', 1, 64)
}
