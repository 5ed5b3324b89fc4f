package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
)

// wrong is a dispatcher whose machine's clock is off by that much; storage's is right.
func (b *bench) wrong(off time.Duration) *dispatch.Dispatcher {
	d := b.dispatcher()
	d.Now = func() time.Time { return b.clock().Add(off) }
	return d
}

// By a clock that is an hour ahead everything is overdue. What one handler believes so for one
// tick must leave no trace: neither of a sweep that is running, nor of one that is complete, nor
// of a slot that is only marked.
func TestAHandlerWhoseClockIsWrongEndsNothing(t *testing.T) {
	for _, off := range []time.Duration{62 * time.Second, time.Hour, 365 * 24 * time.Hour, -62 * time.Second, -time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			b := newBench(t)
			complete := slot.Add(-10 * time.Minute)
			if _, err := b.dispatcher().Sweep(t.Context(), complete, nil); err != nil {
				t.Fatal(err)
			}
			b.sweep(t)
			var received []ledger.Entry
			for _, a := range b.plan(t, complete).Assignments {
				received = append(received, ledger.Entry{Slot: complete, Key: ledger.Key{Source: a.Source, Probe: a.Probe, Part: a.Part}, Assignment: a.ID, State: ledger.Received})
			}
			if err := b.store.AdvanceEntries(t.Context(), received); err != nil {
				t.Fatal(err)
			}
			plant(t, b, slot.Add(10*time.Minute), []byte("{}"))
			before := b.store.State()
			report, err := b.wrong(off).Resume(t.Context())
			side := map[bool]string{true: "ahead of", false: "behind"}[off > 0]
			if err == nil || !strings.Contains(err.Error(), off.Abs().String()+" "+side+" the storage service's") || !strings.Contains(err.Error(), "set it right") {
				t.Errorf("error is %v", err)
			}
			if report != (dispatch.Report{Unreadable: 1}) {
				t.Errorf("report %+v", report)
			}
			if diff := cmp.Diff(before, b.store.State()); diff != "" {
				t.Errorf("it changed (-before +after):\n%s", diff)
			}
			// The next handler's clock is right.
			if report := b.resume(t); report != (dispatch.Report{Unreadable: 1, Completed: 1}) {
				t.Errorf("then: %+v", report)
			}
		})
	}
}

// A handler whose clock is wrong still finishes dispatches: probers wait for them.
func TestAHandlerWhoseClockIsWrongStillDelivers(t *testing.T) {
	b := newBench(t)
	b.store.Fault = storetest.Always("WriteCurrent", storetest.NotStored)
	if _, err := b.dispatcher().Sweep(t.Context(), slot, nil); err == nil {
		t.Fatal("no error")
	}
	b.store.Fault = nil
	if report, err := b.wrong(2 * time.Minute).Resume(t.Context()); err == nil || report.Dispatched != runsPlanned {
		t.Errorf("report %+v, error %v", report, err)
	}
	b.told(t, slot)
}

func TestAClockWithinAMinuteIsRight(t *testing.T) {
	for _, off := range []time.Duration{59 * time.Second, -59 * time.Second} {
		b := newBench(t)
		b.sweep(t)
		b.sleep(time.Hour)
		if report, err := b.wrong(off).Resume(t.Context()); err != nil || report.Expired != runsPlanned || report.Closed != 1 {
			t.Errorf("off by %s: %+v, %v", off, report, err)
		}
	}
}

// Whether the clock is right is not known when the service does not say the time.
func TestNothingEndsWhenTheServiceDoesNotSayTheTime(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.sleep(time.Hour)
	b.store.Fault = storetest.Always("ServiceTime", storetest.NotStored)
	report, err := b.dispatcher().Resume(t.Context())
	if err == nil || !strings.Contains(err.Error(), "checking the clock") || report != (dispatch.Report{}) {
		t.Errorf("report %+v, error %v", report, err)
	}
	if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Dispatched || len(b.store.Open()) != 1 {
		t.Errorf("header %+v, open %q", header, b.store.Open())
	}
}
