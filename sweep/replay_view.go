package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/replay"
)

// replayView turns a report into the three formats.
type replayView struct {
	of       *replaying
	report   *replay.Report
	finished bool
}

type replayObject struct {
	Environment string          `json:"environment"`
	From        time.Time       `json:"from"`
	To          time.Time       `json:"to"`
	Applied     bool            `json:"applied"`
	Finished    bool            `json:"finished"`
	Documents   int             `json:"documents"`
	Same        int             `json:"same"`
	Differing   int             `json:"differing"`
	RefusedN    int             `json:"refused_count"`
	Taken       int             `json:"taken_count"`
	Rows        changesObject   `json:"rows"`
	Latest      changesObject   `json:"latest"`
	Files       changesObject   `json:"files"`
	Columns     map[string]int  `json:"columns"`
	Changes     []changeRecord  `json:"changes"`
	Refused     []refusalObject `json:"refused"`
}

type changesObject struct {
	Changed int `json:"changed"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

type refusalObject struct {
	Document string `json:"document"`
	Stage    string `json:"stage"`
	Reason   string `json:"reason"`
}

// changeRecord is a change as json and csv hold it. A file has no series.
type changeRecord struct {
	What     string     `json:"what"`
	Change   string     `json:"change"`
	Slot     *time.Time `json:"slot"`
	Source   *string    `json:"source"`
	Target   *string    `json:"target"`
	Path     *string    `json:"path"`
	Probe    *string    `json:"probe"`
	Columns  []string   `json:"columns"`
	File     *string    `json:"file"`
	Document string     `json:"document"`
}

func changeRecordOf(t *replay.Told) changeRecord {
	columns := t.Columns
	if columns == nil {
		columns = []string{}
	}
	return changeRecord{t.What, t.Change.String(), utc(t.Slot), optional(t.Series.Source), optional(t.Series.Target), optional(t.Series.Path),
		optional(t.Series.Probe), columns, optional(t.File), t.Document}
}

func (v replayView) answer() answer {
	r := v.report
	records := []changeRecord{}
	for i := range r.Told {
		records = append(records, changeRecordOf(&r.Told[i]))
	}
	// Documents are in hand several at a time, so they are told in no order of their own.
	slices.SortStableFunc(records, func(a, b changeRecord) int {
		return cmp.Or(cmp.Compare(a.Document, b.Document), -cmp.Compare(a.What, b.What))
	})
	refused := []refusalObject{}
	for _, f := range r.Refused {
		refused = append(refused, refusalObject(f))
	}
	slices.SortStableFunc(refused, func(a, b refusalObject) int { return cmp.Compare(a.Document, b.Document) })
	columns := r.Columns
	if columns == nil {
		columns = map[string]int{}
	}
	object := replayObject{v.of.stores.environment, v.of.scope.From, v.of.scope.To, v.of.written, v.finished, r.Documents, r.Same, r.Differing, r.RefusedCount, r.Taken,
		changesObject(r.Rows), changesObject(r.Latest), changesObject(r.Files), columns, records, refused}
	return answer{object: object, records: records, text: func(w *bytes.Buffer, st style) { v.text(w, st, &object) }}
}

// fewChanges and fewColumns are how many of each the table for people shows.
const (
	fewChanges = 20
	fewColumns = 10
)

func (v replayView) text(w *bytes.Buffer, st style, o *replayObject) {
	fmt.Fprintf(w, "replay of environment %s, slots from %s to %s\n", o.Environment, stamp(o.From), stamp(o.To))
	if o.Differing > 0 {
		t := &table{columns: []column{left(""), number("changed"), number("added"), number("removed")}}
		for _, of := range []struct {
			what string
			n    changesObject
		}{{"rows", o.Rows}, {"newest runs", o.Latest}, {"files", o.Files}} {
			t.add(of.what, count(of.n.Changed), count(of.n.Added), count(of.n.Removed))
		}
		t.render(w, st)
		v.columns(w, o.Columns)
		w.WriteByte('\n')
		v.changes(w, st, o.Changes)
	}
	for _, f := range o.Refused {
		fmt.Fprintf(w, "refused: %s (%s): %s\n", visible(f.Document), visible(f.Stage), describe(errors.New(f.Reason)))
	}
	if more := o.RefusedN - len(o.Refused); more > 0 {
		fmt.Fprintf(w, "refused: %s more\n", plural(more, "document", "documents"))
	}
	if o.Taken > 0 {
		fmt.Fprintf(w, "%s left alone, for another one with the same runs was stored first\n", plural(o.Taken, "document was", "documents were"))
	}
	fmt.Fprintf(w, "n = %s: %s as stored, %s otherwise, %s refused\n", plural(o.Documents, "document", "documents"), count(o.Same), count(o.Differing), count(o.RefusedN))
	switch {
	case !o.Finished && o.Applied:
		fmt.Fprintln(w, "it ended early, and a part was written: make it again to do the rest")
	case !o.Finished:
		fmt.Fprintln(w, "it ended early; nothing was written")
	case o.Differing > 0 && o.Applied:
		fmt.Fprintln(w, "what differed was written")
	case o.Differing > 0:
		fmt.Fprintln(w, "nothing was written: --apply writes what differs")
	}
}

// columns names the columns that change, those of the most rows first.
func (v replayView) columns(w *bytes.Buffer, columns map[string]int) {
	if len(columns) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(columns), func(a, b string) int {
		return cmp.Or(cmp.Compare(columns[b], columns[a]), cmp.Compare(a, b))
	})
	more := ""
	if len(names) > fewColumns {
		more = fmt.Sprintf(", and %d columns more", len(names)-fewColumns)
		names = names[:fewColumns]
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s in %s", visible(name), plural(columns[name], "row", "rows"))
	}
	fmt.Fprintf(w, "columns that change: %s%s\n", strings.Join(names, ", "), more)
}

func (v replayView) changes(w *bytes.Buffer, st style, all []changeRecord) {
	t := &table{columns: []column{left("what"), left("change"), left("slot"), left("source"), left("target"), left("path"), left("probe"), left("columns or file")}}
	for _, c := range all[:min(len(all), fewChanges)] {
		slot, detail := absent, strings.Join(c.Columns, " ")
		if c.Slot != nil {
			slot = stamp(*c.Slot)
		}
		if c.File != nil {
			detail = *c.File
		}
		t.add(c.What, c.Change, slot, orAbsent(value(c.Source)), orAbsent(value(c.Target)), orAbsent(value(c.Path)), orAbsent(value(c.Probe)), detail)
	}
	t.render(w, st)
	if len(all) > fewChanges {
		fmt.Fprintln(w, "and more: --format json tells the first hundred")
	}
	w.WriteByte('\n')
}
