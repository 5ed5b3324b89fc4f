package alerts_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/sweep/ledger"
)

// swept is a slot's ledger: of each prober whether its document came.
func swept(m *memory, slot time.Time, came map[string]ledger.State) {
	m.headers = append(m.headers, ledger.Header{Slot: slot, State: ledger.Dispatched})
	for source, state := range came {
		m.entries = append(m.entries, ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: "tcp-64"}, State: state, Runs: 1})
	}
}

const coverageLine = " coverage westeurope 2026-11-30T"

func TestCoverageIsToldWhileItLasts(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(twoProbers)
	p := &person{rows: m, from: m}
	var want []string
	for i := range 12 * 6 { // half a day, a slot every ten minutes
		slot := hour0.Add(time.Duration(i) * 10 * time.Minute)
		state := ledger.Received
		if i >= 12 && i < 15 { // half an hour from 12:00 on
			state = ledger.Expired
		}
		swept(m, slot, map[string]ledger.State{"westeurope": state, "eastus": ledger.Received})
		if i%6 == 5 {
			must(t, p.at(slot.Add(10*time.Minute)).Finish(t.Context()))
			// At 13:00 three of 18 are missing, which is more than a tenth; at 16:00 none is among the last 18.
			switch hour := slot.Add(10 * time.Minute).Hour(); hour {
			case 13:
				want = append(want, "alert raised"+coverageLine+"13")
			case 16:
				want = append(want, "alert ended"+coverageLine+"13")
			}
			if diff := gocmp.Diff(want, p.lines(t)); diff != "" {
				t.Fatalf("at %s lines (-want +got):\n%s", slot, diff)
			}
		}
	}
	for _, a := range m.alerts {
		if *a.Planned != 18 || *a.CameIn != 15 || a.Message != "15 of 18 runs came in in the last 3 h, wanted 90 %; first missing 2026-11-30 12:00Z" {
			t.Errorf("alert %+v", a)
		}
	}
}

func TestWhatIsAwaitedIsNeitherThereNorMissing(t *testing.T) {
	m := newMemory(environment)
	p := &person{rows: m, from: m}
	swept(m, hour0, map[string]ledger.State{"westeurope": ledger.Received, "eastus": ledger.Dispatched})
	must(t, p.at(hour0.Add(time.Hour)).Finish(t.Context()))
	if lines := p.lines(t); len(lines) > 0 {
		t.Errorf("lines are %q", lines)
	}
}

// Slots that nobody swept are one alert, and no prober's.
func TestSlotsThatWereMissedAreTheApps(t *testing.T) {
	m := newMemory(environment)
	p := &person{rows: m, from: m}
	for i := range 12 {
		slot := hour0.Add(time.Duration(i) * 10 * time.Minute)
		if i%2 == 0 {
			swept(m, slot, map[string]ledger.State{"westeurope": ledger.Received})
		} else {
			m.headers = append(m.headers, ledger.Header{Slot: slot, State: ledger.Missed})
		}
	}
	must(t, p.at(hour0.Add(2*time.Hour)).Finish(t.Context()))
	if diff := gocmp.Diff([]string{"alert raised coverage app 2026-11-30T12"}, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestCoverageOfAProberThatWasTakenOutEnds(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(twoProbers)
	p := &person{rows: m, from: m}
	swept(m, hour0, map[string]ledger.State{"westeurope": ledger.Received, "uksouth": ledger.Expired})
	must(t, p.at(hour0.Add(time.Hour)).Finish(t.Context()))
	must(t, p.at(hour0.Add(2*time.Hour)).Finish(t.Context()))
	if n := len(p.lines(t)); n != 1 {
		t.Fatalf("%d lines", n)
	}
	must(t, p.at(hour0.Add(5*time.Hour)).Finish(t.Context())) // nothing was planned for it in the last three hours
	if diff := gocmp.Diff([]string{"alert raised coverage uksouth 2026-11-30T11", "alert ended coverage uksouth 2026-11-30T11"}, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// Without plans nothing is known of a prober that is there: its alert lasts.
func TestCoverageLastsWhileNothingIsPlanned(t *testing.T) {
	m := newMemory(environment)
	m.config = []byte(twoProbers)
	p := &person{rows: m, from: m}
	swept(m, hour0, map[string]ledger.State{"westeurope": ledger.Expired})
	for _, hours := range []int{1, 5, 9} {
		must(t, p.at(hour0.Add(time.Duration(hours)*time.Hour)).Finish(t.Context()))
	}
	if diff := gocmp.Diff([]string{"alert raised" + coverageLine + "11"}, p.lines(t)); diff != "" || len(m.claims) != 1 {
		t.Errorf("%d claims, lines (-want +got):\n%s", len(m.claims), diff)
	}
}

// Sweeps that a model made up count only where nothing was measured.
func TestSimulatedSweepsAreCountedApart(t *testing.T) {
	for measured, want := range map[bool][]string{true: nil, false: {"alert raised" + coverageLine + "12"}} {
		m := newMemory(environment)
		p := &person{rows: m, from: m}
		for i := range 12 {
			swept(m, hour0.Add(time.Duration(i)*10*time.Minute), map[string]ledger.State{"westeurope": ledger.Expired})
			m.headers[i].Simulated, m.entries[i].Simulated = true, true
			if measured && i == 6 {
				swept(m, hour0.Add(time.Duration(i)*10*time.Minute), map[string]ledger.State{"westeurope": ledger.Received})
				m.headers, m.entries = append(m.headers[:i], m.headers[i+1:]...), append(m.entries[:i], m.entries[i+1:]...)
			}
		}
		must(t, p.at(hour0.Add(2*time.Hour)).Finish(t.Context()))
		if diff := gocmp.Diff(want, p.lines(t)); diff != "" {
			t.Errorf("measured %t: lines (-want +got):\n%s", measured, diff)
		}
		for _, a := range m.alerts {
			if !a.Simulated || a.Quiet {
				t.Errorf("alert %+v", a)
			}
		}
	}
}
