package compact_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/dispatch/storetest"
)

// phase is a point in the life of a day at which Run has something to do.
type phase struct {
	name  string
	now   time.Time
	build func(t testing.TB, w world)
}

var phases = []phase{
	{"first", soon, func(t testing.TB, w world) { w.history(t) }},
	{"late result", soon, func(t testing.TB, w world) {
		w.history(t)
		w.run(t, soon)
		w.put(t, "westeurope", "tcp-64", day0.Add(time.Hour), 40, "eastus", "uksouth")
	}},
	{"deleting", later, func(t testing.TB, w world) {
		w.history(t)
		w.run(t, soon)
	}},
	{"all at once", later, func(t testing.TB, w world) { w.history(t) }},
	{"late after deleting", later, func(t testing.TB, w world) {
		w.history(t)
		w.run(t, later)
		w.put(t, "westeurope", "tcp-64", day0.Add(time.Hour), 40, "eastus", "uksouth")
		w.put(t, "westeurope", "udp-64", day0, 21, "eastus")
	}},
}

// settleDown runs until nothing is left, as the timer does.
func settleDown(t testing.TB, w world, now time.Time) []string {
	t.Helper()
	for range 3 {
		w.run(t, now)
	}
	return w.state(t)
}

// Whatever call fails, in whatever way, the next runs end in the state without a fault.
func TestAFaultAtAnyCallEndsInTheSameState(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			built := newMemory(environment)
			p.build(t, inMemory(built))
			clean := built.clone()
			before := len(clean.calls)
			inMemory(clean).run(t, p.now)
			calls := clean.calls[before:]
			want := settleDown(t, inMemory(clean), p.now)
			if len(calls) < 10 {
				t.Fatalf("only %d calls", len(calls))
			}
			for i, op := range calls {
				for name, fault := range storetest.Faults(before+i, op) {
					m := built.clone()
					w := inMemory(m)
					m.fault = fault
					if _, err := w.compactor(t, p.now).Run(t.Context(), compact.Scope{Apply: true}); err == nil && op != "DeleteRaw" {
						t.Errorf("call %d %s, %s: no error", i, op, name)
					}
					m.fault = nil
					if d := gocmp.Diff(want, settleDown(t, w, p.now)); d != "" {
						t.Fatalf("call %d %s, %s:\n%s", i, op, name, d)
					}
				}
			}
		})
	}
}

// Between any two calls another compactor does all its work, and a late document arrives: the next runs end
// in the state of all documents.
func TestAnotherCompactorAndALateDocumentAtAnyCallEndInTheSameState(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			late := func(w world) {
				w.put(t, "westeurope", "tcp-64", day0.Add(3*time.Hour), 11, "eastus", "uksouth")
				w.put(t, "eastus", "tcp-64", day0, 26, "westeurope") // replayed
			}
			built := newMemory(environment)
			p.build(t, inMemory(built))
			clean := built.clone()
			before := len(clean.calls)
			inMemory(clean).run(t, p.now)
			n := len(clean.calls) - before
			late(inMemory(clean))
			want := settleDown(t, inMemory(clean), p.now)
			for i := range n {
				order := []string{"document, compactor", "compactor, document"}[i%2] // in turn
				m := built.clone()
				w := inMemory(m)
				var met atomic.Bool
				m.before = func(call int, _ string) {
					if call < before+i || !met.CompareAndSwap(false, true) { // what it does makes calls, too
						return
					}
					if order[0] == 'd' {
						late(w)
					}
					w.run(t, p.now)
					if order[0] == 'c' {
						late(w)
					}
				}
				if _, err := w.compactor(t, p.now).Run(t.Context(), compact.Scope{Apply: true}); err != nil && !errors.Is(err, archive.ErrChanged) {
					t.Errorf("call %d, %s: %v", i, order, err)
				}
				if d := gocmp.Diff(want, settleDown(t, w, p.now)); d != "" {
					t.Fatalf("call %d, %s:\n%s", i, order, d)
				}
			}
		})
	}
}

// Several at once on the real store.
func TestSeveralAtOnceOnTheRealStore(t *testing.T) {
	w := onAzurite(t)
	w.history(t)
	alone := inMemory(newMemory(w.environment))
	alone.history(t)
	var wait sync.WaitGroup
	faults := make(chan error, 3)
	for range 3 {
		wait.Go(func() {
			if _, err := w.compactor(t, later).Run(t.Context(), compact.Scope{Apply: true}); err != nil && !errors.Is(err, archive.ErrChanged) {
				faults <- fmt.Errorf("one of several: %w", err)
			}
		})
	}
	wait.Wait()
	close(faults)
	for err := range faults {
		t.Error(err)
	}
	if d := gocmp.Diff(settleDown(t, alone, later), settleDown(t, w, later)); d != "" {
		t.Errorf("-alone +several:\n%s", d)
	}
}
