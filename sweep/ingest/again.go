package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// Again converts documents that are kept once more, by exactly what converted them when they came, and
// stores nothing. It is safe for concurrent use.
type Again struct {
	ingester *Ingester
	plans    *plans
}

// NewAgain makes an Again for an environment's documents and plans.
func NewAgain(environment string, from PlanReader, now func() time.Time) *Again {
	return &Again{&Ingester{Environment: environment, Now: now}, newPlans(environment, from)}
}

// Planned converts a prober's document that is archived; its results name it. The error is a *Refused,
// storage's, or that of ctx. Without one, leave must be called when the results are done with: it
// gives back the room that they take.
func (a *Again) Planned(ctx context.Context, d inbox.Archived, body []byte) (c *Planned, leave func(), err error) {
	name := wire.InboxName{Prober: d.Source, HHMM: d.Slot.UTC().Format("1504"), Assignment: d.Assignment}
	if c, leave, err = a.planned(ctx, name, body, 0); err != nil {
		return nil, nil, err
	}
	if !c.plan.Slot.Equal(d.Slot) {
		leave()
		return nil, nil, refused(&refusal{stagePlan, fmt.Errorf("the document says slot %s, and its blob's name %s", wire.SlotName(c.plan.Slot), wire.SlotName(d.Slot))})
	}
	for i := range c.Results {
		c.Results[i].Document = d.Name
	}
	return c, leave, nil
}

// Foreign converts a foreign document that is archived, with the parameters it came with. The rest is
// as for Planned.
func (a *Again) Foreign(ctx context.Context, d inbox.Archived, body []byte, parameters map[string]string) (c *Converted, leave func(), err error) {
	p := ParametersOf(parameters)
	if err := p.Check(); err != nil {
		return nil, nil, refused(&refusal{stageForeign, err})
	}
	err = guarded(func() error {
		c, leave, err = a.ingester.foreignResults(ctx, body, p, wire.MaxDocumentBytes)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range c.Results {
		c.Results[i].Document = d.Name
	}
	return c, leave, nil
}

// Waiting says what would be stored of a prober's document that lay in the inbox under a name. The
// rest is as for Planned.
func (a *Again) Waiting(ctx context.Context, name string, body []byte) (c *Planned, leave func(), err error) {
	parsed, err := wire.ParseInboxBlob(name)
	if err != nil {
		return nil, nil, refused(&refusal{stageName, err})
	}
	return a.planned(ctx, parsed, body, ledger.LateLimit)
}

func (a *Again) planned(ctx context.Context, name wire.InboxName, body []byte, late time.Duration) (c *Planned, leave func(), err error) {
	err = guarded(func() error {
		c, leave, err = a.ingester.planned(ctx, name, body, a.plans, late)
		return err
	})
	return c, leave, err
}

// guarded gives a refusal, or a panic over a document, as *Refused.
func guarded(read func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = refused(&refusal{stagePanic, &panicked{value: v}})
		}
	}()
	err = read()
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(r)
	}
	return err
}

// FormatOf is the format of a document as Converted has it, without reading it to its end; empty where
// nobody knows.
func FormatOf(body []byte) string {
	size, err := convert.MostOf(body)
	if err != nil {
		return ""
	}
	text, err := convert.Unwrap(body, size)
	if err != nil {
		return ""
	}
	if convert.IsDocument(text) {
		return result.OwnTool
	}
	if f := foreign.Recognise(text[:min(len(text), foreign.HeadBytes)]); f != nil {
		return f.Name
	}
	if convert.IsXML(text) {
		return FormatXML
	}
	return ""
}

// Formats are the names that FormatOf may give.
func Formats() []string {
	names := []string{result.OwnTool, FormatXML}
	for _, f := range foreign.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Retake handles a prober's document that was put back into the inbox, at once. The error is a
// *Refused. An Outcome that is not Stored says that it is left there, and the next Drain takes it.
func (g *Ingester) Retake(ctx context.Context, it inbox.Item) (Outcome, error) {
	done, err := g.handle(ctx, it, g.plans())
	if err != nil {
		g.Log.Warn("a document was left in the inbox", "item", it.Name, "reason", err.Error())
		return Outcome{}, nil
	}
	if done.refusal != nil {
		return Outcome{}, refused(done.refusal)
	}
	return Outcome{Stored: done.stored, Document: done.document, Rows: done.rows}, nil
}
