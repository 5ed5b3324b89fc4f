package result

import (
	"time"

	"isochrone/prober/wire"
)

// Change says how something that is stored differs from what its document comes to now.
type Change int

// The changes.
const (
	// Same: it does not.
	Same Change = iota
	// Changed: something else is stored.
	Changed
	// Added: nothing is stored.
	Added
	// Removed: something is stored that the document does not come to any more.
	Removed
)

// String is the change's word for people.
func (c Change) String() string {
	switch c {
	case Same:
		return "same"
	case Changed:
		return "changed"
	case Added:
		return "added"
	case Removed:
		return "removed"
	}
	return "unknown"
}

// Difference is a row that is stored, or should be, held against what its document comes to now.
type Difference struct {
	Series wire.Series
	Slot   time.Time
	Change Change
	// Columns are those that differ, in the order of the row; only where it is Changed.
	Columns []string
	// Document is the blob that the stored row names; empty where nothing is stored.
	Document string
	// ETag is that of the stored row as it was read.
	ETag string
}
