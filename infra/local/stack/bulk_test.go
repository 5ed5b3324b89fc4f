package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// Three probers and a web server, two paths between two of them. The bulk probes are due at NOW alone.
const (
	bulkConfig = `
version: 1
environment: bulk
loopback: true
timing: {lead: 4s, late: 6s, grace: 10s}
budget: {sweep: 200MB, month: 5GB}
probers:
  - {region: westeurope, addresses: {public: [10.90.0.11/32], peering: [10.91.0.11/32]}}
  - {region: northeurope, addresses: {public: [10.90.0.12/32], peering: [10.91.0.12/32]}}
  - {region: eastus, addresses: {public: [10.90.0.13/32]}}
endpoints:
  - {name: web, url: "http://10.90.0.14:8080/"}
probes:
  - {name: rtt, kind: tcp, schedule: "* * * * *", paths: [public, peering], count: 25, interval: 20ms, timeout: 1s, warmup: 2, request: 64}
  - {name: up, kind: throughput, schedule: "NOW", paths: [public, peering], from: [westeurope], to: [northeurope], ramp: 300ms, duration: 1500ms, streams: 2, timeout: 1s, max_bytes: 20MB}
  - {name: both, kind: throughput, schedule: "NOW", paths: [public], from: [northeurope], to: [eastus], direction: both, rate: 20Mbit, ramp: 300ms, duration: 1500ms, timeout: 1s, max_bytes: 20MB}
  - {name: knee, kind: saturate, schedule: "NOW", paths: [public], from: [westeurope], to: [eastus], request: 4096, read: 50, outstanding: 4, duration: 400ms, timeout: 1s, max_bytes: 20MB}
  - {name: messages, kind: stream, schedule: "NOW", paths: [public], from: [eastus], to: [westeurope], request: 1024, messages: 800, rate: 1000, timeout: 1s, max_bytes: 20MB}
  - {name: users, kind: load, schedule: "NOW", paths: [public], from: [northeurope], to: [westeurope], users: 5, ramp: 100ms, duration: 600ms, request: 512, response: 4096, timeout: 1s, max_bytes: 20MB}
  - {name: pages, kind: load, schedule: "NOW", paths: [public], from: [westeurope, northeurope], to: [web], users: 5, ramp: 100ms, duration: 600ms, timeout: 1s, max_bytes: 20MB}
`
	bulkNetwork = `
version: 1
seed: 5
delays: none
default: {delay: 10ms, rate: 40M, queue: 200k}
pairs:
  - {from: westeurope, to: northeurope, path: peering, both: true, delay: 5ms, rate: 60M}
`
)

// dueAt is a configuration whose bulk probes are due at a slot and at no other of the year.
func dueAt(config string, slot time.Time) []byte {
	slot = slot.UTC()
	return []byte(strings.ReplaceAll(config, "NOW", fmt.Sprintf("%d %d %d %d *", slot.Minute(), slot.Hour(), slot.Day(), slot.Month())))
}

// websiteTakes is far more than the ends add to a round trip, so that a network time which holds it stands out.
const websiteTakes = 40 * time.Millisecond

// website answers with 2,000 bytes after that time, and says so.
func website(w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	time.Sleep(websiteTakes)
	w.Header().Set("Server-Timing", fmt.Sprintf("total;dur=%.6f", float64(time.Since(began))/1e6))
	_, _ = io.WriteString(w, strings.Repeat("0123456789", 200))
}

// A sweep with every bulk kind, and the latency sweep of the minute after it, whose time lies among the
// bulk runs: every run is made, alone, and moved what the network carried.
func TestBulkKindsGoThroughTheWholePipeline(t *testing.T) {
	s := start(t, dueAt(bulkConfig, time.Now().AddDate(0, 0, -1)), func(o *stack.Options) {
		o.Network, o.NetworkName, o.NetworkLog = []byte(bulkNetwork), "the test's network", t.Output()
		o.Services = []stack.Service{{Name: "web", Paths: []string{"public"}, Port: 8080, Handler: http.HandlerFunc(website)}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// Planned within this part of a minute, some bulk runs come before the next minute's latency runs, and
	// some after them.
	const from, until = 9 * time.Second, 42 * time.Second
	switch now, minute := time.Now(), wire.Slot(time.Now()); {
	case now.Before(minute.Add(from)):
		time.Sleep(time.Until(minute.Add(from)))
	case now.After(minute.Add(until)):
		time.Sleep(time.Until(minute.Add(time.Minute + from)))
	}
	slot := wire.Slot(time.Now())
	if err := s.Configure(ctx, dueAt(bulkConfig, slot)); err != nil {
		t.Fatal(err)
	}
	var after stack.Outcome
	var afterErr error
	var wait sync.WaitGroup
	wait.Go(func() {
		time.Sleep(time.Until(slot.Add(time.Minute + 100*time.Millisecond)))
		after, afterErr = s.Sweep(ctx, nil)
	})
	outcome, err := s.Sweep(ctx, nil)
	wait.Wait()
	if err != nil || afterErr != nil {
		t.Fatal(err, afterErr)
	}
	const latency, bulk = 8, 8 // runs a sweep
	for _, want := range []struct {
		stack.Outcome
		slot time.Time
		runs int
	}{{outcome, slot, latency + bulk}, {after, slot.Add(time.Minute), latency}} {
		if !want.Slot.Equal(want.slot) || want.Planned != want.runs || want.Rows != want.runs || want.Failed != 0 || len(want.Missing) != 0 {
			t.Errorf("the sweep of %s came to %+v; want %d planned runs with a result", want.slot, want.Outcome, want.runs)
		}
		checkLedger(t, s, want.Slot, want.runs)
	}
	var all []tables.Row
	for _, slot := range []time.Time{outcome.Slot, after.Slot} {
		for _, series := range rows(t, s, slot) {
			for _, r := range series {
				if r.Failure != "" || r.Start == nil || r.End == nil {
					t.Fatalf("%s: failure %q (%s), from %v to %v", r.Series, r.Failure, r.Detail, r.Start, r.End)
				}
				all = append(all, r)
			}
		}
	}
	checkAlone(t, all)
	results := bulkResults(t, s, all)
	if len(results) != bulk {
		t.Fatalf("%d bulk results, want %d", len(results), bulk)
	}
	for i := range results {
		checkBulk(t, s, &results[i])
	}
	checkPaths(t, s, results)
}

// checkLedger checks that a sweep is complete, and that every bulk run is an assignment of its own.
func checkLedger(t *testing.T, s *stack.Stack, slot time.Time, runs int) {
	t.Helper()
	header, entries, _, err := s.Tables.Sweep(t.Context(), slot)
	if err != nil || header.State != ledger.Complete {
		t.Errorf("ledger of %s: header %+v, %v; want a complete sweep", slot, header, err)
	}
	sum := 0
	for _, e := range entries {
		sum += e.Runs
		if e.State != ledger.Received || e.Key.Probe != "rtt" && e.Runs != 1 {
			t.Errorf("ledger entry %+v: want it received, and a bulk run by itself", e)
		}
	}
	if sum != runs {
		t.Errorf("ledger of %s: %d runs, want %d", slot, sum, runs)
	}
}

// checkAlone checks that nobody who is in a bulk run is in any other run meanwhile. The web server bears
// any number of them.
func checkAlone(t *testing.T, all []tables.Row) {
	t.Helper()
	var bulk, latency []tables.Row
	for _, r := range all {
		if r.Kind.IsBulk() {
			bulk = append(bulk, r)
		} else {
			latency = append(latency, r)
		}
	}
	for i, a := range bulk {
		for _, b := range slices.Concat(bulk[i+1:], latency) {
			if sharesProber(a.Series, b.Series) && a.Start.Before(*b.End) && b.Start.Before(*a.End) {
				t.Errorf("%s (%s to %s) and %s (%s to %s) are under way together", a.Series, a.Start, a.End, b.Series, b.Start, b.End)
			}
		}
	}
	if !slices.ContainsFunc(latency, func(l tables.Row) bool {
		return slices.ContainsFunc(bulk, func(b tables.Row) bool { return b.End.Before(*l.Start) }) &&
			slices.ContainsFunc(bulk, func(b tables.Row) bool { return l.End.Before(*b.Start) })
	}) {
		t.Error("no latency run lies between bulk runs: the test does not show that they make room for each other")
	}
}

func sharesProber(a, b wire.Series) bool {
	return a.Source == b.Source || a.Source == b.Target || a.Target == b.Source || a.Target == b.Target && a.Target != "web"
}

// bulkResult is what is stored of a bulk run.
type bulkResult struct {
	tables.Row
	run       wire.Run // as the raw document tells it
	intervals []bulkInterval
}

// bulkInterval are some of the columns of the intervals' Parquet files.
type bulkInterval struct {
	Target    string  `parquet:"target"`
	Path      string  `parquet:"path"`
	Probe     string  `parquet:"probe"`
	Direction *string `parquet:"direction,optional"`
	Bytes     *int64  `parquet:"bytes,optional"`
	Received  *int64  `parquet:"received,optional"`
	Requests  *int64  `parquet:"requests,optional"`
	Under1    *int64  `parquet:"under_1_ms,optional"`
	Under2    *int64  `parquet:"under_2_ms,optional"`
	Under5    *int64  `parquet:"under_5_ms,optional"`
	Under10   *int64  `parquet:"under_10_ms,optional"`
	Under20   *int64  `parquet:"under_20_ms,optional"`
	Under50   *int64  `parquet:"under_50_ms,optional"`
	Under100  *int64  `parquet:"under_100_ms,optional"`
	Under200  *int64  `parquet:"under_200_ms,optional"`
	Under500  *int64  `parquet:"under_500_ms,optional"`
	Under1000 *int64  `parquet:"under_1000_ms,optional"`
	Under2000 *int64  `parquet:"under_2000_ms,optional"`
	Over      *int64  `parquet:"from_2000_ms,optional"`
}

// bands adds up the requests of a level by response time.
func (v *bulkInterval) bands() (sum int64) {
	for _, n := range []*int64{v.Under1, v.Under2, v.Under5, v.Under10, v.Under20, v.Under50, v.Under100, v.Under200, v.Under500, v.Under1000, v.Under2000, v.Over} {
		if n != nil {
			sum += *n
		}
	}
	return sum
}

// bulkResults reads the raw documents and the Parquet files of the bulk runs among the rows.
func bulkResults(t *testing.T, s *stack.Stack, all []tables.Row) (out []bulkResult) {
	t.Helper()
	var intervals []bulkInterval
	for name, body := range blobs(t, s, "raw-"+s.Environment(), "intervals/") {
		some, err := parquet.Read[bulkInterval](bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		intervals = append(intervals, some...)
	}
	documents := blobs(t, s, "raw-"+s.Environment(), "documents/")
	for _, row := range all {
		if !row.Kind.IsBulk() {
			continue
		}
		body, found := documents[strings.TrimPrefix(row.Document, "raw-"+s.Environment()+"/")]
		if !found {
			t.Fatalf("%s: its document %q is not kept", row.Series, row.Document)
		}
		d, err := convert.Document(body)
		if err != nil || len(d.Runs) != 1 || d.Runs[0].Bulk == nil || d.Runs[0].Target != row.Series.Target {
			t.Fatalf("%s: %s holds %+v, %v; want one run of a bulk kind", row.Series, row.Document, d, err)
		}
		r := bulkResult{Row: row, run: d.Runs[0]}
		for _, v := range intervals {
			if v.Probe == row.Series.Probe && v.Target == row.Series.Target && v.Path == row.Series.Path {
				r.intervals = append(r.intervals, v)
			}
		}
		out = append(out, r)
	}
	return out
}
