package main

import (
	"slices"
	"time"

	"isochrone/functions/host"
	"isochrone/functions/ncrontab"
	"isochrone/prober/wire"
)

const (
	// early is how long before its due time a tick may come and still be that one: the host's
	// timers have been seen to fire 2 ms early. A tick that is earlier was not fired by a timer.
	early = time.Second
	// maxMissed bounds the skipped slots that are listed one by one.
	maxMissed = 1000
)

// tick is what one invocation of the Sweep timer is to do.
type tick struct {
	// Slot is the sweep to make, a whole minute.
	Slot time.Time
	// Missed are due slots that nobody served, oldest first; of more than maxMissed the newest.
	Missed []time.Time
	// MissedSince is the oldest due slot that nobody served and that Missed does not hold; zero
	// when Missed holds all.
	MissedSince time.Time
	// OnDemand says that no due time caused the invocation, but a call to the host's admin API.
	OnDemand bool
}

// tickAt finds the slot that an invocation serves. A due time serves itself, for as long as less
// than half a period has passed; after that the measurement would be filed under an hour in
// which it was not made, and the latest due time is served instead.
func tickAt(timer host.Timer, due ncrontab.Schedule, now time.Time) tick {
	if timer.Status == nil || timer.Status.Next.IsZero() { // the host keeps no record of this timer
		return tick{Slot: latest(due, now.Add(early), now)}
	}
	next := timer.Status.Next
	if next.Sub(now) > early {
		return tick{Slot: wire.Slot(now), OnDemand: true}
	}
	following := due.Next(next)
	if following.IsZero() || now.Sub(next) <= following.Sub(next)/2 {
		return tick{Slot: wire.Slot(next)}
	}
	t := tick{Slot: latest(due, now, next)}
	t.skip(due, next)
	return t
}

// latest is the slot of the last due time not after t, or that of otherwise if there is none.
func latest(due ncrontab.Schedule, t, otherwise time.Time) time.Time {
	last := due.Prev(t.Add(time.Nanosecond)) // Prev is strictly before
	if last.IsZero() {
		return wire.Slot(otherwise)
	}
	return wire.Slot(last)
}

// skip lists the slots from the due time since up to the tick's own, newest first until the list
// is full.
func (t *tick) skip(due ncrontab.Schedule, since time.Time) {
	last := t.Slot
	for at := due.Prev(t.Slot); !at.IsZero() && !at.Before(since); at = due.Prev(at) {
		slot := wire.Slot(at)
		if slot.Equal(last) { // due more often than once a minute
			continue
		}
		if len(t.Missed) == maxMissed {
			t.MissedSince = wire.Slot(since)
			break
		}
		t.Missed = append(t.Missed, slot)
		last = slot
	}
	slices.Reverse(t.Missed)
}
