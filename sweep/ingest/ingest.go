// Package ingest takes documents out of the inbox, holds them against the plan, and stores what
// they say.
//
// Every step may be repeated, by the same process or another, and gives the same bytes: so a
// document that was half stored when its handler ended is simply taken again. What cannot be
// accepted moves whole to quarantine, with the reason.
package ingest

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// Inbox is where documents wait (archive.Store).
//
// An error with result.ErrRefused in its chain is final, one with inbox.ErrLocked waits for the
// item's sender, and every other is a fault that may pass; the same holds of the interfaces below.
//
// What a method has returned without an error is durable. All may be called at once, from
// several processes. None retries beyond what its transport does: a call that fails may have
// been carried out all the same, and the next Drain starts the document over.
type Inbox interface {
	// Inbox lists what waits, of each folder the first by name, most of them. An error ends the
	// sequence.
	Inbox(ctx context.Context, most int) iter.Seq2[inbox.Item, error]
	// Take raises the item's attempts and then reads it; true if this caller has it. False: it is
	// gone, or somebody else took it since it was listed. With inbox.ErrTooLarge it is taken,
	// and its beginning returned. With any other error, taken has another ETag than it if the
	// attempt is known to be counted.
	Take(ctx context.Context, it inbox.Item) (taken inbox.Item, body []byte, ok bool, err error)
	// Release takes the attempt back that Take counted. Fine if the item is gone or was taken by
	// somebody else since.
	Release(ctx context.Context, it inbox.Item) error
	// Remove deletes a taken item. Fine if it is gone; if somebody else took it since, it stays,
	// and they repeat what was done and delete it.
	Remove(ctx context.Context, it inbox.Item) error
	// DropForeign puts a foreign document into the inbox, under the hash of body and meta:
	// dropping the same again is one item. taken: it is new, and the caller has it as if Take had
	// given it to him.
	DropForeign(ctx context.Context, body []byte, meta map[string]string) (it inbox.Item, taken bool, err error)
}

// Archive is where plans are read, and documents and samples stored (archive.Store). Durability,
// concurrency and retries are as for Inbox.
type Archive interface {
	PlanReader
	// PutDocument stores an assignment's document unless there is one; name is the blob's, with
	// the container in front.
	PutDocument(ctx context.Context, source string, slot time.Time, assignment string, body []byte) (name string, o inbox.Outcome, err error)
	// PutSamples stores the samples of an assignment's document as Parquet, once.
	PutSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error)
	// PutIntervals stores what the document says of the course of bulk runs, likewise; of a document
	// that says nothing of it there is no blob, and no name.
	PutIntervals(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error)
	// PutForeign stores a foreign document and its parameters under their hash, once.
	PutForeign(ctx context.Context, when time.Time, sum string, ext string, body []byte, meta []byte) (name string, err error)
	// Quarantine stores a body under its hash, and why; again is fine.
	Quarantine(ctx context.Context, when time.Time, origin string, body []byte, ext string, reason inbox.Reason) (name string, err error)
}

// Rows is where results are kept (tables.Store). Durability, concurrency and retries are as for
// Inbox.
type Rows interface {
	// PutResults replaces the results' rows.
	PutResults(ctx context.Context, rs []result.Result) error
	// AddForeign adds the rows of one foreign document, all or none. A row of the same document
	// is fine. With result.ErrTaken another document has one of the rows; it stays, and none of
	// this document's are left.
	AddForeign(ctx context.Context, rs []result.Result) error
	// PutLatest keeps the newest of each series; at the same slot expired gives way to a result.
	PutLatest(ctx context.Context, rs []result.Result) error
	// MarkDirty marks the hours and days of the results for recomputation.
	MarkDirty(ctx context.Context, rs []result.Result) error
}

// Ledger is the book-keeping of sweeps (tables.Store). Durability, concurrency and retries are as
// for Inbox.
type Ledger interface {
	// AdvanceEntries writes only where the new state supersedes what is stored (ledger.State).
	AdvanceEntries(ctx context.Context, es []ledger.Entry) error
}

// Ingester empties the inbox. It keeps no documents between calls; its methods may be called at
// once, and in several processes.
type Ingester struct {
	// Environment is the app's own. Documents and plans of another are refused.
	Environment string
	Inbox       Inbox
	Archive     Archive
	Rows        Rows
	Ledger      Ledger
	Now         func() time.Time
	Log         *slog.Logger
	// Concurrency is how many documents one Drain handles at once; 0 stands for
	// DefaultConcurrency.
	Concurrency int
	// Budget bounds the memory of the documents in hand, of all Ingesters that it is given to;
	// nil stands for one of the Ingester's own.
	Budget *Budget

	once sync.Once
	own  *Budget
}

func (g *Ingester) budget() *Budget {
	if g.Budget != nil {
		return g.Budget
	}
	g.once.Do(func() { g.own = NewBudget() })
	return g.own
}

// DefaultConcurrency is enough to be busy while storage answers. Memory is bounded by the Budget.
const DefaultConcurrency = 8

// Report counts what one Drain did, for one line of the caller's log. A repetition counts again:
// these are not totals.
type Report struct {
	Listed      int // items in the inbox, as far as they were looked at
	Received    int // documents stored, of planned assignments
	Foreign     int // documents stored, of others
	Quarantined int
	Left        int // to be tried again: storage faults, panics, what somebody else has or has locked
	Rows        int
	Samples     int
	// Unfinished says that time ran out before every item was looked at.
	Unfinished bool
}
