package tick

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"isochrone/functions/ncrontab"
	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
)

// soon is how long after its slot a sweep that failed is tried again: a late measurement is never filed
// under an old hour.
const soon = 5 * time.Minute

// Dispatcher is what the timers need of dispatch.Dispatcher.
type Dispatcher interface {
	Sweep(ctx context.Context, slot time.Time, missed []time.Time) (dispatch.Report, error)
	Miss(ctx context.Context, slots []time.Time) (dispatch.Report, error)
	Owe(ctx context.Context, slots []time.Time) (dispatch.Report, error)
	Unswept(ctx context.Context, until time.Time, ticks func(after, before time.Time) []time.Time) ([]time.Time, error)
	Deliver(ctx context.Context) (dispatch.Report, error)
}

// Debts are slots whose sweep failed: the host does not fire a slot's tick again, and while storage is away
// nothing can be written down there. Young ones are swept yet, the others are recorded as missed once
// storage is back. A process that ends takes them with it, and another one may serve
// the next tick; so a process that did not serve the tick before looks at the ledger. The zero value has none;
// the methods may be called at once.
type Debts struct {
	mu     sync.Mutex
	slots  map[time.Time]bool
	served time.Time // the last tick of the schedule after which nothing that came before was left to look for
}

// Sweep does what a tick of the Sweep timer is to do: it plans and dispatches the slot, if there is one to
// serve, and records those that were missed; finishes dispatches that were cut short, also when the slot's
// own failed; and records what is owed. now is the time, due the timer's schedule.
func (b *Debts) Sweep(ctx context.Context, d Dispatcher, t Tick, due ncrontab.Schedule, now time.Time) (swept, delivered dispatch.Report, err error) {
	var sweepErr, debtErr error
	until := t.Slot
	if t.Slot.IsZero() {
		until = now
		swept, sweepErr = d.Miss(ctx, t.Missed)
	} else {
		swept, sweepErr = d.Sweep(ctx, t.Slot, t.Missed)
	}
	delivered, deliverErr := d.Deliver(ctx)
	if sweepErr != nil {
		b.Owe(t)
	} else {
		debtErr = b.settle(ctx, d, due, until, now)
	}
	return swept, delivered, errors.Join(sweepErr, deliverErr, debtErr)
}

// Owe remembers what a tick was to do and did not, for the ticks that follow.
func (b *Debts) Owe(t Tick) {
	if t.OnDemand { // who asked is told
		return
	}
	b.add(t.Missed...)
	if !t.Slot.IsZero() {
		b.add(t.Slot)
	}
}

// add remembers slots; of more than maxMissed the newest.
func (b *Debts) add(slots ...time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slots == nil {
		b.slots = map[time.Time]bool{}
	}
	for _, slot := range slots {
		b.slots[wire.Slot(slot)] = true
	}
	if all := slices.SortedFunc(maps.Keys(b.slots), time.Time.Compare); len(all) > maxMissed {
		for _, slot := range all[:len(all)-maxMissed] {
			delete(b.slots, slot)
		}
	}
}

func (b *Debts) drop(slots ...time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, slot := range slots {
		delete(b.slots, wire.Slot(slot))
	}
}

// list is those that fit, oldest first.
func (b *Debts) list(fits func(slot time.Time) bool) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(b.slots), time.Time.Compare), func(slot time.Time) bool { return !fits(slot) })
}

// SweepAgain sweeps the slots whose sweep failed and that are not too old.
func (b *Debts) SweepAgain(ctx context.Context, d Dispatcher, now time.Time) error {
	var faults []error
	for _, slot := range b.list(func(slot time.Time) bool { return now.Sub(slot) <= soon }) {
		if _, err := d.Sweep(ctx, slot, nil); err != nil {
			faults = append(faults, err)
			continue
		}
		b.drop(slot)
	}
	return errors.Join(faults...)
}

// settle records the slots that are too old to be swept as missed. until is the slot that the tick serves, or now.
func (b *Debts) settle(ctx context.Context, d Dispatcher, due ncrontab.Schedule, until, now time.Time) error {
	if err := b.look(ctx, d, due, until); err != nil {
		return err
	}
	old := b.list(func(slot time.Time) bool { return now.Sub(slot) > soon })
	if len(old) == 0 {
		return nil
	}
	if _, err := d.Owe(ctx, old); err != nil {
		return err
	}
	b.drop(old...)
	return nil
}

// look finds the slots before until of which the ledger has nothing, unless this process has served the tick
// before: then whatever failed since is in its memory.
func (b *Debts) look(ctx context.Context, d Dispatcher, due ncrontab.Schedule, until time.Time) error {
	last := due.Prev(until.Add(time.Nanosecond)) // Prev is strictly before
	b.mu.Lock()
	served := b.served
	b.mu.Unlock()
	if before := due.Prev(last); !served.IsZero() && (served.Equal(last) || served.Equal(before)) {
		b.serve(last)
		return nil
	}
	found, err := d.Unswept(ctx, until, func(after, before time.Time) []time.Time {
		var t Tick
		t.skip(due, after.Add(time.Second), before)
		return t.Missed
	})
	if err != nil {
		return err
	}
	b.add(found...)
	b.serve(last)
	return nil
}

func (b *Debts) serve(tick time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.served = tick
}
