package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
)

// app is what one handler process does at its ticks. It is done again when it fails, as the next tick does.
type app struct{ b *bench }

func (a app) sweep(t *testing.T) error {
	_, err := a.b.dispatcher().Sweep(t.Context(), slot, []time.Time{slot.Add(-10 * time.Minute)})
	if _, next := a.b.dispatcher().Deliver(t.Context()); err == nil {
		err = next
	}
	return err
}

func (a app) ingest(t *testing.T) error {
	_, err := a.b.dispatcher().Deliver(t.Context())
	g := a.b.ingester()
	g.Concurrency = 1 // so that the calls come in one order
	if _, next := g.Drain(t.Context()); err == nil {
		err = next
	}
	if _, next := a.b.dispatcher().Resume(t.Context()); err == nil {
		err = next
	}
	return err
}

// twoApps is a sweep from its slot to its end, with a late document, by an app, and by a second one whose
// tick begins when the first has made a number of calls. The second may end at a call of its own.
func twoApps(t *testing.T, at int, second func(call int) storetest.Fault) (state []string, calls int) {
	t.Helper()
	b := newBench(t)
	var lock sync.Mutex
	n, inside, tick := 0, false, app.sweep
	b.store.Before = func(string) {
		lock.Lock()
		mine := !inside && n == at
		if !inside {
			n++
		}
		if !mine {
			lock.Unlock()
			return
		}
		inside = true
		its := tick
		lock.Unlock()
		if second != nil {
			begun := len(b.store.Calls())
			b.store.SetFault(func(call int, _ string) storetest.Fault { return second(call - begun) })
		}
		_ = its(app{b}, t) // that of one that ended has an error
		b.store.SetFault(nil)
		lock.Lock()
		inside = false
		lock.Unlock()
	}
	next := func(do func(app, *testing.T) error) {
		t.Helper()
		tick = do
		err := do(app{b}, t)
		if err != nil && second != nil { // what the first does side by side may have met the second's end
			err = do(app{b}, t)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next(app.sweep)
	west, north := b.documents(t, "westeurope", "0000000a"), b.documents(t, "northeurope", "0000000b")
	b.deliver(t, west["tcp-64"])
	b.deliver(t, west["connect"])
	b.deliver(t, north["tcp-64"])
	next(app.ingest)
	b.sleep(time.Hour)
	next(app.ingest)
	b.deliver(t, north["connect"]) // late
	next(app.ingest)
	b.store.Before = nil
	next(app.ingest)
	return b.store.State(), n
}

// Two apps with the same storage: the second one's whole tick lies between two calls of the first, at every
// place, and it lives, or ends at some call of its own. What is stored in the end is what one app stores.
func TestTwoAppsInterleavedAtEveryCallEndTheSame(t *testing.T) {
	want, calls := twoApps(t, -1, nil)
	if calls < 60 {
		t.Fatalf("the scenario has only %d calls", calls)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for at := range calls {
		for _, dies := range []int{-1, random.IntN(12), random.IntN(40)} {
			t.Run(fmt.Sprintf("second at %02d, ends at %d", at, dies), func(t *testing.T) {
				t.Parallel()
				var second func(int) storetest.Fault
				if dies >= 0 {
					second = func(call int) storetest.Fault { return storetest.From(dies)(call, "") }
				}
				got, _ := twoApps(t, at, second)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("state (-one app +two):\n%s", diff)
				}
			})
		}
	}
}

// Every planned run has exactly one row, and the hours and days of rows that a late document replaced are
// marked again.
func TestALateDocumentMarksItsHourAndDayAgain(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	ds := b.documents(t, "westeurope", "0000000a")
	b.sleep(time.Hour)
	b.resume(t)
	for _, key := range []string{"hour westeurope " + slot.Format("20060102T15"), "day westeurope " + slot.Format("20060102")} {
		if !b.store.Unmark(key) {
			t.Fatalf("expiry has not marked %q", key)
		}
	}
	b.deliver(t, ds["tcp-64"])
	b.drain(t)
	for _, key := range []string{"hour westeurope " + slot.Format("20060102T15"), "day westeurope " + slot.Format("20060102")} {
		if !slices.Contains(b.store.State(), "dirty "+key+" null") {
			t.Errorf("%q is not marked", key)
		}
	}
	if b.store.Unmark("hour northeurope " + slot.Format("20060102T15")); len(b.store.Rows()) != 12 {
		t.Errorf("%d rows, want one of each of 12 runs", len(b.store.Rows()))
	}
	_, entries := b.store.Book(wire.SlotName(slot))
	for _, e := range entries {
		want := ledger.Expired
		if e.Key.Source == "westeurope" && e.Key.Probe == "tcp-64" {
			want = ledger.Received
		}
		if e.State != want {
			t.Errorf("%+v is %s, want %s", e.Key, e.State, want)
		}
	}
}
