package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ledger"
)

func TestASweepStoresItsPlanAndTellsTheProbers(t *testing.T) {
	b := newBench(t)
	got := b.sweep(t)
	want := dispatch.Report{Probes: 2, Assignments: 6, Planned: runsPlanned, Created: 1, Dispatched: runsPlanned, Written: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	b.told(t, slot)
	header, entries := b.store.Book(wire.SlotName(slot))
	if header.State != ledger.Dispatched || header.ConfigHash != b.plan(t, slot).ConfigHash || header.ConfigHash == "" {
		t.Errorf("header is %+v", header)
	}
	if len(entries) != 6 {
		t.Fatalf("%d entries: want 6", len(entries))
	}
	for _, e := range entries {
		if e.State != ledger.Dispatched || e.Runs != 2 || e.Assignment != wire.AssignmentID(environment, slot, e.Key.Source, e.Key.Probe, 0) {
			t.Errorf("entry %+v", e)
		}
	}
	if open := b.store.Open(); !slices.Equal(open, []string{"20261130T1020"}) {
		t.Errorf("open are %q", open)
	}
	for _, a := range b.plan(t, slot).Assignments {
		for _, r := range a.Runs {
			if r.Failure != "" || r.Address != probers[r.Target]+":7700" {
				t.Errorf("run %+v", r)
			}
		}
	}
}

// What comes first must be durable before what relies on it.
func TestWritesComeInTheirOrder(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	var writes []string
	for _, op := range b.store.Calls() {
		if slices.Contains([]string{"PinConfig", "MarkOpen", "CreatePlan", "AdvanceHeader", "AdvanceEntries", "WriteCurrent"}, op) {
			writes = append(writes, op)
		}
	}
	want := []string{"PinConfig", "MarkOpen", "CreatePlan", "AdvanceHeader", "AdvanceEntries",
		"WriteCurrent", "WriteCurrent", "WriteCurrent", "AdvanceEntries", "AdvanceHeader"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTheSameSlotAgainChangesNothing(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	before, plan := b.store.State(), b.store.Plan(wire.SlotName(slot))
	b.seed = wire.Key{9}
	b.sleep(20 * time.Second)
	report := b.sweep(t)
	if report.Created != 0 || report.Written != 0 || report.Dispatched != 0 || report.Planned != runsPlanned {
		t.Errorf("the second report is %+v", report)
	}
	if diff := cmp.Diff(before, b.store.State()); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	if string(b.store.Plan(wire.SlotName(slot))) != string(plan) {
		t.Error("the plan changed")
	}
	b.told(t, slot)
}

// Handlers of one slot and of the next, with every call at a moment of its own.
func TestHandlersAtOnceEndInOnePlanASlot(t *testing.T) {
	next := slot.Add(10 * time.Minute)
	for round := range 30 {
		b := newBench(t)
		var created, seeds atomic.Int64
		b.store.Before = func(string) {
			for range rand.IntN(4) {
				runtime.Gosched()
			}
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
		var work sync.WaitGroup
		for _, at := range []time.Time{slot, slot, next, next, slot} {
			work.Go(func() {
				d := b.dispatcher()
				d.NewSeed = func() wire.Key { return wire.Key{byte(seeds.Add(1))} }
				report, err := d.Sweep(t.Context(), at, nil)
				created.Add(int64(report.Created))
				if err != nil {
					t.Error(err)
				}
				if _, err := d.Resume(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if created.Load() != 2 {
			t.Fatalf("round %d: %d plans were created: want one a slot", round, created.Load())
		}
		b.told(t, slot, next)
		for _, at := range []time.Time{slot, next} {
			header, entries := b.store.Book(wire.SlotName(at))
			if header.State != ledger.Dispatched || len(entries) != 6 {
				t.Errorf("round %d: slot %s: header %+v, %d entries", round, wire.SlotName(at), header, len(entries))
			}
		}
		if t.Failed() {
			return
		}
	}
}

// held is a store whose user is held up when it makes a call for the first time.
type held struct {
	*storetest.Store
	at    string
	once  *sync.Once
	until func()
}

func (h held) ReadCurrent(ctx context.Context, prober string) ([]byte, string, error) {
	if h.at == "ReadCurrent" {
		h.once.Do(h.until)
	}
	return h.Store.ReadCurrent(ctx, prober)
}

func (h held) OpenSweeps(ctx context.Context) ([]time.Time, error) {
	if h.at == "OpenSweeps" {
		h.once.Do(h.until)
	}
	return h.Store.OpenSweeps(ctx)
}

func (h held) WriteCurrent(ctx context.Context, prober string, body []byte, etag string) (bool, error) {
	if h.at == "WriteCurrent" {
		h.once.Do(h.until)
	}
	return h.Store.WriteCurrent(ctx, prober, body, etag)
}

// Another handler serves the next slot while a first one is held up, anywhere between what it
// reads and what it writes.
func TestAStaleHandlerTakesNothingAway(t *testing.T) {
	for _, at := range []string{"ReadCurrent", "OpenSweeps", "WriteCurrent"} {
		t.Run(at, func(t *testing.T) {
			b := newBench(t)
			next := slot.Add(10 * time.Minute)
			store := held{b.store, at, new(sync.Once), func() {
				report, err := b.dispatcher().Sweep(t.Context(), next, nil)
				if err != nil || report.Written != 3 {
					t.Errorf("the newer handler: %+v, %v", report, err)
				}
			}}
			stale := b.dispatcher()
			stale.Mailbox, stale.Ledger = store, store
			if _, err := stale.Sweep(t.Context(), slot, nil); err != nil {
				t.Error(err)
			}
			b.told(t, slot, next)
		})
	}
}

func TestTellingIsBoundedAndResumed(t *testing.T) {
	b := newBench(t)
	var n atomic.Int64
	b.store.Before = func(op string) {
		if op == "OpenSweeps" { // between the reading of a version and its replacement
			_, etag, _ := b.store.ReadCurrent(t.Context(), "eastus")
			_, _ = b.store.WriteCurrent(t.Context(), "eastus", fmt.Appendf(nil, `{"n":%d}`, n.Add(1)), etag)
		}
	}
	_, err := b.dispatcher().Sweep(t.Context(), slot, nil)
	if err == nil || !strings.Contains(err.Error(), `telling ["eastus"] of sweep "20261130T1020"`) {
		t.Fatalf("error is %v", err)
	}
	if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Planned {
		t.Errorf("header is %s: want planned", header.State)
	}
	b.store.Before = nil
	if report := b.resume(t); report.Dispatched != runsPlanned || report.Written != 1 {
		t.Errorf("resumed: %+v", report)
	}
	b.told(t, slot)
}

func TestNoSweepWithoutItsConfiguration(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"missing":                    {"", `environment "test1" has none yet: push one with sweep config push`},
		"of another environment":     {strings.Replace(configuration, "environment: test1", "environment: prod", 1), `it is of environment "prod", and the app serves "test1"`},
		"not valid":                  {strings.Replace(configuration, "kind: tcp,", "kind: tpc,", 1), `tpc`},
		"not even YAML":              {"version: [", "reading the configuration: "},
		"with a probe named ext.":    {strings.Replace(configuration, "name: tcp-64", "name: ext.tcp", 1), `ext.tcp`},
		"with an unknown key in it":  {configuration + "colour: red\n", "colour"},
		"empty, as after a bad push": {"\n", "reading the configuration: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.SetConfig(nil)
			if c.config != "" {
				b.store.SetConfig([]byte(c.config))
			}
			_, err := b.dispatcher().Sweep(t.Context(), slot, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v: want one with %q", err, c.want)
			}
			if state := b.store.State(); len(state) != 0 {
				t.Errorf("something was stored: %q", state)
			}
		})
	}
}

func TestASlotIsAWholeMinuteAndNotOld(t *testing.T) {
	b := newBench(t)
	for _, at := range []time.Time{slot.Add(time.Second), slot.Add(-ledger.LateLimit)} {
		if _, err := b.dispatcher().Sweep(t.Context(), at, nil); err == nil {
			t.Errorf("slot %s was accepted", at)
		}
	}
	if state := b.store.State(); len(state) != 0 {
		t.Errorf("something was stored: %q", state)
	}
}

func TestNothingDueStoresNothing(t *testing.T) {
	b := newBench(t)
	report, err := b.dispatcher().Sweep(t.Context(), slot.Add(time.Minute), nil)
	if err != nil || report != (dispatch.Report{}) {
		t.Errorf("report %+v, error %v", report, err)
	}
	if state := b.store.State(); len(state) != 0 {
		t.Errorf("something was stored: %q", state)
	}
}

func TestMissedSlotsGetHeadersWhereThereAreNone(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	earlier, later := slot.Add(-10*time.Minute), slot.Add(10*time.Minute)
	b.sleep(10 * time.Minute)
	report, err := b.dispatcher().Sweep(t.Context(), later, []time.Time{earlier, slot})
	if err != nil || report.Missed != 1 {
		t.Fatalf("report %+v, error %v", report, err)
	}
	for at, want := range map[time.Time]ledger.State{earlier: ledger.Missed, slot: ledger.Dispatched, later: ledger.Dispatched} {
		header, _ := b.store.Book(wire.SlotName(at))
		if header.State != want || (header.Reason == "") != (want != ledger.Missed) {
			t.Errorf("header of %s is %+v: want %s", wire.SlotName(at), header, want)
		}
	}
	if report, err = b.dispatcher().Sweep(t.Context(), later, []time.Time{earlier}); err != nil || report.Missed != 0 {
		t.Errorf("again: report %+v, error %v", report, err)
	}
}

func TestMissedSlotsAreRecordedWithoutASweep(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	earlier := slot.Add(-10 * time.Minute)
	for _, want := range []int{1, 0} {
		if report, err := b.dispatcher().Miss(t.Context(), []time.Time{earlier, slot}); err != nil || report != (dispatch.Report{Missed: want}) {
			t.Errorf("report %+v, error %v: want %d missed", report, err, want)
		}
	}
	for at, want := range map[time.Time]ledger.State{earlier: ledger.Missed, slot: ledger.Dispatched} {
		if header, _ := b.store.Book(wire.SlotName(at)); header.State != want || (header.Reason == "") != (want != ledger.Missed) {
			t.Errorf("header of %s is %+v: want %s", wire.SlotName(at), header, want)
		}
	}
	if open := b.store.Open(); !slices.Equal(open, []string{wire.SlotName(slot)}) {
		t.Errorf("open are %q", open)
	}
}

// The handler ended between the plan and the ledger: the slot is not missed.
func TestASlotWithAPlanIsNotMissed(t *testing.T) {
	b := newBench(t)
	b.store.Fault = storetest.Always("AdvanceHeader", storetest.NotStored)
	if _, err := b.dispatcher().Sweep(t.Context(), slot, nil); err == nil {
		t.Fatal("no error")
	}
	b.store.Fault = nil
	report, err := b.dispatcher().Sweep(t.Context(), slot.Add(10*time.Minute), []time.Time{slot})
	if err != nil || report.Missed != 0 {
		t.Errorf("report %+v, error %v", report, err)
	}
	b.resume(t)
	if header, _ := b.store.Book(wire.SlotName(slot)); header.State != ledger.Dispatched {
		t.Errorf("header is %+v", header)
	}
}

func TestMissedSlotsAreRecordedWhenTheSweepFails(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig(nil)
	report, err := b.dispatcher().Sweep(t.Context(), slot, []time.Time{slot.Add(-10 * time.Minute)})
	if err == nil || report.Missed != 1 {
		t.Errorf("report %+v, error %v", report, err)
	}
}
