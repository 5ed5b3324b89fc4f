// Package ledger holds the words of a sweep's book-keeping: one header a sweep and one entry an
// assignment, and which state may follow which. The tables package keeps them; dispatch and
// ingest write them.
package ledger

import "time"

// LateLimit is how old a slot may be when it is swept, or when a document of it comes. What comes
// later is refused, so that everything older may be closed and compacted.
const LateLimit = 7 * 24 * time.Hour

// State is how far a sweep or an assignment is.
type State string

// The states of a header (planned, dispatched, complete, missed) and of an entry (planned,
// dispatched, received, expired).
const (
	// Planned: the plan is stored, the probers may not know of it yet.
	Planned State = "planned"
	// Dispatched: every prober's assignments have been written.
	Dispatched State = "dispatched"
	// Received: the document was converted and its rows are stored.
	Received State = "received"
	// Expired: no document came in time; its runs have expired rows.
	Expired State = "expired"
	// Complete: every entry is received or expired.
	Complete State = "complete"
	// Missed: the slot was skipped, because the app was not running when it was due.
	Missed State = "missed"
)

// Missed ranks lowest: it stands only where there is no header, and a sweep that is planned after
// all takes its place, whoever of two handlers writes first.
var rank = map[State]int{Missed: 1, Planned: 2, Dispatched: 3, Expired: 4, Received: 5, Complete: 5}

// Supersedes says whether s may replace old: a late document turns expired into received, and
// nothing goes back. An absent old ("") gives way to everything.
func (s State) Supersedes(old State) bool { return rank[s] > rank[old] }

// Final says whether nothing more is awaited.
func (s State) Final() bool { return s == Missed || rank[s] >= rank[Expired] }

// Header is a sweep's own row.
type Header struct {
	Slot       time.Time
	State      State
	ConfigHash string // of the pinned configuration; empty for a missed slot
	Reason     string // why a slot was missed
	// PlannedBytes is what the sweep's bulk runs may send, together: the sum of their budgets. It counts
	// against the month's.
	PlannedBytes int64
	// Simulated says that nobody swept: a model made the sweep up.
	Simulated bool
}

// Key names an assignment's entry within its sweep.
type Key struct {
	Source string
	Probe  string
	Part   int
}

// Entry is an assignment's row.
type Entry struct {
	Slot       time.Time
	Key        Key
	Assignment string
	State      State
	Runs       int    // planned runs, as the plan says
	Attempt    string // of the document that was received
	Error      string // why it is not received, as far as is known
	Simulated  bool   // nobody measured: a model made the document up, or that there is none
}
