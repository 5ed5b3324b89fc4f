package answers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/sweep/ledger"
)

func TestShortfallsAreByProberWithTheReasons(t *testing.T) {
	s := newCovered()
	at := func(minute int) time.Time { return slot.Add(time.Duration(minute-20) * time.Minute) }
	s.header(at(-60), ledger.Complete)
	s.header(at(-50), ledger.Missed)
	s.header(at(-40), ledger.Complete)
	s.header(at(20), ledger.Dispatched) // too young to be missing
	for minute, states := range map[int][3]ledger.State{-60: {ledger.Received, ledger.Received, ledger.Received}, -40: {ledger.Expired, ledger.Received, ""}} {
		for i, source := range []string{"westeurope", "eastus", "southeastasia"} {
			if states[i] != "" {
				s.entries[at(minute)] = append(s.entries[at(minute)], entry(source, "tcp-64", states[i], 2, "why not"))
			}
		}
	}
	got, err := ReadShortfalls(t.Context(), s, s, "dev", []Prober{{ID: "westeurope", State: NeverRegistered}}, at(-60), at(-30))
	if err != nil {
		t.Fatal(err)
	}
	missed := CoverageReason{FateMissed, "the app was not running", 2}
	want := []Shortfall{
		{Prober: "eastus", Planned: 6, Missing: 2, Why: []CoverageReason{missed}},
		{Prober: "southeastasia", Planned: 6, Missing: 2, Why: []CoverageReason{missed}}, // at -40 it may come yet
		// At 09:05 handshake was due, and the ledger has no such slot.
		{Prober: "westeurope", Planned: 9, Missing: 7, Why: []CoverageReason{{FateMissed, noHeader, 3}, {FateExpired, "why not", 2}, missed}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
