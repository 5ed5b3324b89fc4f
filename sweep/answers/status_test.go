package answers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/sweep/ledger"
)

func entry(source, probe string, state ledger.State, runs int, why string) ledger.Entry {
	return ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: probe}, State: state, Runs: runs, Error: why}
}

// books is a store with one sweep at slot, pinned to threeRegions.
func books(state ledger.State, entries ...ledger.Entry) *store {
	hash := Hash([]byte(threeRegions))
	return &store{
		headers: []ledger.Header{{Slot: slot, State: state, ConfigHash: hash}},
		entries: map[time.Time][]ledger.Entry{slot: entries},
		pinned:  map[string][]byte{hash: []byte(threeRegions)},
	}
}

func TestStatusCountsFromThePinnedConfigurationAndTheEntries(t *testing.T) {
	// At 10:20 tcp-64 is due: three sources, two runs each.
	b := books(ledger.Dispatched,
		entry("westeurope", "tcp-64", ledger.Received, 2, ""),
		entry("eastus", "tcp-64", ledger.Expired, 2, ""))
	got, err := ReadStatus(t.Context(), b, b, "dev", 5, now)
	if err != nil {
		t.Fatal(err)
	}
	want := []Sweep{{
		Slot: slot, State: ledger.Dispatched, ConfigHash: Hash([]byte(threeRegions)), Runs: &Tally{Planned: 6, Received: 2, Missing: 4},
		Gaps: []Gap{
			{Source: "eastus", State: ledger.Expired, Reason: "no document came in time", Runs: 2, Probes: []string{"tcp-64"}},
			{Source: "southeastasia", Reason: "not in the ledger: the sweep was not planned to its end", Runs: 2, Probes: []string{"tcp-64"}},
		},
	}}
	if diff := cmp.Diff(want, got.Sweeps); diff != "" {
		t.Error(diff)
	}
}

func TestStatusGroupsMissingRunsBySourceAndReason(t *testing.T) {
	// At 10:05 handshake is due, from westeurope: two runs over public and one over peering.
	at := slot.Add(-15 * time.Minute)
	b := books(ledger.Dispatched)
	b.headers[0].Slot = at
	b.entries = map[time.Time][]ledger.Entry{at: {
		entry("westeurope", "handshake", ledger.Dispatched, 3, ""),
		entry("eastus", "tcp-64", ledger.Expired, 2, "document quarantined: conflict"),
		entry("eastus", "udp-64", ledger.Expired, 4, "document quarantined: conflict"),
		entry("eastus", "udp-64", ledger.Expired, 1, "document quarantined: conflict"),
		entry("eastus", "late", ledger.Planned, 1, ""),
	}}
	got, err := ReadStatus(t.Context(), b, b, "dev", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	want := []Gap{
		{Source: "eastus", State: ledger.Expired, Reason: "document quarantined: conflict", Runs: 7, Probes: []string{"tcp-64", "udp-64"}},
		{Source: "eastus", State: ledger.Planned, Reason: "not handed to the prober yet", Runs: 1, Probes: []string{"late"}},
		{Source: "westeurope", State: ledger.Dispatched, Reason: "no document yet", Runs: 3, Probes: []string{"handshake"}},
	}
	if diff := cmp.Diff(want, got.Sweeps[0].Gaps); diff != "" {
		t.Error(diff)
	}
}

func TestACompleteSweepHasNothingMissing(t *testing.T) {
	b := books(ledger.Complete,
		entry("westeurope", "tcp-64", ledger.Received, 2, ""), entry("eastus", "tcp-64", ledger.Received, 2, ""),
		entry("southeastasia", "tcp-64", ledger.Received, 2, ""))
	got, err := ReadStatus(t.Context(), b, b, "dev", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sweeps[0]; *s.Runs != (Tally{6, 6, 0}) || len(s.Gaps) != 0 || s.Note != "" {
		t.Errorf("%+v with %+v, want 6 of 6 received and no gaps", s, s.Runs)
	}
}

func TestAMissedSlotHasAReasonAndNoCounts(t *testing.T) {
	b := &store{headers: []ledger.Header{{Slot: slot, State: ledger.Missed, Reason: "the app was not running"}}}
	got, err := ReadStatus(t.Context(), b, b, "dev", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Sweep{{Slot: slot, State: ledger.Missed, Reason: "the app was not running"}}, got.Sweeps); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutItsConfigurationASweepIsCountedFromTheLedgerAndSaysSo(t *testing.T) {
	for what, spoil := range map[string]func(*store){
		"gone":    func(b *store) { b.pinned = nil },
		"no name": func(b *store) { b.headers[0].ConfigHash = "" },
		"faulty":  func(b *store) { b.pinned[Hash([]byte(threeRegions))] = []byte("version: 7") },
		"of elsewhere": func(b *store) {
			b.pinned[Hash([]byte(threeRegions))] = []byte(strings.Replace(threeRegions, "dev", "prod", 1))
		},
	} {
		b := books(ledger.Dispatched, entry("westeurope", "tcp-64", ledger.Received, 2, ""), entry("eastus", "tcp-64", ledger.Expired, 2, ""))
		spoil(b)
		got, err := ReadStatus(t.Context(), b, b, "dev", 1, now)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if s := got.Sweeps[0]; *s.Runs != (Tally{4, 2, 2}) || !strings.HasPrefix(s.Note, "counted from the ledger alone: ") || len(s.Gaps) != 1 {
			t.Errorf("%s: %+v, %+v; want 2 of 4, one gap, and a note", what, s, s.Runs)
		}
	}
}

func TestStatusLooksBackUntilItHasEnoughAndNoFurther(t *testing.T) {
	ages := []time.Duration{time.Hour, 3 * time.Hour, 5 * time.Hour, 30 * 24 * time.Hour, 100 * 24 * time.Hour}
	b := &store{}
	for _, age := range []int{2, 0, 4, 1, 3} { // in no order
		b.headers = append(b.headers, ledger.Header{Slot: slot.Add(-ages[age]), State: ledger.Missed})
	}
	for last, windows := range map[int]int{1: 1, 2: 2, 3: 2, 4: 4, 5: 4} {
		b.windows = nil
		got, err := ReadStatus(t.Context(), b, b, "dev", last, now)
		if err != nil {
			t.Fatal(err)
		}
		var slots []time.Duration
		for _, s := range got.Sweeps {
			slots = append(slots, slot.Sub(s.Slot))
		}
		if want := ages[:min(last, 4)]; !slices.Equal(slots, want) || len(b.windows) != windows {
			t.Errorf("last %d: ages %v after %d questions, want %v after %d", last, slots, len(b.windows), want, windows)
		}
	}
	if got, err := ReadStatus(t.Context(), &store{}, &store{}, "dev", 5, now); err != nil || len(got.Sweeps) != 0 {
		t.Errorf("without any sweep: %+v, %v", got, err)
	}
	broken := errors.New("storage is away")
	if _, err := ReadStatus(t.Context(), &store{err: broken}, &store{}, "dev", 5, now); !errors.Is(err, broken) {
		t.Errorf("a failing ledger: %v, want its error", err)
	}
	if _, err := ReadStatus(t.Context(), books(ledger.Planned), &store{err: broken}, "dev", 5, now); !errors.Is(err, broken) {
		t.Errorf("a failing archive: %v, want its error", err)
	}
}
