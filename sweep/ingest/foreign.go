package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

// aheadLimit is how far ahead of the app's clock a foreign time may lie.
const aheadLimit = 5 * time.Minute

// epoch is before all that there is to measure: Azure opened in 2010. A foreign time before it is
// a clock that was never set, and would make a table for its month.
var epoch = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)

// sumForm is the name that DropForeign gives an item: the hash of the document and its parameters.
var sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Outcome is what became of a foreign document that was not refused.
type Outcome struct {
	// Stored says that the rows are written. False: the document is safely in the inbox, but
	// storage failed or somebody else has it in hand there; the next Drain converts it.
	Stored   bool
	Document string // the blob that holds it, container in front; empty until Stored
	Rows     int
	// Format is that of the document, as Converted has it, and JSON the blob that holds unknown XML
	// as JSON; empty for any other.
	Format, JSON string
	// Left is what of the document could not be read, the first of LeftCount.
	Left      []foreign.Fault
	LeftCount int
}

// Refused says that a foreign document cannot be accepted. It is in quarantine; sending it again
// does not help.
type Refused struct {
	// Status is HTTP's: 413 too large, 415 no format that is known, 400 not to be read, 409 read
	// and in conflict with another document that is stored, 422 read and not acceptable.
	Status int
	// Stage is how far it came, as the quarantine's reason says it.
	Stage  string
	Reason string
	// Cause has the *convert.Refusal in its chain, where the reason is one.
	Cause error
}

// Error gives status and reason.
func (r *Refused) Error() string { return fmt.Sprintf("refused (%d): %s", r.Status, r.Reason) }

// Unwrap gives the cause.
func (r *Refused) Unwrap() error { return r.Cause }

func refused(r *refusal) *Refused {
	out := &Refused{Status: http.StatusUnprocessableEntity, Stage: r.stage, Reason: r.Error(), Cause: r}
	var c *convert.Refusal
	switch {
	case r.stage == stageConflict:
		out.Status = http.StatusConflict
	case r.stage == stageSize, errors.As(r, &c) && c.TooLarge:
		out.Status = http.StatusRequestEntityTooLarge
	case c != nil && c.Stage == convert.StageRecognise:
		out.Status = http.StatusUnsupportedMediaType
	case c != nil && c.Stage != convert.StageCheck:
		out.Status = http.StatusBadRequest
	}
	return out
}

// mostAtOnce is the size of the text, in bytes, up to which a document is stored without being put
// into the inbox first. One that is larger may take its time, or even the process: it has to be safe,
// and its attempt counted, before it is opened.
const mostAtOnce = 1 << 20

// errMore says that a text has more bytes than are read in this place.
var errMore = errors.New("the text is large")

// Foreign stores what a foreign document says. Its runs go to series whose probe begins with "ext.",
// and never into latest. The error is a *Refused, or says that the document could neither be stored nor
// put into the inbox, and then the sender should try again.
//
// Most are stored at once. What is large, or met a fault of storage or of ours, goes through the
// inbox, where the next Drain finds it if it cannot be finished here either.
func (g *Ingester) Foreign(ctx context.Context, body []byte, p Parameters) (Outcome, error) {
	it := inbox.Item{Size: int64(len(body)), Created: g.Now(), Meta: p.Meta()}
	it.Name = wire.InboxForeignFolder + "/" + inbox.ForeignSum(body, it.Meta)
	if err := p.Check(); err != nil {
		return Outcome{}, g.refuseUnseen(ctx, it, body, &refusal{stageForeign, err})
	}
	if len(body) > wire.MaxDocumentBytes {
		return Outcome{}, g.refuseUnseen(ctx, it, body, &refusal{stageSize, fmt.Errorf("it has %d bytes, and a document at most %d", len(body), wire.MaxDocumentBytes)})
	}
	done, err := g.atOnce(ctx, it, body)
	if err == nil {
		return done.outcome()
	}
	if !errors.Is(err, errMore) {
		g.Log.Warn("a foreign document could not be stored at once: it goes through the inbox", "item", it.Name, "reason", err.Error())
	}
	return g.throughInbox(ctx, body, p)
}

// atOnce stores or refuses a document that lies nowhere yet. It leaves half of ctx's time for the
// inbox. After an error, and after a crash, anything of it may be stored: it is the same when the
// sender, who has no answer, sends it again, or when it comes through the inbox.
func (g *Ingester) atOnce(ctx context.Context, it inbox.Item, body []byte) (handled, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	done, err := g.guard(it, func() (handled, error) { return g.openForeign(ctx, it, body, mostAtOnce) })
	if errors.As(err, &done.refusal) {
		err = g.quarantine(ctx, it, body, done.refusal)
	}
	done.stored = done.refusal == nil
	return done, err
}

// throughInbox puts a document into the inbox and handles it from there.
func (g *Ingester) throughInbox(ctx context.Context, body []byte, p Parameters) (Outcome, error) {
	it, taken, err := g.Inbox.DropForeign(ctx, body, p.Meta())
	if err != nil {
		return Outcome{}, fmt.Errorf("receiving a document: %w", err)
	}
	var done handled
	switch {
	case taken: // what has just been written need not be read
		done, err = g.handleTaken(ctx, it, body, nil)
	case it.Attempts > 0:
		// Another sender of the same has it in hand, or had it when his process ended; only a Drain finds out
		// which. Whoever takes it meanwhile counts against a document that is in order.
		return Outcome{}, nil
	default:
		done, err = g.handle(ctx, it, nil)
	}
	if err != nil {
		g.Log.Warn("a foreign document was left in the inbox", "item", it.Name, "reason", err.Error())
		return Outcome{}, nil
	}
	return done.outcome()
}

func (done *handled) outcome() (Outcome, error) {
	if done.refusal != nil {
		return Outcome{}, refused(done.refusal)
	}
	out := Outcome{Stored: done.stored, Document: done.document, Rows: done.rows, JSON: done.json}
	if c := done.converted; c != nil {
		out.Format, out.Left, out.LeftCount = c.Format, c.Left, c.LeftCount
	}
	return out, nil
}

// Convert says what Foreign would store of a document, and stores nothing: it needs no more of the
// Ingester than Environment and Now. The error is a *Refused, or that of ctx.
func (g *Ingester) Convert(ctx context.Context, body []byte, p Parameters) (*Converted, error) {
	if err := p.Check(); err != nil {
		return nil, refused(&refusal{stageForeign, err})
	}
	c, leave, err := g.foreignResults(ctx, body, p, wire.MaxDocumentBytes)
	if r, ok := errors.AsType[*refusal](err); ok {
		return nil, refused(r)
	}
	if err != nil {
		return nil, err
	}
	leave()
	return c, nil
}

// refuseUnseen quarantines what the inbox would not take.
func (g *Ingester) refuseUnseen(ctx context.Context, it inbox.Item, body []byte, r *refusal) error {
	for name, value := range it.Meta { // nobody has looked at them
		it.Meta[name] = shortened(value, maxParameterBytes)
	}
	if err := g.quarantine(ctx, it, body, r); err != nil {
		return fmt.Errorf("receiving a document: %w", err)
	}
	return refused(r)
}

func isForeign(it inbox.Item) bool { return strings.HasPrefix(it.Name, wire.InboxForeignFolder+"/") }

// openForeign stores a foreign document: the document and its parameters, the rows, and the marks
// for what is computed from them. It has no samples in the lake, which holds what probers sent,
// and no part in latest or in the ledger, which follow what was planned. Of a text of more than most
// bytes nothing is read, and the error is errMore.
func (g *Ingester) openForeign(ctx context.Context, it inbox.Item, body []byte, most int64) (handled, error) {
	sum := strings.TrimPrefix(it.Name, wire.InboxForeignFolder+"/")
	if !sumForm.MatchString(sum) {
		return handled{}, refuse(stageName, "inbox blob %q: want the SHA-256 of a foreign document in hexadecimal", it.Name)
	}
	c, leave, err := g.foreignResults(ctx, body, ParametersOf(it.Meta), most)
	if err != nil {
		return handled{}, err
	}
	defer leave()
	// The day is the document's own, so that sending it again another day is the same blob.
	day := it.Created
	if len(c.Results) > 0 {
		day = c.Results[0].Slot
	}
	done, err := g.keepForeign(ctx, sum, day, body, it.Meta, c)
	if err != nil {
		return handled{}, err
	}
	for i := range c.Results {
		c.Results[i].Document = done.document
	}
	if len(c.Results) == 0 {
		return done, nil
	}
	switch err := g.Rows.AddForeign(ctx, c.Results); {
	case errors.Is(err, result.ErrTaken):
		return handled{}, refuse(stageConflict, "a run of its series in the same second is stored already, and is never replaced: %w", err)
	case err != nil:
		return handled{}, fmt.Errorf("storing the rows: %w", err)
	}
	if err := g.Rows.MarkDirty(ctx, c.Results); err != nil {
		return handled{}, fmt.Errorf("marking what is to be recomputed: %w", err)
	}
	return done, nil
}

// keepForeign stores the document byte for byte, its parameters, and unknown XML as JSON.
func (g *Ingester) keepForeign(ctx context.Context, sum string, day time.Time, body []byte, parameters map[string]string, c *Converted) (done handled, err error) {
	meta, err := json.Marshal(parameters) // sorted by key
	if err != nil {
		return done, refuse(stageForeign, "encoding its parameters: %w", err)
	}
	done = handled{rows: len(c.Results), converted: c}
	if c.JSON != nil {
		if done.json, err = g.Archive.PutForeign(ctx, day, sum, "xml.json", c.JSON, meta); err != nil {
			return done, fmt.Errorf("storing the document as JSON: %w", err)
		}
	}
	if done.document, err = g.Archive.PutForeign(ctx, day, sum, extension(body), body, meta); err != nil {
		return done, fmt.Errorf("storing the document: %w", err)
	}
	return done, nil
}
