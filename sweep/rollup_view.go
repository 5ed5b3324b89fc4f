package main

import (
	"bytes"
	"fmt"
	"time"

	"isochrone/sweep/rollup"
)

type rollupObject struct {
	Environment string     `json:"environment"`
	Backfill    bool       `json:"backfill"`
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	Finished    bool       `json:"finished"`
	Runs        int        `json:"run_count"`
	rollupRecords
}

type rollupRecords struct {
	Hours    rolledRecord `json:"hours"`
	Profiles rolledRecord `json:"profiles"`
}

// rolledRecord is what became of the rows of one table.
type rolledRecord struct {
	What    string `json:"what"`
	Written int    `json:"written"`
	Removed int    `json:"removed"`
	Same    int    `json:"same"`
	// Left are marked hours, or sources whose profiles are due, that are left for the next time.
	Left int `json:"left"`
}

func rollupAnswer(c *rolling, r rollup.Report, finished bool) answer {
	hours := rolledRecord{"hours", r.Written, r.Removed, r.Same, r.Left}
	profiles := rolledRecord{"profiles", r.ProfilesWritten, r.ProfilesRemoved, r.ProfilesSame, r.Waiting}
	object := rollupObject{c.stores.environment, c.backfill, utc(c.scope.Since), utc(c.scope.Until), finished, r.Runs, rollupRecords{hours, profiles}}
	return answer{object: object, records: []rolledRecord{hours, profiles}, text: func(w *bytes.Buffer, st style) {
		fmt.Fprintf(w, "rollup of environment %s\n", object.Environment)
		t := &table{columns: []column{left(""), number("written"), number("removed"), number("unchanged"), number("left")}}
		for _, of := range []rolledRecord{hours, profiles} {
			t.add(of.What, count(of.Written), count(of.Removed), count(of.Same), count(of.Left))
		}
		t.render(w, st)
		fmt.Fprintf(w, "n = %s\n", plural(r.Runs, "run", "runs"))
		if !finished {
			fmt.Fprintln(w, "it ended early: make it again to do the rest")
		}
	}}
}
