package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
)

// everyFive is the ticks of a schedule that is due every five minutes, twice as often as the probes are.
func everyFive(after, before time.Time) (out []time.Time) {
	for at := after.Truncate(5 * time.Minute).Add(5 * time.Minute); at.Before(before); at = at.Add(5 * time.Minute) {
		out = append(out, at)
	}
	return out
}

func TestSlotsThatNobodySweptAreFound(t *testing.T) {
	for _, away := range []time.Duration{30 * time.Minute, 5 * time.Hour, 3 * 24 * time.Hour} {
		b := newBench(t)
		if got, err := b.dispatcher().Unswept(t.Context(), slot, everyFive); err != nil || len(got) != 0 {
			t.Fatalf("before the first sweep: %v, %v", got, err)
		}
		b.sweep(t)
		until := slot.Add(away)
		got, err := b.dispatcher().Unswept(t.Context(), until, everyFive)
		if err != nil || len(got) != int(away/(10*time.Minute))-1 {
			t.Fatalf("%s away: %d slots, %v", away, len(got), err)
		}
		b.sleep(away)
		report, err := b.dispatcher().Owe(t.Context(), got)
		if err != nil || report.Missed != len(got) {
			t.Fatalf("%s away: %+v, %v", away, report, err)
		}
		for _, at := range got {
			if h, _ := b.store.Book(wire.SlotName(at)); h.State != ledger.Missed || !strings.Contains(h.Reason, "no sweep succeeded") {
				t.Fatalf("slot %s: %+v", wire.SlotName(at), h)
			}
		}
		if again, err := b.dispatcher().Unswept(t.Context(), until, everyFive); err != nil || len(again) != 0 {
			t.Errorf("%s away: then %v, %v", away, again, err)
		}
	}
}

// A day's slots are recorded bit by bit: whatever call fails or is the last, the next time does the rest.
func TestADayOfMissedSlotsIsResumed(t *testing.T) {
	var day []time.Time
	for i := range 144 {
		day = append(day, slot.Add(time.Duration(i-144)*10*time.Minute))
	}
	for call := 0; call < 3*144; call += 29 {
		for name, fault := range storetest.Faults(call, "AdvanceHeader") {
			t.Run(fmt.Sprintf("%03d %s", call, name), func(t *testing.T) {
				b := newBench(t)
				b.store.Fault = fault
				first, err := b.dispatcher().Miss(t.Context(), day)
				if err == nil {
					t.Fatal("no call failed")
				}
				b.store.Fault = nil
				if _, err := b.dispatcher().Miss(t.Context(), day); err != nil {
					t.Fatal(err)
				}
				for _, at := range day {
					if h, es := b.store.Book(wire.SlotName(at)); h.State != ledger.Missed || len(es) != 0 {
						t.Errorf("after %d: slot %s: %+v", first.Missed, wire.SlotName(at), h)
					}
				}
			})
		}
	}
}

func TestNothingIsOwedWhereNothingIsDue(t *testing.T) {
	b := newBench(t)
	odd := slot.Add(5 * time.Minute)
	if report, err := b.dispatcher().Owe(t.Context(), []time.Time{odd, slot}); err != nil || report.Missed != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if h, _ := b.store.Book(wire.SlotName(odd)); h.State != "" {
		t.Errorf("nothing is due at %s: %+v", wire.SlotName(odd), h)
	}
	unconfigured := newBench(t)
	unconfigured.store = storetest.New(environment)
	if report, err := unconfigured.dispatcher().Owe(t.Context(), []time.Time{slot}); err != nil || report.Missed != 0 {
		t.Errorf("without a configuration: %+v, %v", report, err)
	}
	b.sweep(t) // a plan that comes after all takes the header's place
	if h, _ := b.store.Book(wire.SlotName(slot)); h.State != ledger.Dispatched || slices.Contains(b.store.Calls(), "ClearOpen") {
		t.Errorf("%+v", h)
	}
}

// A gap between two sweeps is found as well, also where the sweep after it has another configuration: what was
// due is what the sweep before says.
func TestGapsBetweenSweepsAreFound(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.sleep(50 * time.Minute)
	b.registerAll(t)
	b.store.SetConfig([]byte(strings.ReplaceAll(configuration, "*/10", "*/5")))
	later := slot.Add(50 * time.Minute)
	if _, err := b.dispatcher().Sweep(t.Context(), later, nil); err != nil {
		t.Fatal(err)
	}
	got, err := b.dispatcher().Unswept(t.Context(), later.Add(10*time.Minute), everyFive)
	if err != nil {
		t.Fatal(err)
	}
	var want []time.Time
	for _, minutes := range []int{10, 20, 30, 40, 55} {
		want = append(want, slot.Add(time.Duration(minutes)*time.Minute))
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
