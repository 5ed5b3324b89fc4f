package stack_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan/relay"
	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// The first slot's runs reach what each may send before their time is over, and use up the month's budget.
// For the second slot's, between two others, nothing is left.
const (
	thriftyConfig = `
version: 1
environment: thrifty
loopback: true
timing: {lead: 4s, late: 6s, grace: 10s}
budget: {sweep: 3500kB, month: 3500kB}
probers:
  - {region: westeurope, addresses: {public: [10.90.0.11/32]}}
  - {region: northeurope, addresses: {public: [10.90.0.12/32]}}
  - {region: eastus, addresses: {public: [10.90.0.13/32]}}
probes:
  - {name: flow, kind: throughput, schedule: "NOW", paths: [public], from: [westeurope], to: [northeurope], ramp: 100ms, duration: 2s, timeout: 1s, max_bytes: 2MB}
  - {name: messages, kind: stream, schedule: "NOW", paths: [public], from: [northeurope], to: [westeurope], request: 1000, messages: 2000, rate: 2000, timeout: 1s, max_bytes: 1MB}
  - {name: users, kind: load, schedule: "NOW", paths: [public], from: [westeurope], to: [northeurope], users: 2, ramp: 0s, duration: 2s, request: 64, response: 49936, timeout: 1s, max_bytes: 500kB}
  - {name: late, kind: throughput, schedule: "LATER", paths: [public], from: [westeurope, eastus], to: [eastus, westeurope], ramp: 100ms, duration: 1s, timeout: 1s, max_bytes: 1MB}
`
	thriftyNetwork = `
version: 1
seed: 5
delays: none
default: {delay: 10ms, rate: 40M, queue: 200k}
`
)

func TestBulkRunsKeepToTheirBudgets(t *testing.T) {
	yesterday := time.Now().AddDate(0, 0, -1)
	config := func(now, later time.Time) []byte {
		return dueAt(strings.ReplaceAll(string(dueAt(thriftyConfig, now)), "LATER", "NOW"), later)
	}
	s := start(t, config(yesterday, yesterday.Add(time.Hour)), func(o *stack.Options) {
		o.Network, o.NetworkName, o.NetworkLog = []byte(thriftyNetwork), "the test's network", t.Output()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	sameMonth(t)
	awayFromTheNextMinute(t, 6*time.Second)
	first := sweepDue(t, ctx, s, config(wire.Slot(time.Now()), yesterday))
	if first.Planned != 3 || first.Rows != 3 || first.Failed != 0 {
		t.Fatalf("the first sweep came to %+v; want 3 runs with a result", first)
	}
	for _, c := range []struct {
		probe       string
		least, most int64 // bytes
	}{{"flow", 1_500_000, 2_000_000}, {"messages", 990_000, 1_000_000}, {"users", 400_000, 500_000}} {
		for _, r := range rows(t, s, first.Slot)[c.probe] {
			checkStopped(t, s, &r, c.least, c.most)
		}
	}

	if left := time.Until(first.Slot.Add(time.Minute + 100*time.Millisecond)); left > 0 {
		time.Sleep(left)
	}
	awayFromTheNextMinute(t, 6*time.Second)
	second := sweepDue(t, ctx, s, config(yesterday, wire.Slot(time.Now())))
	if second.Planned != 2 || second.Rows != 2 || second.Failed != 2 {
		t.Errorf("the second sweep came to %+v; want 2 runs that fail", second)
	}
	for series, r := range rows(t, s, second.Slot)["late"] {
		if r.Failure != wire.FailureBudget || !strings.Contains(r.Detail, "budget.month") || r.Bulk.MovedBytes != nil || r.Counts.Sent != 0 {
			t.Errorf("%s: %q (%s), %v bytes moved; want failure budget for the month's, and nothing sent", series, r.Failure, r.Detail, figure(r.Bulk.MovedBytes))
		}
	}
	for _, q := range []relay.Query{{From: "westeurope", To: "eastus"}, {From: "eastus", To: "westeurope"}} {
		links, err := s.WAN.Reports().Settled(ctx, q)
		if err != nil || len(links.Links) != 1 || links.Links[0].In != 0 || links.Links[0].DeliveredPayload != 0 {
			t.Errorf("from %s to %s: %+v, %v; want a link that nothing was sent over", q.From, q.To, links.Links, err)
		}
	}
}

// sameMonth waits for the next month, UTC, when this one is all but over: with it the budget begins again.
func sameMonth(t *testing.T) {
	t.Helper()
	now := time.Now().UTC()
	if next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC); time.Until(next) < 4*time.Minute {
		t.Logf("waiting for the next month: %s", time.Until(next))
		time.Sleep(time.Until(next))
	}
}

// sweepDue makes a sweep with a configuration.
func sweepDue(t *testing.T, ctx context.Context, s *stack.Stack, config []byte) stack.Outcome {
	t.Helper()
	if err := s.Configure(ctx, config); err != nil {
		t.Fatal(err)
	}
	o, err := s.Sweep(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// checkStopped checks that a run stopped at its budget: by its row, and by what the network carried.
func checkStopped(t *testing.T, s *stack.Stack, r *tables.Row, least, most int64) {
	t.Helper()
	b := &r.Bulk
	if r.Failure != "" || b.BudgetReached == nil || !*b.BudgetReached || b.MovedBytes == nil || *b.MovedBytes < float64(least) || *b.MovedBytes > float64(most)*1.01 {
		t.Fatalf("%s: %q (%s), %v bytes, budget reached %v; want at least %d bytes, at most %d and 1 %%, and that its budget was reached",
			r.Series, r.Failure, r.Detail, figure(b.MovedBytes), figure(b.BudgetReached), least, most)
	}
	there, back := carried(t, s, r)
	t.Logf("%s: %.0f bytes of %d moved, the network carried %d and %d", r.Series, *b.MovedBytes, most, there, back)
	if there+back < least || there+back > most+most/20+talkBytes {
		t.Errorf("%s: the network carried %d bytes of payload, want %d to %d and little more", r.Series, there+back, least, most)
	}
	if took := r.End.Sub(*r.Start); took > 1900*time.Millisecond && r.Kind != wire.KindStream {
		t.Errorf("%s: it went on for %s", r.Series, took)
	}
}
