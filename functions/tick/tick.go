// Package tick says which slot a tick of the Sweep timer serves and which ones nobody did, and sees to it that
// no slot is forgotten.
package tick

import (
	"math"
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
	// maxLate is how late a due time may be served although more than half a period has passed, so
	// that one which comes every ten minutes or more often always has its latest slot served.
	maxLate = 10 * time.Minute
	// maxMissed bounds the skipped slots that are listed one by one.
	maxMissed = 1000
)

// Tick is what one invocation of the Sweep timer is to do.
type Tick struct {
	// Slot is the sweep to make, a whole minute; zero when there is none to make.
	Slot time.Time
	// Missed are due slots that nobody served, oldest first; of more than maxMissed the newest.
	Missed []time.Time
	// MissedSince is the oldest due slot that nobody served and that Missed does not hold; zero
	// when Missed holds all.
	MissedSince time.Time
	// OnDemand says that no due time caused the invocation, but a call to the host's admin API.
	OnDemand bool
}

// At finds the slot that an invocation serves. A due time serves itself, for as long as less
// than half a period has passed; after that the latest due time is served instead, and the others
// are missed. A measurement is never filed under a slot that had long passed when it was made:
// where the latest due time is too old as well, it is missed too, and nothing is served.
func At(timer host.Timer, due ncrontab.Schedule, now time.Time) Tick {
	if timer.Status == nil || timer.Status.Next.IsZero() { // the host keeps no record of this timer
		last := due.Prev(now.Add(early + time.Nanosecond)) // Prev is strictly before
		if last.IsZero() {
			last = now
		}
		return tickFor(due, last, last, now)
	}
	next := timer.Status.Next
	if next.Sub(now) > early {
		return Tick{Slot: wire.Slot(now), OnDemand: true}
	}
	if now.Sub(next) <= halfPeriod(due, next) {
		return Tick{Slot: wire.Slot(next)}
	}
	last := due.Prev(now.Add(time.Nanosecond))
	if last.IsZero() { // no due time of this schedule: it was changed
		last = next
	}
	return tickFor(due, next, last, now)
}

// tickFor makes the tick that serves the due time last, unless that is too old, when those from
// since on were not served.
func tickFor(due ncrontab.Schedule, since, last, now time.Time) Tick {
	if now.Sub(last) <= max(halfPeriod(due, last), maxLate) {
		t := Tick{Slot: wire.Slot(last)}
		t.skip(due, since, t.Slot)
		return t
	}
	var t Tick
	t.skip(due, since, wire.Slot(last).Add(time.Minute))
	if len(t.Missed) == 0 { // a changed schedule has none since: what was due by the old one is missed
		t.Missed = []time.Time{wire.Slot(since)}
	}
	return t
}

// halfPeriod is half the time from one due time to the next; for ever if there is no next.
func halfPeriod(due ncrontab.Schedule, at time.Time) time.Duration {
	following := due.Next(at)
	if following.IsZero() {
		return math.MaxInt64
	}
	return following.Sub(at) / 2
}

// skip lists the slots from the due time since up to before, which is left out, newest first until
// the list is full.
func (t *Tick) skip(due ncrontab.Schedule, since, before time.Time) {
	last := before
	for at := due.Prev(before); !at.IsZero() && !at.Before(since); at = due.Prev(at) {
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
