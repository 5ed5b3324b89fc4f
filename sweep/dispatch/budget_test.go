package dispatch_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/plan"
)

// bulkConfiguration has a latency probe and a bulk probe of six runs an hour, a gigabyte each; a month may
// send 15.
const bulkConfiguration = `version: 1
environment: test1
loopback: true
timing: {lead: 5s, late: 1m, grace: 1m}
budget: {sweep: 6GB, month: 15GB}
probers:
  - region: westeurope
    addresses: {public: [127.0.0.11/32, weu.example.com]}
  - region: northeurope
    addresses: {public: [127.0.0.12/32]}
  - region: eastus
    addresses: {public: [127.0.0.13/32]}
probes:
  - {name: connect, kind: connect, schedule: "*/20 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, warmup: 1}
  - {name: rate, kind: throughput, schedule: "20 * * * *", paths: [public], max_bytes: 1GB, duration: 5s}
`

func bulkBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.store.SetConfig([]byte(bulkConfiguration))
	return b
}

// planned is the stored plan of a slot, and its runs by failure.
func planned(t *testing.T, b *bench, at time.Time) (p *plan.Plan, failures map[wire.Failure]int) {
	t.Helper()
	p = b.plan(t, at)
	failures = map[wire.Failure]int{}
	for _, a := range p.Assignments {
		for _, r := range a.Runs {
			failures[r.Failure]++
		}
	}
	return p, failures
}

func sweepAt(t *testing.T, b *bench, d *dispatch.Dispatcher, at time.Time) dispatch.Report {
	t.Helper()
	b.sleep(at.Add(time.Second).Sub(b.clock()))
	b.registerAll(t)
	report, err := d.Sweep(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestWhatExceedsTheMonthIsPlannedWithTheFailureBudget(t *testing.T) {
	b := bulkBench(t)
	d := b.dispatcher()
	for i, want := range []struct {
		bytes int64
		over  int
	}{{6e9, 0}, {6e9, 0}, {3e9, 3}, {0, 6}} {
		at := slot.Add(time.Duration(i) * time.Hour)
		report := sweepAt(t, b, d, at)
		p, failures := planned(t, b, at)
		header, _ := b.store.Book(wire.SlotName(at))
		if p.BulkBytes() != want.bytes || header.PlannedBytes != want.bytes || failures[wire.FailureBudget] != want.over || report.OverBudget != want.over {
			t.Errorf("slot %d: planned %d bytes, the header says %d, %d runs over the budget, report %+v; want %+v", i, p.BulkBytes(), header.PlannedBytes, failures[wire.FailureBudget], report, want)
		}
		// Again, and after a fault, it is the same plan: nothing is counted twice.
		if again := sweepAt(t, b, d, at); again.Created != 0 || again.OverBudget != 0 {
			t.Errorf("slot %d again: %+v", i, again)
		}
	}
	if logs := b.logged(); !strings.Contains(logs, "bulk runs exceed the budget") || !strings.Contains(logs, "remedy") {
		t.Errorf("the log does not say so:\n%s", logs)
	}
	// The next month begins with nothing.
	next := time.Date(2026, 12, 1, 0, 20, 0, 0, time.UTC)
	sweepAt(t, b, d, next)
	if p, failures := planned(t, b, next); p.BulkBytes() != 6e9 || failures[wire.FailureBudget] != 0 {
		t.Errorf("the next month: %d bytes, failures %v", p.BulkBytes(), failures)
	}
}

// A handler that ended after its plan was stored, before the header was, has spent all the same.
func TestAPlanWithoutAHeaderCountsAgainstTheMonth(t *testing.T) {
	b := bulkBench(t)
	d := b.dispatcher()
	for i := range 2 {
		at := slot.Add(time.Duration(i) * time.Hour)
		b.sleep(at.Add(time.Second).Sub(b.clock()))
		b.registerAll(t)
		b.store.Fault = storetest.Always("AdvanceHeader", storetest.NotStored)
		if _, err := d.Sweep(t.Context(), at, nil); err == nil {
			t.Fatal("the header could not be written, and nobody says so")
		}
		b.store.Fault = nil
	}
	at := slot.Add(2 * time.Hour)
	sweepAt(t, b, d, at)
	if p, failures := planned(t, b, at); p.BulkBytes() != 3e9 || failures[wire.FailureBudget] != 3 {
		t.Errorf("planned %d bytes, failures %v: want what is left of 15GB after 12", p.BulkBytes(), failures)
	}
}

// A configuration that is pushed while bulk runs are under way knows nothing of them, and nobody is in two
// all the same.
func TestABulkSlotWaitsForTheRunsOfAnother(t *testing.T) {
	b := bulkBench(t)
	d := b.dispatcher()
	sweepAt(t, b, d, slot)
	earlier, _ := planned(t, b, slot)
	b.store.SetConfig([]byte(strings.Replace(bulkConfiguration, `schedule: "20 * * * *"`, `schedule: "21 * * * *"`, 1)))
	at := slot.Add(time.Minute)
	if until := earlier.BulkUntil(); !until.After(at.Add(time.Minute)) {
		t.Fatalf("the first slot's runs are over at %s, before the second's could begin", until)
	}
	sweepAt(t, b, d, at)
	later, failures := planned(t, b, at)
	for i := range later.Assignments {
		if start := later.Assignments[i].Start; start.Before(earlier.BulkUntil().Add(config.BulkGuard)) {
			t.Errorf("a run begins at %s, and those of the slot before are over at %s", start, earlier.BulkUntil())
		}
	}
	if failures[""] != 6 || later.BulkBytes() != 6e9 {
		t.Errorf("planned %d bytes, failures %v", later.BulkBytes(), failures)
	}
}

// Without bulk probes nobody adds up a month; and when its sum cannot be read, nothing is planned.
func TestTheMonthIsAddedUpForBulkSlotsAlone(t *testing.T) {
	b := bulkBench(t)
	d := b.dispatcher()
	b.store.Fault = storetest.Always("Sweeps", storetest.NotStored)
	sweepAt(t, b, d, slot.Add(20*time.Minute))
	if _, failures := planned(t, b, slot.Add(20*time.Minute)); failures[""] != 6 {
		t.Errorf("latency runs: %v", failures)
	}
	b.sleep(40 * time.Minute)
	if _, err := d.Sweep(t.Context(), slot.Add(time.Hour), nil); err == nil || !strings.Contains(err.Error(), "adding up what the month") {
		t.Errorf("%v", err)
	}
	if body := b.store.Plan(wire.SlotName(slot.Add(time.Hour))); body != nil {
		t.Errorf("planned all the same: %s", body)
	}
}

// The probers of a bulk sweep are told of their rounds and sessions, and a target of a URL is nobody to
// tell.
func TestProbersAreToldOfTheirBulkRuns(t *testing.T) {
	b := bulkBench(t)
	sweepAt(t, b, b.dispatcher(), slot)
	for id := range probers {
		var c wire.Current
		if err := json.Unmarshal(b.store.Current(id), &c); err != nil {
			t.Fatal(err)
		}
		bulk, sessions := 0, 0
		for _, a := range c.Assignments {
			if a.Spec.Kind == wire.KindThroughput && len(a.Runs) == 1 && !a.Runs[0].Session.IsZero() {
				bulk++
			}
		}
		for _, s := range c.Sessions {
			if s.Kind == wire.KindThroughput && s.Spec.Bulk.MaxBytes == 1e9 && s.MaxRequests == 0 {
				sessions++
			}
		}
		if bulk != 2 || sessions != 2 {
			t.Errorf("%s: %d bulk runs, %d sessions; want two each", id, bulk, sessions)
		}
	}
}

// The same on the fake and on the real stores: a sweep within the month's budget, one that uses it up and
// one beyond it.
func TestBothStoresEndInTheSameStateAfterAMonthIsUsedUp(t *testing.T) {
	scenario := func(t *testing.T, w world) (lines []string) {
		b := &bench{now: slot}
		w.configure([]byte(strings.Replace(bulkConfiguration, environment, w.environment, 1)))
		d := &dispatch.Dispatcher{Environment: w.environment, Mailbox: w.stores, Ledger: w.stores, Rows: w.stores, Resolver: b,
			Now: b.clock, Log: slog.New(slog.DiscardHandler), NewSeed: func() wire.Key { return wire.Key{1, 2, 3} }}
		slots := []time.Time{slot, slot.Add(time.Hour), slot.Add(2 * time.Hour)}
		for _, at := range slots {
			for id := range probers {
				r := b.registration(id)
				r.Environment = w.environment
				w.register(id, encode(t, r))
			}
			if _, err := d.Sweep(t.Context(), at, nil); err != nil {
				t.Fatal(err)
			}
			b.sleep(time.Hour)
		}
		headers, err := w.stores.Sweeps(t.Context(), slot, slots[2])
		if err != nil {
			t.Fatal(err)
		}
		return append(w.state(t, slots...), fmt.Sprintf("headers %+v", headers))
	}
	genuine := azure(t)
	got, want := scenario(t, genuine), scenario(t, memory(genuine.environment))
	if all := strings.Join(want, "\n"); strings.Count(all, "PlannedBytes:6000000000") != 2+2 || strings.Count(all, "PlannedBytes:3000000000") != 1 || !strings.Contains(all, `"failure":"budget"`) {
		t.Errorf("the scenario is not what it says:\n%s", all)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-fake +real):\n%s", diff)
	}
}
