package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/plan"
)

// plans is what one call has read of plans, by the slot's name: they never change.
type plans map[string]reading

// reading is a plan, or why what is stored in its place is none.
type reading struct {
	plan *plan.Plan
	err  error // an *unreadable
}

// unreadable says that what is stored in a plan's place is no plan that this program reads, and
// that reading it again gives the same.
type unreadable struct{ cause error }

func (u *unreadable) Error() string { return u.cause.Error() }

func (u *unreadable) Unwrap() error { return u.cause }

func isUnreadable(err error) bool {
	_, ok := errors.AsType[*unreadable](err)
	return ok
}

// planOf is readPlan, once a slot for as long as known is kept.
func (d *Dispatcher) planOf(ctx context.Context, slot time.Time, known plans) (*plan.Plan, error) {
	name := wire.SlotName(slot)
	if r, ok := known[name]; ok {
		return r.plan, r.err
	}
	p, err := d.readPlan(ctx, slot)
	if p != nil || isUnreadable(err) { // one that is not there may come
		known[name] = reading{p, err}
	}
	return p, err
}

// readPlan reads a slot's plan; nil if there is none. The error is *unreadable or storage's.
func (d *Dispatcher) readPlan(ctx context.Context, slot time.Time) (*plan.Plan, error) {
	reading := func(err error) error { return fmt.Errorf("reading plan %q: %w", wire.SlotName(slot), err) }
	body, found, err := d.Mailbox.ReadPlan(ctx, slot)
	switch {
	case errors.Is(err, inbox.ErrTooLarge):
		return nil, reading(&unreadable{err})
	case err != nil:
		return nil, reading(err)
	case !found:
		return nil, nil
	}
	p, err := plan.Read(body, d.Environment, slot)
	if err != nil {
		return nil, reading(&unreadable{err})
	}
	return p, nil
}
