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
	"isochrone/sweep/inbox"
	"isochrone/sweep/result"
)

// aheadLimit is how far ahead of the app's clock a foreign time may lie.
const aheadLimit = 5 * time.Minute

// epoch is before all that there is to measure: Azure opened in 2010. A foreign time before it is
// a clock that was never set, and would make a table for its month.
var epoch = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)

// maxParameterBytes is the longest parameter: storage has room for a few of those beside a blob.
const maxParameterBytes = 200

// sumForm is the name that DropForeign gives an item: the hash of the document and its parameters.
var sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// documentTool is a result's Tool when a foreign document is one of our own format.
const documentTool = "isochrone"

// Parameters is what a foreign document came with: the query of POST /api/results. All are
// optional; a document that names its own source, target, path or probe is refused if it says
// otherwise. The probe is given without "ext.".
type Parameters struct {
	Source, Target, Path, Probe string
}

// check refuses what is longer than any name.
func (p Parameters) check() error {
	for _, of := range []struct{ what, is string }{{"source", p.Source}, {"target", p.Target}, {"path", p.Path}, {"probe", p.Probe}} {
		if len(of.is) > maxParameterBytes {
			return fmt.Errorf("the parameter %s has %d bytes: want at most %d", of.what, len(of.is), maxParameterBytes)
		}
	}
	return nil
}

func (p Parameters) meta() map[string]string {
	meta := map[string]string{}
	for key, value := range map[string]string{"source": p.Source, "target": p.Target, "path": p.Path, "probe": p.Probe} {
		if value != "" {
			meta[key] = value
		}
	}
	return meta
}

func parameters(meta map[string]string) Parameters {
	return Parameters{Source: meta["source"], Target: meta["target"], Path: meta["path"], Probe: meta["probe"]}
}

// Outcome is what became of a foreign document that was not refused.
type Outcome struct {
	// Stored says that the rows are written. False: the document is safely in the inbox, but
	// storage failed or somebody else has it in hand; the next Drain converts it.
	Stored   bool
	Document string // the blob that holds it, container in front; empty until Stored
	Rows     int
}

// Refused says that a foreign document cannot be accepted. It is in quarantine; sending it again
// does not help.
type Refused struct {
	// Status is HTTP's: 413 too large, 415 no format that is known, 400 not to be read, 409 read
	// and in conflict with another document that is stored, 422 read and not acceptable.
	Status int
	Reason string
	// Cause has the *convert.Refusal in its chain, where the reason is one.
	Cause error
}

// Error gives status and reason.
func (r *Refused) Error() string { return fmt.Sprintf("refused (%d): %s", r.Status, r.Reason) }

// Unwrap gives the cause.
func (r *Refused) Unwrap() error { return r.Cause }

func refused(r *refusal) *Refused {
	out := &Refused{Status: http.StatusUnprocessableEntity, Reason: r.Error(), Cause: r}
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

// Foreign drops a foreign document into the inbox and converts it at once. Its runs go to series
// whose probe begins with "ext.", and never into latest. The error is a *Refused, or says that
// not even the inbox could be reached, and then the sender should try again.
func (g *Ingester) Foreign(ctx context.Context, body []byte, p Parameters) (Outcome, error) {
	if err := p.check(); err != nil {
		return Outcome{}, g.refuseUnseen(ctx, body, &refusal{stageForeign, err})
	}
	if len(body) > wire.MaxDocumentBytes {
		return Outcome{}, g.refuseUnseen(ctx, body, &refusal{stageSize, fmt.Errorf("it has %d bytes, and a document at most %d", len(body), wire.MaxDocumentBytes)})
	}
	it, err := g.Inbox.DropForeign(ctx, body, p.meta())
	if err != nil {
		return Outcome{}, fmt.Errorf("receiving a document: %w", err)
	}
	done, err := g.handle(ctx, it, nil)
	if err != nil {
		g.Log.Warn("a foreign document was left in the inbox", "item", it.Name, "reason", err.Error())
		return Outcome{}, nil
	}
	if done.refusal != nil {
		return Outcome{}, refused(done.refusal)
	}
	return Outcome{Stored: done.stored, Document: done.document, Rows: done.rows}, nil
}

// Convert says what Foreign would store of a document, and stores nothing: it needs no more of the
// Ingester than Environment and Now. The error is a *Refused, or that of ctx.
func (g *Ingester) Convert(ctx context.Context, body []byte, p Parameters) ([]result.Result, error) {
	if err := p.check(); err != nil {
		return nil, refused(&refusal{stageForeign, err})
	}
	rs, leave, err := g.foreignResults(ctx, body, p)
	if r, ok := errors.AsType[*refusal](err); ok {
		return nil, refused(r)
	}
	if err != nil {
		return nil, err
	}
	leave()
	return rs, nil
}

// foreignResults converts a foreign document and checks what has to hold for one. leave gives
// back the room that it takes.
func (g *Ingester) foreignResults(ctx context.Context, body []byte, p Parameters) (rs []result.Result, leave func(), err error) {
	d, leave, err := g.read(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	if err = p.agree(d); err != nil {
		err = refuse(stageForeign, "%w", err)
	} else if err = g.plausible(d); err == nil {
		rs, err = convert.Results(d, convert.Identity{Environment: g.Environment, Source: d.Source, Probe: wire.ForeignPrefix + d.Probe, Tool: documentTool})
		if err == nil {
			err = distinct(rs)
		}
		if err != nil {
			err = refuse(stageForeign, "%w", err)
		}
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return rs, leave, nil
}

// refuseUnseen quarantines what the inbox would not take.
func (g *Ingester) refuseUnseen(ctx context.Context, body []byte, r *refusal) error {
	it := inbox.Item{Name: wire.InboxForeignFolder + "/", Created: g.Now()}
	if err := g.quarantine(ctx, it, body, r); err != nil {
		return fmt.Errorf("receiving a document: %w", err)
	}
	return refused(r)
}

func isForeign(it inbox.Item) bool { return strings.HasPrefix(it.Name, wire.InboxForeignFolder+"/") }

// openForeign stores a foreign document: the document and its parameters, the rows, and the marks
// for what is computed from them. It has no samples in the lake, which holds what probers sent,
// and no part in latest or in the ledger, which follow what was planned.
func (g *Ingester) openForeign(ctx context.Context, it inbox.Item, body []byte) (handled, error) {
	sum := strings.TrimPrefix(it.Name, wire.InboxForeignFolder+"/")
	if !sumForm.MatchString(sum) {
		return handled{}, refuse(stageName, "inbox blob %q: want the SHA-256 of a foreign document in hexadecimal", it.Name)
	}
	rs, leave, err := g.foreignResults(ctx, body, parameters(it.Meta))
	if err != nil {
		return handled{}, err
	}
	defer leave()
	meta, err := json.Marshal(it.Meta) // sorted by key
	if err != nil {
		return handled{}, refuse(stageForeign, "encoding its parameters: %w", err)
	}
	// The day is the document's own, so that sending it again another day is the same blob.
	blob, err := g.Archive.PutForeign(ctx, rs[0].Slot, sum, extension(body), body, meta)
	if err != nil {
		return handled{}, fmt.Errorf("storing the document: %w", err)
	}
	for i := range rs {
		rs[i].Document = blob
	}
	switch err := g.Rows.AddForeign(ctx, rs); {
	case errors.Is(err, result.ErrTaken):
		return handled{}, refuse(stageConflict, "a run of its series in the same second is stored already, and is never replaced: %w", err)
	case err != nil:
		return handled{}, fmt.Errorf("storing the rows: %w", err)
	}
	if err := g.Rows.MarkDirty(ctx, rs); err != nil {
		return handled{}, fmt.Errorf("marking what is to be recomputed: %w", err)
	}
	return handled{document: blob, rows: len(rs)}, nil
}

// agree refuses parameters that contradict the document.
func (p Parameters) agree(d *wire.Document) error {
	differ := func(what, parameter, document string) error {
		if parameter == "" || parameter == document {
			return nil
		}
		return fmt.Errorf("the parameter %s is %.64q, and the document says %.64q", what, parameter, document)
	}
	err := errors.Join(differ("source", p.Source, d.Source), differ("probe", p.Probe, d.Probe))
	for i := range d.Runs {
		err = errors.Join(err, differ("target", p.Target, d.Runs[i].Target), differ("path", p.Path, d.Runs[i].Path))
		if err != nil {
			return err
		}
	}
	return err
}

// plausible refuses times that cannot be those of a measurement.
func (g *Ingester) plausible(d *wire.Document) error {
	limit := g.Now().Add(aheadLimit)
	for i := range d.Runs {
		r := &d.Runs[i]
		for _, t := range []*time.Time{&r.PlannedStart, r.Start, r.End} {
			switch {
			case t == nil:
			case t.After(limit):
				return refuse(stageTooEarly, "runs[%d]: the time %s lies more than %s ahead of the app's clock", i, t.Format(time.RFC3339), aheadLimit)
			case t.Before(epoch):
				return refuse(stageForeign, "runs[%d]: the time %s lies before %s", i, t.Format(time.RFC3339), epoch.Format(time.DateOnly))
			}
		}
	}
	return nil
}

// distinct refuses two runs of one series in the same second: they would be one row.
func distinct(rs []result.Result) error {
	seen := map[string]int{}
	for i := range rs {
		key := fmt.Sprintf("%s|%d", rs[i].Series, rs[i].Slot.Unix())
		if first, ok := seen[key]; ok {
			return fmt.Errorf("runs[%d] and runs[%d] are of one series and began in the same second", first, i)
		}
		seen[key] = i
	}
	return nil
}
