package replay

import (
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// MostTold is how many changes, and how many refusals, a Report tells; all are counted.
const MostTold = 100

// Report is what a replay found, and with apply put right.
type Report struct {
	Documents int // read
	Same      int // of which everything is as it is stored
	Differing int
	// Rows counts rows of runs, Latest those of the newest runs, Files the Parquet files and unknown
	// XML as JSON.
	Rows, Latest, Files Changes
	// Columns counts the changed rows of runs by column.
	Columns map[string]int
	// Told are the first changes.
	Told []Told
	// Refused are the first documents that cannot be converted now, of RefusedCount. Nothing of them
	// is touched: their rows stay as they are.
	Refused      []Refusal
	RefusedCount int
	// Taken counts foreign documents with a run of which another document's row is stored. That one
	// was first, and stays; nothing of these is touched.
	Taken int
}

// Changes counts what differs.
type Changes struct{ Changed, Added, Removed int }

func (c *Changes) count(of result.Change) {
	switch of {
	case result.Changed:
		c.Changed++
	case result.Added:
		c.Added++
	case result.Removed:
		c.Removed++
	}
}

// Any says whether anything differs.
func (c Changes) Any() bool { return c != Changes{} }

// The kinds of what is told.
const (
	Row    = "row"
	Latest = "latest"
	File   = "file"
)

// Told is one change.
type Told struct {
	What     string // Row, Latest or File
	Change   result.Change
	Document string // the blob that it follows from
	// Series and Slot are a row's.
	Series  wire.Series
	Slot    time.Time
	Columns []string // that change
	File    string   // the blob that changes
}

// Refusal is a document that cannot be converted now.
type Refusal struct{ Document, Stage, Reason string }

func (u *replay) refuse(r Refusal) {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.report.Documents++
	u.report.RefusedCount++
	if len(u.report.Refused) < MostTold {
		u.report.Refused = append(u.report.Refused, r)
	}
}

func (u *replay) taken() {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.report.Documents++
	u.report.Taken++
}

// tell adds what was found of a document.
func (u *replay) tell(document string, w *work) {
	u.lock.Lock()
	defer u.lock.Unlock()
	r := &u.report
	r.Documents++
	if !w.differs() {
		r.Same++
		return
	}
	r.Differing++
	told := func(t Told) {
		if t.Document = document; len(r.Told) < MostTold {
			r.Told = append(r.Told, t)
		}
	}
	for _, ds := range [][]result.Difference{w.rows, w.gone} {
		for _, d := range ds {
			if d.Change == result.Same {
				continue
			}
			r.Rows.count(d.Change)
			for _, c := range d.Columns {
				if r.Columns == nil {
					r.Columns = map[string]int{}
				}
				r.Columns[c]++
			}
			told(Told{What: Row, Change: d.Change, Series: d.Series, Slot: d.Slot, Columns: d.Columns})
		}
	}
	for _, d := range w.latest {
		if d.Change != result.Same {
			r.Latest.count(d.Change)
			told(Told{What: Latest, Change: d.Change, Series: d.Series, Slot: d.Slot, Columns: d.Columns})
		}
	}
	for _, f := range w.files {
		if f.change != result.Same {
			r.Files.count(f.change)
			told(Told{What: File, Change: f.change, File: f.name})
		}
	}
}
