package tables

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/result"
)

func entryOf(s *Store, slot time.Time, source string, part int, state ledger.State) ledger.Entry {
	return ledger.Entry{Slot: slot, Key: ledger.Key{Source: source, Probe: "tcp-64", Part: part},
		Assignment: wire.AssignmentID(s.environment, slot, source, "tcp-64", part), State: state, Runs: 4}
}

func TestTheLedgerGoesForwardOnly(t *testing.T) {
	s, ctx := newStore(t), background(t)
	header := func(state, want ledger.State) {
		t.Helper()
		must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: state}))
		if h, _, found, err := s.Sweep(ctx, slot0); err != nil || !found || h.State != want || h.ConfigHash != "abc" {
			t.Errorf("header %s: stored %+v, %v, %v; want %s", state, h, found, err, want)
		}
	}
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: ledger.Planned, ConfigHash: "abc"}))
	header(ledger.Planned, ledger.Planned)
	header(ledger.Dispatched, ledger.Dispatched)
	header(ledger.Planned, ledger.Dispatched)
	header(ledger.Missed, ledger.Dispatched)
	header(ledger.Complete, ledger.Complete)
	header(ledger.Dispatched, ledger.Complete)

	entry := func(e, want ledger.Entry) {
		t.Helper()
		must(t, s.AdvanceEntries(ctx, []ledger.Entry{e}))
		_, es, _, err := s.Sweep(ctx, slot0)
		if d := cmp.Diff([]ledger.Entry{want}, es); err != nil || d != "" {
			t.Errorf("entry %s: %v (-want +stored):\n%s", e.State, err, d)
		}
	}
	planned := entryOf(s, slot0, "westeurope", 0, ledger.Planned)
	entry(planned, planned)
	expired := planned
	expired.State, expired.Error = ledger.Expired, "no document came"
	entry(expired, expired)
	entry(planned, expired)
	received := ledger.Entry{Slot: slot0, Key: planned.Key, State: ledger.Received, Attempt: "0a1b2c3d"}
	want := received
	want.Assignment, want.Runs = planned.Assignment, planned.Runs // kept; the error is not
	entry(received, want)
	entry(expired, want)
}

func TestAMissedSlotGivesWayToASweepAndItsReasonGoes(t *testing.T) {
	s, ctx := newStore(t), background(t)
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: ledger.Missed, Reason: "the app was down"}))
	h, es, found, err := s.Sweep(ctx, slot0)
	if d := cmp.Diff(ledger.Header{Slot: slot0, State: ledger.Missed, Reason: "the app was down"}, h); err != nil || !found || len(es) != 0 || d != "" {
		t.Errorf("%v, %v, %v\n%s", es, found, err, d)
	}
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: ledger.Planned, ConfigHash: "abc"}))
	h, _, _, err = s.Sweep(ctx, slot0)
	if d := cmp.Diff(ledger.Header{Slot: slot0, State: ledger.Planned, ConfigHash: "abc"}, h); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// What a sweep planned to send stays in its header, to the byte, whatever writes the header next.
func TestAHeaderKeepsThePlannedBytes(t *testing.T) {
	s, ctx := newStore(t), background(t)
	const planned = 4_503_599_627_370_495 // the largest odd number of bytes that a budget may have, about
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: ledger.Planned, ConfigHash: "abc", PlannedBytes: planned}))
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: ledger.Complete}))
	must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot0.Add(time.Minute), State: ledger.Planned, ConfigHash: "abc"}))
	hs, err := s.Sweeps(ctx, slot0, slot0.Add(time.Hour))
	want := []ledger.Header{
		{Slot: slot0.Add(time.Minute), State: ledger.Planned, ConfigHash: "abc"},
		{Slot: slot0, State: ledger.Complete, ConfigHash: "abc", PlannedBytes: planned},
	}
	if d := cmp.Diff(want, hs); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestTheHeaderRowIsWrittenOut(t *testing.T) {
	e, err := encode("20261130T1020", headerRow, headerFields, &ledger.Header{Slot: slot0, State: ledger.Planned, ConfigHash: "abc", PlannedBytes: 6e9})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"PartitionKey":"20261130T1020","RowKey":"0","slot@odata.type":"Edm.DateTime","slot":"2026-11-30T10:20:00Z","state":"planned","config_sha256":"abc",` +
		`"planned_bytes@odata.type":"Edm.Double","planned_bytes":6000000000.0}`
	if got := string(e.body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestManyEntriesAreWrittenAtOnceAndSeveralStatesOfOneInOrder(t *testing.T) {
	s, ctx := newStore(t), background(t)
	var es []ledger.Entry
	for i := range 60 {
		for part := range 3 {
			es = append(es, entryOf(s, slot0, fmt.Sprintf("prober-%d", i), part, ledger.Planned))
		}
	}
	es = append(es, entryOf(s, slot0, "prober-7", 1, ledger.Received), entryOf(s, slot0, "prober-7", 1, ledger.Dispatched))
	es = append(es, entryOf(s, slot0, "prober-7", 12, ledger.Planned))
	must(t, s.AdvanceEntries(ctx, es))
	_, got, found, err := s.Sweep(ctx, slot0)
	if err != nil || !found || len(got) != 181 {
		t.Fatalf("%d entries, %v, %v; want 181", len(got), found, err)
	}
	for i, e := range got {
		want := ledger.Planned
		if (e.Key == ledger.Key{Source: "prober-7", Probe: "tcp-64", Part: 1}) {
			want = ledger.Received
		}
		if e.State != want || e.Runs != 4 {
			t.Errorf("entry %d: %+v, want %s", i, e, want)
		}
		if i > 0 && got[i-1].Key.Source == e.Key.Source && got[i-1].Key.Part >= e.Key.Part {
			t.Errorf("part %d follows part %d", e.Key.Part, got[i-1].Key.Part)
		}
	}
}

// Handlers advance the same entries at once, each through the states in its own order.
func TestHandlersAtOnceLeaveTheHighestState(t *testing.T) {
	s, ctx := newStore(t), background(t)
	states := []ledger.State{ledger.Planned, ledger.Dispatched, ledger.Expired, ledger.Received}
	sources := []string{"eastus", "westeurope", "uksouth", "brazilsouth", "northeurope"}
	var wg sync.WaitGroup
	for w := range 6 {
		rnd := rand.New(rand.NewPCG(uint64(w), 7))
		wg.Go(func() {
			for _, i := range rnd.Perm(len(states)) {
				var es []ledger.Entry
				for j, source := range sources {
					if state := states[i]; j < 3 || state != ledger.Received { // two are never received
						es = append(es, entryOf(s, slot0, source, 0, state))
					}
				}
				if err := s.AdvanceEntries(ctx, es); err != nil {
					t.Error(err)
				}
				if err := s.AdvanceHeader(ctx, ledger.Header{Slot: slot0, State: []ledger.State{ledger.Planned, ledger.Dispatched, ledger.Missed, ledger.Complete}[i]}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h, es, _, err := s.Sweep(ctx, slot0)
	must(t, err)
	if h.State != ledger.Complete || len(es) != len(sources) {
		t.Fatalf("header %s, %d entries", h.State, len(es))
	}
	for _, e := range es {
		want := ledger.Received
		if e.Key.Source == "brazilsouth" || e.Key.Source == "northeurope" {
			want = ledger.Expired
		}
		if e.State != want {
			t.Errorf("%s: %s, want %s", e.Key.Source, e.State, want)
		}
	}
}

func TestEntriesOfAnotherEnvironmentAndBadKeysAreRefused(t *testing.T) {
	s, ctx := newStore(t), background(t)
	good := entryOf(s, slot0, "westeurope", 0, ledger.Planned)
	for name, spoil := range map[string]func(*ledger.Entry){
		"environment": func(e *ledger.Entry) { e.Assignment = wire.AssignmentID("prod", slot0, "westeurope", "tcp-64", 0) },
		"part":        func(e *ledger.Entry) { e.Assignment, e.Key.Part = "", -1 },
		"source":      func(e *ledger.Entry) { e.Assignment, e.Key.Source = "", "a|b" },
		"foreign":     func(e *ledger.Entry) { e.Assignment, e.Key.Probe = "", "ext.mtr" },
		"slot":        func(e *ledger.Entry) { e.Assignment, e.Slot = "", slot0.Add(time.Second) },
	} {
		bad := good
		spoil(&bad)
		if err := s.AdvanceEntries(ctx, []ledger.Entry{good, bad}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, found, err := s.Sweep(ctx, slot0); err != nil || found {
		t.Errorf("something was written: %v, %v", found, err)
	}
}

func TestSweepsAreReadNewestFirstAcrossMonths(t *testing.T) {
	s, ctx := newStore(t), background(t)
	slots := []time.Time{time.Date(2026, 10, 31, 23, 50, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), slot0, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	for _, slot := range slots {
		must(t, s.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Planned}))
		must(t, s.AdvanceEntries(ctx, []ledger.Entry{entryOf(s, slot, "westeurope", 0, ledger.Planned)}))
	}
	for _, c := range []struct{ since, until, first, last int }{ // −1 is no bound; last is left out
		{-1, -1, 0, 4}, {1, -1, 1, 4}, {-1, 2, 0, 2}, {1, 3, 1, 3}, {2, 2, 0, 0},
	} {
		bound := func(i int) time.Time {
			if i < 0 {
				return time.Time{}
			}
			return slots[i].Add(-time.Second) // the slot is the first whole minute after it
		}
		hs, err := s.Sweeps(ctx, bound(c.since), bound(c.until))
		must(t, err)
		var got, want []time.Time
		for _, h := range hs {
			got = append(got, h.Slot)
		}
		for i := c.last - 1; i >= c.first; i-- {
			want = append(want, slots[i])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("since %d until %d (-want +got):\n%s", c.since, c.until, d)
		}
	}
}

func TestOpenSweepsStayUntilTheyAreCleared(t *testing.T) {
	s, ctx := newStore(t), background(t)
	later := slot0.Add(10 * time.Minute)
	for _, slot := range []time.Time{later, slot0, later} {
		must(t, s.MarkOpen(ctx, slot))
	}
	must(t, s.MarkDirty(ctx, []result.Result{expired(seriesOf(s.environment, "westeurope", "eastus"), slot0)})) // the same table
	check := func(want ...time.Time) {
		t.Helper()
		got, err := s.OpenSweeps(ctx)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	check(slot0, later)
	must(t, s.ClearOpen(ctx, slot0))
	must(t, s.ClearOpen(ctx, slot0))
	check(later)
	if err := s.MarkOpen(ctx, slot0.Add(time.Second)); !errors.Is(err, ErrRefused) {
		t.Errorf("a slot that is no whole minute: %v", err)
	}
}

func TestDirtyMarksAreOneAnHourAndOneADayAndGetANewETag(t *testing.T) {
	s, ctx := newStore(t), background(t)
	series := seriesOf(s.environment, "westeurope", "eastus")
	rs := []result.Result{expired(series, slot0), expired(series, slot0.Add(10*time.Minute)), expired(series, slot0.Add(time.Hour)), expired(series, slot0.Add(-24*time.Hour))}
	must(t, s.MarkDirty(ctx, rs))
	_, before, err := s.get(ctx, s.name(dirtyTable), hourPartition, "westeurope|20261130T10")
	must(t, err)
	for partition, want := range map[string][]string{hourPartition: {"20261129T10", "20261130T10", "20261130T11"}, dayPartition: {"20261129", "20261130"}} {
		marks, err := collect(scanAs(ctx, s, s.name(dirtyTable), keyRange{partition: partition}.filter(), 0, dirtyFields))
		must(t, err)
		var got []string
		for _, m := range marks {
			form := map[string]string{hourPartition: "20060102T15", dayPartition: "20060102"}[partition]
			got = append(got, m.Begin.Format(form))
			if m.Source != "westeurope" {
				t.Errorf("mark %+v", m)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", partition, d)
		}
	}
	time.Sleep(5 * time.Millisecond) // Azurite's ETags are times
	must(t, s.MarkDirty(ctx, rs[:1]))
	_, after, err := s.get(ctx, s.name(dirtyTable), hourPartition, "westeurope|20261130T10")
	if err != nil || before == "" || before == after {
		t.Errorf("ETags %s and %s, %v", before, after, err)
	}
}
