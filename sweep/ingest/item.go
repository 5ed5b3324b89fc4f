package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// MaxAttempts is how many times a document may be opened without coming to an end.
//
// An attempt is counted before the document is opened, because a document may take the whole
// process with it, and then nobody is left to count. What follows depends on how it ended:
//
//   - stored or refused: the document leaves the inbox, and the count with it;
//   - storage refused what the document says: it is refused, for that will not change;
//   - storage failed: not the document's fault, so the attempt is given back, and the document
//     is tried at every tick for as long as it takes;
//   - it panicked: the attempt stays counted, and the third one quarantines it;
//   - the process ended: the attempt stays counted, and who takes it for the fourth time
//     quarantines it unopened.
//
// So the count is the number of attempts that nobody saw through. A neighbour that was open when
// the process ended is counted too: therefore what has a count is handled alone, after all
// others (see Drain), and a second crash counts against nobody but its cause.
const MaxAttempts = 3

// The stages at which a document can be refused, as the quarantine's reason says them. A refusal
// of convert's is "convert/" and convert's own stage.
const (
	stageSize     = "size"
	stageAttempts = "attempts"
	stagePanic    = "panic"
	stageName     = "name"
	stageConvert  = "convert/"
	stageTooLate  = "too_late"
	stageTooEarly = "too_early"
	stagePlan     = "plan"
	stageConflict = "conflict"
	stageForeign  = "foreign"
	stageStore    = "store"
)

const maxReasonBytes = 4 << 10

// refusal says that a document cannot be accepted, now or later. Every other error is storage's.
type refusal struct {
	stage string
	err   error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(stage string, format string, args ...any) error {
	return &refusal{stage: stage, err: fmt.Errorf(format, args...)}
}

// panicked is the error of a document that made the code that read it panic.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// handled is what became of an item. A nil refusal and no storing mean that somebody else has it.
type handled struct {
	stored   bool
	refusal  *refusal
	document string // the blob that holds it
	json     string // the blob that holds it as JSON, if there is one
	// converted is what a foreign document came to.
	converted *Converted
	rows      int
	samples   int
}

// handle takes an item and brings it to its end: stored, or in quarantine. An error says that it
// is left in the inbox.
func (g *Ingester) handle(ctx context.Context, listed inbox.Item, known *plans) (handled, error) {
	leave, err := g.budget().body(ctx, listed)
	if err != nil {
		return handled{}, fmt.Errorf("taking %q: %w", listed.Name, err)
	}
	defer leave()
	it, body, ok, err := g.Inbox.Take(ctx, listed)
	switch {
	case errors.Is(err, inbox.ErrTooLarge):
		err = refuse(stageSize, "it has %d bytes, and a document at most %d; only its beginning is kept", it.Size, wire.MaxDocumentBytes)
	case err != nil:
		if it.ETag != listed.ETag { // it was counted, and could not be read
			g.release(ctx, it)
		}
		return handled{}, fmt.Errorf("taking %q: %w", listed.Name, err)
	case !ok:
		return handled{}, nil
	case it.Attempts > MaxAttempts:
		err = refuse(stageAttempts, "it was opened %d times, and each time the process ended before it was stored", it.Attempts-1)
	}
	var done handled
	if err == nil {
		done, err = g.open(ctx, it, body, known)
	}
	return g.finish(ctx, it, body, done, err)
}

// handleTaken is handle of an item that the caller has already taken, and has the body of.
func (g *Ingester) handleTaken(ctx context.Context, it inbox.Item, body []byte, known *plans) (handled, error) {
	leave, err := g.budget().body(ctx, it)
	if err != nil {
		g.release(ctx, it)
		return handled{}, fmt.Errorf("taking %q: %w", it.Name, err)
	}
	defer leave()
	done, err := g.open(ctx, it, body, known)
	return g.finish(ctx, it, body, done, err)
}

// finish brings an item that was opened to its end, as open's error says.
func (g *Ingester) finish(ctx context.Context, it inbox.Item, body []byte, done handled, err error) (handled, error) {
	var bad *panicked
	if errors.As(err, &bad) {
		if it.Attempts < MaxAttempts {
			return handled{}, fmt.Errorf("opening %q: attempt %d of %d: %w", it.Name, it.Attempts, MaxAttempts, err)
		}
		err = refuse(stagePanic, "it was opened %d times: %w", it.Attempts, err)
	}
	if errors.As(err, &done.refusal) {
		err = g.quarantine(ctx, it, body, done.refusal)
	}
	if err == nil {
		err = g.Inbox.Remove(ctx, it)
	}
	if err != nil {
		g.release(ctx, it)
		return handled{}, fmt.Errorf("handling %q: %w", it.Name, err)
	}
	done.stored = done.refusal == nil
	return done, nil
}

// open reads a document and stores what it says.
func (g *Ingester) open(ctx context.Context, it inbox.Item, body []byte, known *plans) (handled, error) {
	return g.guard(it, func() (handled, error) {
		if isForeign(it) {
			return g.openForeign(ctx, it, body, wire.MaxDocumentBytes)
		}
		return g.openPlanned(ctx, it, body, known)
	})
}

// guard has a document opened. Whatever the document makes the code do, only the document suffers.
func (g *Ingester) guard(it inbox.Item, open func() (handled, error)) (done handled, err error) {
	defer func() {
		if v := recover(); v != nil {
			g.Log.Error("a document made its reader panic", "item", it.Name, "attempts", it.Attempts, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			done, err = handled{}, &panicked{value: v}
		}
	}()
	done, err = open()
	if errors.Is(err, result.ErrRefused) { // storable should have found it
		return handled{}, refuse(stageStore, "storage cannot hold it: %w", err)
	}
	return done, err
}

// openPlanned stores a prober's document: the document itself, its samples, the rows, the newest
// runs, the marks for what is computed from the rows, and last the ledger.
func (g *Ingester) openPlanned(ctx context.Context, it inbox.Item, body []byte, known *plans) (handled, error) {
	name, err := wire.ParseInboxBlob(it.Name)
	if err != nil {
		return handled{}, refuse(stageName, "%w", err)
	}
	c, leave, err := g.planned(ctx, name, body, known, ledger.LateLimit)
	if err != nil {
		return handled{}, err
	}
	defer leave()
	p, a, rs := c.plan, c.assignment, c.Results
	blob, outcome, err := g.Archive.PutDocument(ctx, a.Source, p.Slot, a.ID, body)
	if err != nil {
		return handled{}, fmt.Errorf("storing the document: %w", err)
	}
	if outcome == inbox.Conflict {
		return handled{}, refuse(stageConflict, "%q holds another document of the assignment, and samples are never counted twice", blob)
	}
	for i := range rs {
		rs[i].Document = blob
	}
	_, samples, err := g.Archive.PutSamples(ctx, a.Source, p.Slot, a.ID, rs)
	if err != nil {
		return handled{}, fmt.Errorf("storing the samples: %w", err)
	}
	if a.Spec.Kind.IsBulk() {
		if _, _, err := g.Archive.PutIntervals(ctx, a.Source, p.Slot, a.ID, rs); err != nil {
			return handled{}, fmt.Errorf("storing the intervals: %w", err)
		}
	}
	if err := g.Rows.PutResults(ctx, rs); err != nil {
		return handled{}, fmt.Errorf("storing the rows: %w", err)
	}
	if err := g.Rows.PutLatest(ctx, rs); err != nil {
		return handled{}, fmt.Errorf("storing the newest runs: %w", err)
	}
	if err := g.Rows.MarkDirty(ctx, rs); err != nil {
		return handled{}, fmt.Errorf("marking what is to be recomputed: %w", err)
	}
	entry := ledger.Entry{Slot: p.Slot, Key: ledger.Key{Source: a.Source, Probe: a.Probe, Part: a.Part}, Assignment: a.ID,
		State: ledger.Received, Runs: len(a.Runs), Attempt: c.attempt}
	if err := g.Ledger.AdvanceEntries(ctx, []ledger.Entry{entry}); err != nil {
		return handled{}, fmt.Errorf("writing the ledger: %w", err)
	}
	return handled{document: blob, rows: len(rs), samples: samples}, nil
}

// read converts a body, when there is room for it, and checks what holds for every document of
// this app. leave gives the room back.
func (g *Ingester) read(ctx context.Context, body []byte) (d *wire.Document, leave func(), err error) {
	packed, err := convert.Measure(body)
	if err != nil {
		return nil, nil, refuseConvert(err)
	}
	release, err := g.budget().open(ctx, packed.Size())
	if err != nil {
		return nil, nil, err
	}
	defer func() { // also when it panics
		if leave == nil {
			release()
		}
	}()
	d, err = packed.Document()
	if err != nil {
		return nil, nil, refuseConvert(err)
	}
	if err := g.acceptable(d); err != nil {
		return nil, nil, err
	}
	return d, release, nil
}

// acceptable refuses a document of another environment, and what no row could hold.
func (g *Ingester) acceptable(d *wire.Document) error {
	if d.Environment != g.Environment {
		return refuse(stagePlan, "it is of environment %q, and the setting says %q", d.Environment, g.Environment)
	}
	if err := storable(d); err != nil {
		return refuse(stageConvert+string(convert.StageCheck), "%w", err)
	}
	return nil
}

// refuseConvert is what convert refused.
func refuseConvert(err error) error {
	stage := stageConvert
	var r *convert.Refusal
	if errors.As(err, &r) {
		stage += string(r.Stage)
	}
	return refuse(stage, "%w", err)
}

// quarantine stores a refused body and why. The day is that of the item's creation, so that a
// repetition after midnight is the same blob.
func (g *Ingester) quarantine(ctx context.Context, it inbox.Item, body []byte, r *refusal) error {
	text := shortened(r.Error(), maxReasonBytes)
	name, err := g.Archive.Quarantine(ctx, it.Created, it.Name, body, extension(body),
		inbox.Reason{Origin: it.Name, Stage: r.stage, Text: text, Attempts: it.Attempts, When: g.Now(), Parameters: it.Meta})
	if err != nil {
		return fmt.Errorf("moving it to quarantine (%s): %w", r.stage, err)
	}
	g.Log.Warn("a document was quarantined", "item", it.Name, "stage", r.stage, "reason", text, "quarantine", name)
	return nil
}

// shortened is a text of at most so many bytes, and a mark that it went on.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// release gives an attempt back. It has a little time of its own, because ctx may be what ended.
// If it fails, the attempt stays counted: three of those in a row would quarantine a document
// that is in order, whole and with the reason.
func (g *Ingester) release(ctx context.Context, it inbox.Item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := g.Inbox.Release(ctx, it); err != nil {
		g.Log.Warn("giving an attempt back failed", "item", it.Name, "attempts", it.Attempts, "reason", err.Error())
	}
}

// extension names what a body looks like, for people and tools that open it.
func extension(body []byte) string {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\uFEFF")), " \t\r\n")
	switch {
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}): // RFC 1952
		return "gz"
	case bytes.HasPrefix(trimmed, []byte("{")):
		return "json"
	case bytes.HasPrefix(trimmed, []byte("<")):
		return "xml"
	case len(trimmed) > 0 && utf8.Valid(body):
		return "txt"
	}
	return "bin"
}
