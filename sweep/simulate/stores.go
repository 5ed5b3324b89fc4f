package simulate

import (
	"context"
	"fmt"
	"iter"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// Archive is where plans, documents and samples are stored (archive.Store). What is said of ingest.Archive
// holds here too.
type Archive interface {
	ingest.Archive
	PinConfig(ctx context.Context, body []byte) (hash string, err error)
	// CreatePlan stores a slot's plan unless there is one; created says that what is stored now is body.
	CreatePlan(ctx context.Context, slot time.Time, body []byte) (created bool, err error)
}

// Rows is where results are kept (tables.Store).
type Rows interface {
	// AddSimulated adds rows where there is none yet. A row that exists wins, whatever it is.
	AddSimulated(ctx context.Context, rs []result.Result) error
	// Latest reads the newest run of each series of a path and probe.
	Latest(ctx context.Context, path, probe string) ([]tables.Row, error)
	PutLatest(ctx context.Context, rs []result.Result) error
	MarkDirty(ctx context.Context, rs []result.Result) error
}

// Ledger is the book-keeping of sweeps (tables.Store).
type Ledger interface {
	Sweeps(ctx context.Context, since, until time.Time) ([]ledger.Header, error)
	AdvanceHeader(ctx context.Context, h ledger.Header) error
	AdvanceEntries(ctx context.Context, es []ledger.Entry) error
}

// task is one document to be made: its plan and the assignment.
type task struct {
	plan       *plan.Plan
	assignment *plan.Assignment
}

// waiting is an inbox in memory: its documents are made when they are taken.
type waiting struct {
	model *Model
	order []string
	tasks map[string]task
	made  func() // is told of each document that was stored
}

// Inbox implements ingest.Inbox.
func (w *waiting) Inbox(context.Context, int) iter.Seq2[inbox.Item, error] {
	return func(yield func(inbox.Item, error) bool) {
		for _, name := range w.order {
			if !yield(inbox.Item{Name: name, ETag: "0"}, nil) {
				return
			}
		}
	}
}

// Take implements ingest.Inbox.
func (w *waiting) Take(_ context.Context, it inbox.Item) (taken inbox.Item, body []byte, ok bool, err error) {
	t, ok := w.tasks[it.Name]
	if !ok {
		return it, nil, false, nil
	}
	d, err := w.model.Document(t.plan, t.assignment)
	if err == nil {
		body, err = Encode(d)
	}
	it.Attempts, it.Size = 1, int64(len(body))
	return it, body, err == nil, err
}

// Release implements ingest.Inbox: nothing is counted here.
func (w *waiting) Release(context.Context, inbox.Item) error { return nil }

// Remove implements ingest.Inbox.
func (w *waiting) Remove(context.Context, inbox.Item) error {
	w.made()
	return nil
}

// DropForeign implements ingest.Inbox.
func (w *waiting) DropForeign(context.Context, []byte, map[string]string) (inbox.Item, bool, error) {
	return inbox.Item{}, false, fmt.Errorf("simulating: nothing foreign is made up")
}

// shelf is the archive with the plans of a batch at hand. What ingest refuses is a fault of the model, and goes to nobody's quarantine.
type shelf struct {
	Archive
	plans map[string][]byte // by slot's name
}

// ReadPlan implements ingest.PlanReader.
func (s *shelf) ReadPlan(_ context.Context, slot time.Time) (body []byte, found bool, err error) {
	body, found = s.plans[wire.SlotName(slot)]
	return body, found, nil
}

// Quarantine implements ingest.Archive.
func (s *shelf) Quarantine(_ context.Context, _ time.Time, origin string, _ []byte, _ string, why inbox.Reason) (string, error) {
	return "", fmt.Errorf("the simulated document %q is refused (%s): %s", origin, why.Stage, why.Text)
}
