// Package result holds what a run came to, once the app knows whose it is: the shape that every
// converter makes, and that tables and archive store.
package result

import (
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Result is one run: one row.
type Result struct {
	Series wire.Series
	// Slot is the sweep that the run belongs to. For a foreign document it is when the run
	// began, to the second.
	Slot time.Time
	// Assignment and Attempt are empty for foreign documents. Part is the assignment's.
	Assignment string
	Attempt    string
	Part       int
	Provenance wire.Provenance
	Run        wire.Run
	Summary    summary.Summary
	// Document names the blob that holds the document, container included; empty for an
	// expired run, which has none.
	Document string
	// Tool names what made a foreign document (OwnTool for documents v1); empty for our own.
	Tool string
	// Counted says which of Run.Counts a foreign document tells; nil: all of them.
	Counted *Counted
}

// OwnTool is the Tool of a document of our own format that nobody planned.
const OwnTool = "isochrone"

// Counted says which counts are known.
type Counted struct {
	Warmup, Sent, Received, Lost, Late, Duplicate, Reordered, PacingViolations bool
}

// Expired is the result of a run that never came.
func Expired(series wire.Series, slot time.Time, assignment string, part int, kind wire.Kind, planned time.Time) Result {
	return Result{
		Series: series, Slot: slot, Assignment: assignment, Part: part,
		Run: wire.Run{Target: series.Target, Path: series.Path, Kind: kind, PlannedStart: planned,
			Failure: wire.FailureExpired, Detail: "no document came from the source in time"},
	}
}

// IsExpired says whether the run never came. Such a result gives way to any other.
func (r *Result) IsExpired() bool { return r.Run.Failure == wire.FailureExpired }
