package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

// reregister makes a store where only some probers are registered.
func reregister(t *testing.T, b *bench, ids ...string) *storetest.Store {
	t.Helper()
	s := storetest.New(environment)
	s.SetConfig([]byte(configuration))
	for _, id := range ids {
		s.Register(id, encode(t, b.registration(id)))
	}
	return s
}

func TestWhatNeverCameExpires(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	p := b.plan(t, slot)
	expires := p.Assignments[0].Expires
	for _, a := range p.Assignments {
		if a.Expires.After(expires) {
			expires = a.Expires
		}
	}
	b.sleep(p.Assignments[0].Expires.Sub(b.clock()) - time.Second)
	b.resume(t)
	if rows := b.store.Rows(); len(rows) != 0 {
		t.Fatalf("%d rows a second before the first assignment expires", len(rows))
	}
	b.sleep(expires.Sub(b.clock()) + time.Second)
	report := b.resume(t)
	if want := (dispatch.Report{Expired: runsPlanned, Completed: 1, Closed: 1}); report != want {
		t.Errorf("report is %+v: want %+v", report, want)
	}
	rows := b.store.Rows()
	if len(rows) != runsPlanned || len(b.store.Latest()) != runsPlanned {
		t.Fatalf("%d rows, %d newest: want %d of each", len(rows), len(b.store.Latest()), runsPlanned)
	}
	for _, r := range rows {
		a, ok := p.Assignment(r.Assignment)
		if !ok || !r.IsExpired() || r.Series.Source != a.Source || r.Series.Probe != a.Probe || !r.Slot.Equal(slot) || !r.Run.PlannedStart.Equal(a.Start) || r.Run.Kind != a.Spec.Kind {
			t.Errorf("row %+v", r)
		}
	}
	header, entries := b.store.Book(wire.SlotName(slot))
	if header.State != ledger.Complete || len(b.store.Open()) != 0 {
		t.Errorf("header %+v, open %q", header, b.store.Open())
	}
	for _, e := range entries {
		if e.State != ledger.Expired || e.Error == "" {
			t.Errorf("entry %+v", e)
		}
	}
	before := b.store.State()
	if report := b.resume(t); report != (dispatch.Report{}) {
		t.Errorf("again: %+v", report)
	}
	if diff := cmp.Diff(before, b.store.State()); diff != "" {
		t.Errorf("again (-before +after):\n%s", diff)
	}
}

func TestDeliverExpiresNothing(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.sleep(24 * time.Hour)
	before := b.store.State()
	if report, err := b.dispatcher().Deliver(t.Context()); err != nil || report != (dispatch.Report{}) {
		t.Errorf("report %+v, error %v", report, err)
	}
	if diff := cmp.Diff(before, b.store.State()); diff != "" {
		t.Errorf("Deliver changed (-before +after):\n%s", diff)
	}
	if b.resume(t); len(b.store.Rows()) != runsPlanned {
		t.Errorf("Resume left %d rows, want %d", len(b.store.Rows()), runsPlanned)
	}
}

func TestExpiredReplacesNothing(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	p := b.plan(t, slot)
	a := &p.Assignments[0]
	// Its document is stored as far as the rows, and its handler has ended there.
	came := result.Result{Series: p.Series(a, &a.Runs[0]), Slot: slot, Assignment: a.ID, Attempt: "00000001",
		Run: wire.Run{Target: a.Runs[0].Target, Path: "public", Kind: a.Spec.Kind, Counts: wire.Counts{Sent: 1, Received: 1}}}
	if err := b.store.PutResults(t.Context(), []result.Result{came}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.PutLatest(t.Context(), []result.Result{came}); err != nil {
		t.Fatal(err)
	}
	b.sleep(time.Hour)
	b.resume(t)
	for _, rs := range [][]result.Result{b.store.Rows(), b.store.Latest()} {
		n := 0
		for _, r := range rs {
			if !r.IsExpired() {
				n++
				if r.Series != came.Series || r.Attempt != came.Attempt {
					t.Errorf("row %+v", r)
				}
			}
		}
		if n != 1 || len(rs) != runsPlanned {
			t.Errorf("%d of %d rows are results: want 1 of %d", n, len(rs), runsPlanned)
		}
	}
}

// A complete sweep stays open until its deadline: its sessions are still to be admitted.
func TestASweepIsClosedAfterItsDeadline(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	p := b.plan(t, slot)
	var entries []ledger.Entry
	for _, a := range p.Assignments {
		entries = append(entries, ledger.Entry{Slot: slot, Key: ledger.Key{Source: a.Source, Probe: a.Probe, Part: a.Part}, Assignment: a.ID, State: ledger.Received, Runs: 2})
	}
	if err := b.store.AdvanceEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if report := b.resume(t); report.Completed != 1 || report.Closed != 0 {
		t.Errorf("before the deadline: %+v", report)
	}
	if len(b.store.Open()) != 1 {
		t.Error("closed before its deadline")
	}
	b.sleep(p.Deadline().Sub(b.clock()))
	if report := b.resume(t); report != (dispatch.Report{}) || len(b.store.Open()) != 1 {
		t.Errorf("at the deadline: %+v, open %q", report, b.store.Open())
	}
	b.sleep(time.Hour)
	if report := b.resume(t); report != (dispatch.Report{Closed: 1}) || len(b.store.Open()) != 0 || len(b.store.Rows()) != 0 {
		t.Errorf("after the deadline: %+v, open %q, %d rows expired", report, b.store.Open(), len(b.store.Rows()))
	}
}

func TestAMarkWithoutAPlan(t *testing.T) {
	mark := func(t *testing.T) *bench {
		b := newBench(t)
		if err := b.store.MarkOpen(t.Context(), slot); err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Run("young: its sweep is planned", func(t *testing.T) {
		b := mark(t)
		b.sleep(2 * time.Minute)
		b.registerAll(t)
		if report := b.resume(t); report.Created != 1 || report.Dispatched != runsPlanned {
			t.Errorf("report is %+v", report)
		}
		b.told(t, slot)
	})
	t.Run("older: it is missed, unless the plan comes yet", func(t *testing.T) {
		b := mark(t)
		b.sleep(6 * time.Minute)
		b.resume(t)
		if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Missed || header.Reason == "" || len(b.store.Open()) != 1 {
			t.Fatalf("header %+v, open %q", header, b.store.Open())
		}
		b.registerAll(t)
		b.sweep(t)
		if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Dispatched {
			t.Errorf("after its plan came the header is %+v", header)
		}
		b.told(t, slot)
	})
	t.Run("older than any sweep: it is cleared", func(t *testing.T) {
		b := mark(t)
		b.sleep(ledger.LateLimit + time.Minute)
		if report := b.resume(t); report.Closed != 1 || len(b.store.Open()) != 0 {
			t.Errorf("report %+v, open %q", report, b.store.Open())
		}
		if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Missed || header.Reason == "" {
			t.Errorf("header %+v", header)
		}
	})
}

// failing is a store that does not give one slot's plan.
type failing struct {
	*storetest.Store
	slot time.Time
	err  error
}

func (f failing) ReadPlan(ctx context.Context, slot time.Time) ([]byte, bool, error) {
	if slot.Equal(f.slot) {
		return nil, false, f.err
	}
	return f.Store.ReadPlan(ctx, slot)
}

func TestASweepThatCannotBeResumedKeepsNoOtherFromIt(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	broken := slot.Add(10 * time.Minute)
	if err := b.store.MarkOpen(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	b.sleep(time.Hour)
	d := b.dispatcher()
	d.Mailbox = failing{b.store, broken, storetest.ErrInjected}
	report, err := d.Resume(t.Context())
	if err == nil || !strings.Contains(err.Error(), `reading plan "20261130T1030"`) || report.Expired != runsPlanned || report.Closed != 1 || report.Unreadable != 0 {
		t.Errorf("report %+v, error %v", report, err)
	}
}

// Every call of a dispatch and of its end fails, in either way, and the process ends at every
// call; what follows runs undisturbed. The end must be the same.
func TestEveryFaultOfADispatchEndsTheSame(t *testing.T) {
	scenario := func(t *testing.T, fault func(int, string) storetest.Fault) (state, calls []string) {
		b := newBench(t)
		b.store.Fault = fault
		tick := func(do func() error) {
			if do() == nil {
				return
			}
			b.store.Fault = nil // one call fails, or a process has ended and another one starts
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		// When a sweep fails the host fires its slot again, as its retry policy says.
		tick(func() error {
			_, err := b.dispatcher().Sweep(t.Context(), slot, []time.Time{slot.Add(-10 * time.Minute)})
			return err
		})
		tick(func() error { _, err := b.dispatcher().Resume(t.Context()); return err })
		b.told(t, slot)
		b.sleep(time.Hour)
		tick(func() error { _, err := b.dispatcher().Resume(t.Context()); return err })
		calls = b.store.Calls()
		b.store.Fault = nil
		b.resume(t)
		return b.store.State(), calls
	}
	want, calls := scenario(t, nil)
	if len(calls) < 25 || !slices.Contains(calls, "AddExpired") || !slices.Contains(calls, "ClearOpen") {
		t.Fatalf("the scenario's calls are %q", calls)
	}
	for i, op := range calls {
		for name, fault := range storetest.Faults(i, op) {
			t.Run(fmt.Sprintf("%02d %s %s", i, op, name), func(t *testing.T) {
				t.Parallel()
				got, _ := scenario(t, fault)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("state (-undisturbed +disturbed):\n%s", diff)
				}
			})
		}
	}
}

// The same without the host's help: once the slot is marked open, Resume alone brings it to its end.
func TestResumeAloneFinishesWhatWasCutShort(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	calls := b.store.Calls()
	first := slices.Index(calls, "MarkOpen") + 1
	for i := first; i < len(calls); i++ {
		t.Run(fmt.Sprintf("ended at %02d %s", i, calls[i]), func(t *testing.T) {
			b := newBench(t)
			b.store.Fault = storetest.From(i)
			if _, err := b.dispatcher().Sweep(t.Context(), slot, nil); err == nil {
				t.Fatal("no error")
			}
			b.store.Fault = nil
			b.resume(t)
			b.told(t, slot)
			header, entries := b.store.Book(wire.SlotName(slot))
			if header.State != ledger.Dispatched || len(entries) != 6 {
				t.Errorf("header %+v, %d entries", header, len(entries))
			}
		})
	}
}
