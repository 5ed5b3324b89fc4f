package main

import (
	"bytes"
	"fmt"
	"time"

	"isochrone/sweep/compact"
)

type compactObject struct {
	Environment string          `json:"environment"`
	Backfill    bool            `json:"backfill"`
	From        *time.Time      `json:"from"`
	To          *time.Time      `json:"to"`
	Applied     bool            `json:"applied"`
	Finished    bool            `json:"finished"`
	Days        int             `json:"days"`
	Written     int             `json:"written"`
	Rows        int64           `json:"rows"`
	Same        int             `json:"same"`
	Deleted     int             `json:"raw_deleted"`
	Freed       int64           `json:"raw_deleted_bytes"`
	Left        int             `json:"left"`
	Waiting     int             `json:"waiting"`
	Changes     []compactRecord `json:"changes"`
}

// compactRecord is a change as json and csv hold it. Deleted raw files have no probe.
type compactRecord struct {
	What   string  `json:"what"`
	Change string  `json:"change"`
	Date   string  `json:"date"`
	Source string  `json:"source"`
	Probe  *string `json:"probe"`
	Inputs int     `json:"raw_files"`
	Kept   int     `json:"kept_from_lake"`
	Rows   *int64  `json:"rows"` // null: nothing was written
}

func compactAnswer(c *compacting, r compact.Report, finished bool) answer {
	records := []compactRecord{}
	for _, t := range r.Told {
		of := compactRecord{What: "lake file", Change: "changed", Date: t.Day.Format(time.DateOnly), Source: t.Source, Probe: optional(t.Probe), Inputs: t.Inputs, Kept: t.Kept}
		if t.New {
			of.Change = "added"
		}
		if t.Probe == "" {
			of.What, of.Change = "raw files", "removed"
		} else if c.scope.Apply {
			of.Rows = &t.Rows
		}
		records = append(records, of)
	}
	o := compactObject{c.stores.environment, c.scope.All, utc(c.scope.Since), utc(c.scope.Until), c.scope.Apply, finished, r.Days, r.Written, r.Rows, r.Same,
		r.Deleted, r.Freed, r.Left, r.Waiting, records}
	return answer{object: o, records: records, text: func(w *bytes.Buffer, st style) { compactText(w, st, &o) }}
}

func compactText(w *bytes.Buffer, st style, o *compactObject) {
	fmt.Fprintf(w, "compact of environment %s\n", o.Environment)
	if len(o.Changes) > 0 {
		t := &table{columns: []column{left("what"), left("change"), left("day"), left("source"), left("probe"), number("raw files"), number("kept"), number("rows")}}
		for _, c := range o.Changes[:min(len(o.Changes), fewChanges)] {
			rows := absent
			if c.Rows != nil {
				rows = count(int(*c.Rows))
			}
			t.add(c.What, c.Change, c.Date, c.Source, orAbsent(value(c.Probe)), count(c.Inputs), count(c.Kept), rows)
		}
		t.render(w, st)
		if len(o.Changes) > fewChanges {
			fmt.Fprintln(w, "and more: --format json tells the first hundred")
		}
	}
	written, deleted := "to be written", "to be deleted"
	if o.Applied {
		written, deleted = "written", "deleted"
	}
	fmt.Fprintf(w, "n = %s: %s %s, %s unchanged, %s %s (%s)\n", plural(o.Days, "day of a prober", "days of probers"), plural(o.Written, "lake file", "lake files"), written, count(o.Same),
		plural(o.Deleted, "raw file", "raw files"), deleted, megabytes(o.Freed))
	if o.Waiting > 0 {
		fmt.Fprintf(w, "%s not over yet: the turn of a day comes half an hour after its midnight UTC\n", plural(o.Waiting, "changed day is", "changed days are"))
	}
	switch {
	case !o.Finished || o.Left > 0:
		fmt.Fprintln(w, "something is left: make it again to do the rest")
	case !o.Applied && o.Written+o.Deleted > 0:
		fmt.Fprintln(w, "nothing was written or deleted: --apply does it")
	}
}
