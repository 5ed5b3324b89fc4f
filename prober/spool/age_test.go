package spool

import (
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestDocumentsExpireWhereverTheyAreInTheQueue(t *testing.T) {
	r := newRig(t)
	r.start(Options{TTL: 7 * day})
	r.put("a")
	r.wall = r.wall.Add(-6 * day) // so that the next process thinks a the youngest
	r.put("b", "c")
	r.wall = r.wall.Add(6 * day)
	r.pass(2 * day)
	r.uptime = 0
	r.start(Options{TTL: 7 * day}) // by the wall clock b and c are eight days old, a two
	wantNames(t, r.spool, "a", "b", "c")
	if got := r.spool.Stats().Oldest; got != 8*day {
		t.Errorf("the oldest has waited for %s, want eight days", got)
	}
	r.pass(settling)
	wantNames(t, r.spool, "a")
	r.wantDropped("expired b", "expired c")
	r.pass(5*day - settling - time.Second)
	wantNames(t, r.spool, "a")
	r.pass(2 * time.Second)
	wantNames(t, r.spool)
	r.wantDropped("expired a")
	if len(r.disk.names) != 0 {
		t.Errorf("%d files are left", len(r.disk.names))
	}
}

func TestExpiryMakesRoomBeforeTheOldestAreGivenUp(t *testing.T) {
	r := newRig(t)
	r.start(Options{TTL: day, Bytes: 2 * block})
	r.put("a")
	r.pass(23 * time.Hour)
	r.put("b")
	r.pass(time.Hour)
	r.put("c")
	r.wantDropped("expired a")
	wantNames(t, r.spool, "b", "c")
}

func TestTheSpoolInMemoryHasATimeToLiveToo(t *testing.T) {
	up := time.Duration(0)
	s, err := Open(Options{TTL: time.Hour, Uptime: func() time.Duration { return up }})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a")
	up = time.Hour - 1
	wantNames(t, s, "a")
	up += tendEvery
	wantNames(t, s)
}

func TestClockJumpsLetNothingExpireEarly(t *testing.T) {
	for _, jump := range []time.Duration{-3650 * day, -8 * day, -time.Hour, time.Hour, 8 * day, 3650 * day} {
		// While the process runs.
		r := newRig(t)
		r.start(Options{TTL: 7 * day})
		r.put("a")
		r.wall = r.wall.Add(jump)
		r.pass(7*day - time.Second)
		wantNames(t, r.spool, "a")
		if got := r.spool.Stats().Oldest; got != 7*day-time.Second {
			t.Errorf("jump of %s: age %s", jump, got)
		}
		r.pass(time.Second)
		wantNames(t, r.spool)

		// While the next process runs.
		r = newRig(t)
		r.start(Options{TTL: 7 * day})
		r.put("a")
		r.pass(day)
		r.uptime = 0
		r.start(Options{TTL: 7 * day})
		r.wall = r.wall.Add(jump)
		r.pass(6*day - time.Second)
		wantNames(t, r.spool, "a")
		r.pass(time.Second)
		if jump > 0 {
			wantNames(t, r.spool)
		}
		r.pass(day) // a clock that was put back keeps it for as long as the process has had it
		wantNames(t, r.spool)

		// Before the next process starts, and set right within the hour.
		r = newRig(t)
		r.start(Options{TTL: 7 * day})
		r.put("a")
		r.wall = r.wall.Add(jump)
		r.uptime = 0
		r.start(Options{TTL: 7 * day})
		r.pass(settling - time.Second)
		wantNames(t, r.spool, "a")
		r.wall = r.wall.Add(-jump)
		r.pass(6 * day)
		wantNames(t, r.spool, "a")
		r.pass(day)
		wantNames(t, r.spool)
		r.wantDropped("expired a")
	}
}
