package dispatch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ledger"
)

// plant stores body as the plan of a slot that is marked open.
func plant(t *testing.T, b *bench, at time.Time, body []byte) {
	t.Helper()
	if err := b.store.MarkOpen(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if created, err := b.store.CreatePlan(t.Context(), at, body); err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
}

// Whatever lies in a plan's place, the other sweeps go on, before and after it; and the next slots
// are dispatched, told as if it were not there.
func TestAPlanThatCannotBeReadStopsNoOtherSweep(t *testing.T) {
	other := newBench(t)
	other.sweep(t)
	good := other.store.Plan(wire.SlotName(slot))
	for name, c := range map[string]struct {
		body []byte
		says string
	}{
		"a newer version":        {bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1), "this program reads plan version 1"},
		"damaged":                {good[:len(good)/2], "unexpected end of JSON input"},
		"empty":                  {[]byte{}, "unexpected end of JSON input"},
		"another slot's":         {good, `slot \"20261130T1020\"`},
		"of another environment": {[]byte(strings.Replace(string(good), environment, "prod", 1)), "assignments[0]: id"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			bad, next := slot.Add(10*time.Minute), slot.Add(20*time.Minute)
			b.sweep(t)
			plant(t, b, bad, c.body)
			b.sleep(next.Sub(slot))
			b.registerAll(t)
			report, err := b.dispatcher().Sweep(t.Context(), next, nil)
			if err != nil || report.Dispatched != runsPlanned || report.Written != 3 {
				t.Fatalf("the next slot: %+v, %v", report, err)
			}
			b.told(t, slot, next)
			if report, err = b.dispatcher().Deliver(t.Context()); err != nil || report != (dispatch.Report{Unreadable: 1}) {
				t.Errorf("Deliver: %+v, %v", report, err)
			}
			if report = b.resume(t); report.Unreadable != 1 || report.Expired != runsPlanned || report.Closed != 1 {
				t.Errorf("Resume: %+v: want the first sweep expired and closed", report)
			}
			// An Ingest tick is Deliver and Resume.
			if n := strings.Count(b.logged(), "cannot be read"); n != 1 || !strings.Contains(b.logged(), c.says) {
				t.Errorf("it is logged %d times, want once with %q:\n%s", n, c.says, b.logged())
			}
			if header, _ := b.store.Book(wire.SlotName(bad)); header.State != "" || len(b.store.Open()) != 2 {
				t.Errorf("its header is %+v, open %q: want it left alone", header, b.store.Open())
			}
		})
	}
}

func TestAPlanThatCannotBeReadIsGivenUpWhenItsDocumentsWouldBeTooLate(t *testing.T) {
	b := newBench(t)
	plant(t, b, slot, []byte(`{"version":99}`))
	b.sleep(slot.Add(ledger.LateLimit).Sub(b.clock()))
	if report := b.resume(t); report != (dispatch.Report{Unreadable: 1}) || len(b.store.Open()) != 1 {
		t.Fatalf("at the limit: %+v, open %q", report, b.store.Open())
	}
	b.sleep(time.Second)
	if report, err := b.dispatcher().Deliver(t.Context()); err != nil || report.Closed != 0 || len(b.store.Open()) != 1 {
		t.Errorf("Deliver: %+v, %v, open %q", report, err, b.store.Open())
	}
	if report := b.resume(t); report != (dispatch.Report{Unreadable: 1, Closed: 1}) || len(b.store.Open()) != 0 {
		t.Errorf("after it: %+v, open %q", report, b.store.Open())
	}
	if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Missed || !strings.Contains(header.Reason, "version 99") {
		t.Errorf("header %+v", header)
	}
	if report := b.resume(t); report != (dispatch.Report{}) {
		t.Errorf("again: %+v", report)
	}
}

// A rollback: a newer app of the same plan version has put more into the plan.
func TestAPlanWithUnknownFieldsIsCarriedOut(t *testing.T) {
	other := newBench(t)
	other.sweep(t)
	b := newBench(t)
	plant(t, b, slot, bytes.Replace(other.store.Plan(wire.SlotName(slot)), []byte(`"version":1`), []byte(`"version":1,"rounds":[]`), 1))
	if report := b.resume(t); report.Dispatched != runsPlanned || report.Unreadable != 0 {
		t.Errorf("report %+v", report)
	}
	b.told(t, slot)
}

// What is told must never lack a plan that can be read: a fault of storage is not the plan's.
func TestAPlanThatStorageDoesNotGiveHoldsTheTellingBack(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	next := slot.Add(10 * time.Minute)
	before := b.store.Current("eastus")
	d := b.dispatcher()
	d.Mailbox = failing{b.store, slot, storetest.ErrInjected}
	b.sleep(10 * time.Minute)
	if report, err := d.Sweep(t.Context(), next, nil); err == nil || report.Written != 0 || report.Dispatched != 0 {
		t.Errorf("report %+v, error %v", report, err)
	}
	if !bytes.Equal(b.store.Current("eastus"), before) {
		t.Error("somebody was told without the plan that could not be read")
	}
	b.resume(t)
	b.told(t, slot, next)
}

// A plan is at most as large as storage reads: a larger blob in its place is none.
func TestABlobTooLargeForAPlanStopsNoOtherSweep(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	next := slot.Add(10 * time.Minute)
	d := b.dispatcher()
	d.Mailbox = failing{b.store, slot, fmt.Errorf("reading a blob: %w", inbox.ErrTooLarge)}
	b.sleep(10 * time.Minute)
	if report, err := d.Sweep(t.Context(), next, nil); err != nil || report.Dispatched != runsPlanned {
		t.Errorf("the next slot: %+v, %v", report, err)
	}
	b.told(t, next)
	if report, err := d.Deliver(t.Context()); err != nil || report != (dispatch.Report{Unreadable: 1}) {
		t.Errorf("Deliver: %+v, %v", report, err)
	}
}
