package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"isochrone/functions/ncrontab"
	"isochrone/prober/wire"
)

// soon is how long after its slot a sweep that failed is tried again: a late measurement is never filed
// under an old hour.
const soon = 5 * time.Minute

// debts are slots whose sweep failed: the host does not fire a slot's tick again, and while storage is away
// nothing can be written down there. Young ones are swept yet, the others are recorded as missed once
// storage is back. A process that ends takes them with it, so each process looks at the ledger once.
type debts struct {
	mu     sync.Mutex
	slots  map[time.Time]bool
	looked bool // at the ledger
}

// add remembers slots; of more than maxMissed the newest.
func (b *debts) add(slots ...time.Time) {
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

func (b *debts) drop(slots ...time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, slot := range slots {
		delete(b.slots, wire.Slot(slot))
	}
}

// list is those that fit, oldest first.
func (b *debts) list(fits func(slot time.Time) bool) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(b.slots), time.Time.Compare), func(slot time.Time) bool { return !fits(slot) })
}

// sweepAgain sweeps the slots whose sweep failed and that are not too old.
func (b *debts) sweepAgain(ctx context.Context, d dispatcher, now time.Time) error {
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
func (b *debts) settle(ctx context.Context, d dispatcher, due ncrontab.Schedule, until, now time.Time) error {
	b.mu.Lock()
	looked := b.looked
	b.mu.Unlock()
	if !looked {
		found, err := d.Unswept(ctx, until, func(after, before time.Time) []time.Time {
			var t tick
			t.skip(due, after.Add(time.Second), before)
			return t.Missed
		})
		if err != nil {
			return err
		}
		b.add(found...)
		b.mu.Lock()
		b.looked = true
		b.mu.Unlock()
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
