package ingest

import (
	"context"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/plan"
	"isochrone/sweep/result"
)

// Planned is what a prober's document says, held against the plan.
type Planned struct {
	Results []result.Result
	// Bulk says that the runs are of a kind that loads the network, and may have intervals.
	Bulk bool

	plan       *plan.Plan
	assignment *plan.Assignment
	attempt    string
}

// planned converts a prober's document that lay under a name, and holds it against the plan. One whose
// slot is older than late is refused; zero takes every age. leave gives back the room that it takes.
func (g *Ingester) planned(ctx context.Context, name wire.InboxName, body []byte, known *plans, late time.Duration) (c *Planned, leave func(), err error) {
	d, release, err := g.read(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	defer func() { // also when it panics
		if leave == nil {
			release()
		}
	}()
	if name.Attempt == "" { // an archived document's name does not say it
		name.Attempt = d.Attempt
	}
	if age := g.Now().Sub(d.Slot); late > 0 && age > late {
		return nil, nil, refuse(stageTooLate, "its slot %s is %s old; documents are taken for %s", wire.SlotName(d.Slot), age.Round(time.Second), late)
	}
	p, err := known.of(ctx, d.Slot)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, refuse(stagePlan, "no sweep was planned for slot %s", wire.SlotName(d.Slot))
	}
	a, err := match(d, name, p)
	if err != nil {
		return nil, nil, refuse(stagePlan, "%w", err)
	}
	rs, err := convert.Results(d, convert.Identity{Environment: p.Environment, Source: a.Source, Probe: a.Probe, Slot: p.Slot,
		Assignment: a.ID, Attempt: d.Attempt, Part: a.Part})
	if err != nil {
		return nil, nil, refuse(stageConvert+"results", "%w", err)
	}
	return &Planned{Results: rs, Bulk: a.Spec.Kind.IsBulk(), plan: p, assignment: a, attempt: d.Attempt}, release, nil
}
