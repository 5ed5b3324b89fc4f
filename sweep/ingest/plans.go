package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

// plansKept bounds the plans that a Drain holds: one may take several megabytes, and a backlog
// after an outage spans many slots.
const plansKept = 24

// plans reads plans, each once as long as there is room: they never change.
type plans struct {
	environment string
	reader      PlanReader

	lock  sync.Mutex
	known map[string]*slotPlan
	order []string // oldest first
}

// slotPlan is the plan of one slot: nil if there is none, or if it cannot be read.
type slotPlan struct {
	lock sync.Mutex // held while it is read
	read bool
	plan *plan.Plan
	err  error
}

// PlanReader is where plans are read: the part of Archive that is enough for Again.
type PlanReader interface {
	// ReadPlan reads a slot's plan. Plans never change.
	ReadPlan(ctx context.Context, slot time.Time) (body []byte, found bool, err error)
}

func newPlans(environment string, from PlanReader) *plans {
	return &plans{environment: environment, reader: from, known: map[string]*slotPlan{}}
}

func (g *Ingester) plans() *plans { return newPlans(g.Environment, g.Archive) }

// of returns a slot's plan, nil if there is none. An error is storage's, or says that what is
// stored is no plan that this version of the app reads: the documents wait until one does.
func (p *plans) of(ctx context.Context, slot time.Time) (*plan.Plan, error) {
	s := p.slot(wire.SlotName(slot))
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.read {
		return s.plan, s.err
	}
	body, found, err := p.reader.ReadPlan(ctx, slot)
	if err != nil {
		return nil, fmt.Errorf("reading plan %q: %w", wire.SlotName(slot), err)
	}
	if found {
		if s.plan, err = plan.Read(body, p.environment, slot); err != nil {
			s.err = fmt.Errorf("reading plan %q: %w", wire.SlotName(slot), err)
		}
	}
	s.read = true
	return s.plan, s.err
}

func (p *plans) slot(name string) *slotPlan {
	p.lock.Lock()
	defer p.lock.Unlock()
	if s := p.known[name]; s != nil {
		return s
	}
	if len(p.order) == plansKept {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
	s := &slotPlan{}
	p.known[name] = s
	p.order = append(p.order, name)
	return s
}
