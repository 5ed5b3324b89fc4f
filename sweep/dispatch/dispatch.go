// Package dispatch carries out a sweep as far as the app does it: it plans a slot, tells the probers,
// keeps the ledger, and expires what never came.
//
// Any number of handlers may do so at once, for the same slot or different ones, and each may end
// between any two writes. The plan is what makes that safe: it is stored once, whoever stores it
// first has the slot, and everything else is computed from it and may be written again. So a
// dispatch that was cut short is finished by the next Resume, in whatever process.
package dispatch

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// Mailbox is where the configuration, the plans and the probers' blobs lie (archive.Store).
//
// What a method has returned without an error is durable. All may be called at once, from
// several processes. None retries beyond what its transport does: a call that fails may have
// been stored all the same, and the next Resume repeats it.
type Mailbox interface {
	// Config reads sweep.yaml as the operator pushed it.
	Config(ctx context.Context) (body []byte, found bool, err error)
	// PinConfig keeps body under its hash for ever, and returns the hash.
	PinConfig(ctx context.Context, body []byte) (hash string, err error)
	// PinnedConfig reads what PinConfig keeps under a hash.
	PinnedConfig(ctx context.Context, hash string) (body []byte, found bool, err error)
	// CreatePlan stores a slot's plan unless there is one. created says that what is stored
	// now is body, also if an earlier call whose answer was lost stored it.
	CreatePlan(ctx context.Context, slot time.Time, body []byte) (created bool, err error)
	// ReadPlan reads a slot's plan. Plans never change.
	ReadPlan(ctx context.Context, slot time.Time) (body []byte, found bool, err error)
	// ReadCurrent reads what a prober is told, and the version of it; nil and "" if it was
	// never told anything.
	ReadCurrent(ctx context.Context, prober string) (body []byte, etag string, err error)
	// WriteCurrent replaces the version etag ("" stands for none). It returns false, and
	// changes nothing, when another version is stored by now that is not body.
	WriteCurrent(ctx context.Context, prober string, body []byte, etag string) (written bool, err error)
	// Registrations reads every registration, as the probers wrote them.
	Registrations(ctx context.Context) ([]inbox.Registered, error)
}

// Ledger is the book-keeping of sweeps (tables.Store). Durability, concurrency and retries are as
// for Mailbox.
type Ledger interface {
	// MarkOpen adds a slot to those that Resume looks after; again is fine.
	MarkOpen(ctx context.Context, slot time.Time) error
	// OpenSweeps lists the open slots. A slot whose MarkOpen has returned is in every later list
	// until its ClearOpen.
	OpenSweeps(ctx context.Context) ([]time.Time, error)
	// ClearOpen takes a slot out; again is fine.
	ClearOpen(ctx context.Context, slot time.Time) error
	// AdvanceHeader and AdvanceEntries write only where the new state supersedes what is stored
	// (ledger.State), atomically for each row.
	AdvanceHeader(ctx context.Context, h ledger.Header) error
	AdvanceEntries(ctx context.Context, es []ledger.Entry) error
	// Sweep reads a slot's header and entries; false if there are none.
	Sweep(ctx context.Context, slot time.Time) (ledger.Header, []ledger.Entry, bool, error)
	// Sweeps reads the headers of the slots in since <= slot < until.
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
	// PutProbers keeps what the app last saw of the probers.
	PutProbers(ctx context.Context, rs []wire.Registration) error
}

// Rows is where results are kept (tables.Store). Durability, concurrency and retries are as for
// Mailbox.
type Rows interface {
	// AddExpired adds rows for runs that never came. A row that exists wins, whatever it is.
	AddExpired(ctx context.Context, rs []result.Result) error
	// PutLatest keeps the newest of each series; at the same slot expired gives way to a result.
	PutLatest(ctx context.Context, rs []result.Result) error
	// MarkDirty marks the hours and days of the results for recomputation.
	MarkDirty(ctx context.Context, rs []result.Result) error
}

// Resolver finds the addresses of a DNS name; *net.Resolver is one. network is "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dispatcher plans sweeps and looks after them. All fields but Clock are required. It keeps nothing
// between calls; its methods may be called at once.
type Dispatcher struct {
	// Environment is the app's own. A configuration, plan or registration of another is refused.
	Environment string
	Mailbox     Mailbox
	Ledger      Ledger
	Rows        Rows
	Resolver    Resolver
	Now         func() time.Time
	// Clock is what Now is held against before anything is brought to its end. Nil stands for
	// Now itself: one clock for app and storage, as tests have it.
	Clock Clock
	Log   *slog.Logger
	// NewSeed draws the seed of a sweep's session keys (wire.NewSeed).
	NewSeed func() wire.Key
}

// Report counts what one call did, for one line of the caller's log. A repetition counts again:
// these are not totals.
type Report struct {
	Probes      int // due at the slot
	Assignments int // in the slot's plan
	Planned     int // runs in the slot's plan
	Created     int // plans that this call stored
	Dispatched  int // runs of the plans whose dispatch this call finished
	Written     int // current.json blobs that this call changed
	OverBudget  int // bulk runs that are planned with failure budget
	Down        int // probers that are no target at the slot: not registered, silent or not valid
	Expired     int // runs
	Missed      int // slots
	Completed   int // sweeps all of whose assignments are final now
	Closed      int // sweeps that need no looking after any more
	Unreadable  int // open sweeps whose plan is none that this program reads
}
