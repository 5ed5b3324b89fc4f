package ingest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ingest"
)

// withBulk is the configuration with a probe of each kind that loads the network, between two probers.
const withBulk = configuration + `  - {name: rate, kind: throughput, schedule: "*/10 * * * *", paths: [public], max_bytes: 10MB, duration: 1s, ramp: 0s, timeout: 1s, from: [westeurope], to: [northeurope]}
  - {name: knee, kind: saturate, schedule: "*/10 * * * *", paths: [public], max_bytes: 10MB, request: 4096, outstanding: 2, duration: 1s, timeout: 1s, from: [westeurope], to: [northeurope]}
  - {name: flow, kind: stream, schedule: "*/10 * * * *", paths: [public], max_bytes: 10MB, request: 1024, messages: 100, rate: 100, timeout: 1s, from: [westeurope], to: [northeurope]}
  - {name: crowd, kind: load, schedule: "*/10 * * * *", paths: [public], max_bytes: 10MB, request: 1024, response: 1024, users: 2, loops: 2, ramp: 0s, timeout: 1s, from: [westeurope], to: [northeurope]}
budget: {sweep: 1GB, month: 1TB}
`

// bulkDocument does the assignment of a bulk probe, and moves so many bytes.
func bulkDocument(t *testing.T, current []byte, probe string, bytes int64) *wire.Document {
	t.Helper()
	var told wire.Current
	if err := json.Unmarshal(current, &told); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(told.Assignments, func(a wire.Assignment) bool { return a.Probe == probe })
	if at < 0 {
		t.Fatalf("the prober is not told of %s", probe)
	}
	a := told.Assignments[at]
	end := a.Start.Add(time.Second)
	r := wire.Run{Target: a.Runs[0].Target, Path: a.Runs[0].Path, Kind: a.Spec.Kind, Address: a.Runs[0].Address, PlannedStart: a.Start, Start: &a.Start, End: &end, Bulk: &wire.BulkResult{Bytes: bytes}}
	course := wire.Intervals{AtNS: wire.Column{0, 100_000_000}, ForNS: wire.Column{100_000_000, 100_000_000}}
	switch a.Spec.Kind {
	case wire.KindThroughput:
		r.Bulk.Flows = []wire.Flow{{Direction: wire.DirectionUp, Streams: 4, Bytes: bytes, CountedNS: 1e9, Intervals: course}}
	case wire.KindSaturate:
		r.Counts = wire.Counts{Sent: 1, Received: 1}
		r.Bulk.Levels = []wire.Level{{Outstanding: 1, Requests: 1, Bytes: bytes, CountedNS: 1e9, P50NS: 1e6, P99NS: 2e6, MaxNS: 2e6, Bands: []int{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	case wire.KindStream:
		r.Counts = wire.Counts{Sent: 100, Received: 100}
		r.Bulk.Stream = &wire.StreamResult{SourceRate: 100, ReceiverRate: 50, Messages: 100, Intervals: course}
	case wire.KindLoad:
		r.Counts = wire.Counts{Sent: 2, Received: 2}
		r.Samples = wire.Samples{Sequence: wire.Column{0, 1}, DueNS: wire.Column{0, 0}, SentNS: wire.Column{0, 0}, RTTNS: wire.Column{2e6, 3e6}, Failure: wire.FailureColumn{"", ""}}
		r.Bulk.Load = &wire.LoadResult{Users: 2}
	}
	return &wire.Document{Version: wire.DocumentVersion, Environment: told.Environment, Slot: a.Slot, Source: told.Prober, Probe: a.Probe, Part: a.Part, Assignment: a.ID,
		Attempt: "0000000a", Provenance: wire.Provenance{ProberVersion: "1.2.3", VMSize: "Standard_B1s"}, Runs: []wire.Run{r}}
}

// What is planned comes back, is stored with its course, and a run over its budget is not believed.
func TestBulkDocumentsAreHeldAgainstThePlan(t *testing.T) {
	for probe, files := range map[string][]string{"rate": {"intervals", "samples"}, "knee": {"intervals", "samples"}, "flow": {"intervals", "samples"}, "crowd": {"samples"}} {
		b := newBench(t)
		b.store.SetConfig([]byte(withBulk))
		b.sweep(t)
		d := bulkDocument(t, b.store.Current("westeurope"), probe, 10_000_000)
		b.deliver(t, d)
		if report := b.drain(t); report.Received != 1 || report.Rows != 1 {
			t.Errorf("%s: report %+v, reasons %+v", probe, report, b.store.Reasons())
			continue
		}
		var folders []string
		for _, name := range b.store.Samples() {
			folders = append(folders, strings.Split(name, "/")[1])
		}
		if !slices.Equal(folders, files) {
			t.Errorf("%s: stored %q, want %q", probe, b.store.Samples(), files)
		}

		b = newBench(t)
		b.store.SetConfig([]byte(withBulk))
		b.sweep(t)
		b.deliver(t, bulkDocument(t, b.store.Current("westeurope"), probe, 11_000_000))
		report := b.drain(t)
		if rs := b.store.Reasons(); report != (ingest.Report{Listed: 1, Quarantined: 1}) || len(rs) != 1 || rs[0].Stage != "plan" || !strings.Contains(rs[0].Text, "its byte budget is 10000000") {
			t.Errorf("%s over its budget: report %+v, reasons %+v", probe, report, rs)
		}
	}
}

// The course of a run is stored before its row, so that a fault in between is made good.
func TestAFaultOfTheIntervalsIsOvercome(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig([]byte(withBulk))
	b.sweep(t)
	b.deliver(t, bulkDocument(t, b.store.Current("westeurope"), "rate", 1))
	b.store.Fault = storetest.Always("PutIntervals", storetest.NotStored)
	if report, err := b.ingester().Drain(t.Context()); err == nil || report != (ingest.Report{Listed: 1, Left: 1}) {
		t.Errorf("report %+v, %v", report, err)
	}
	b.store.Fault = nil
	if report := b.drain(t); report.Received != 1 || len(b.store.Samples()) != 2 {
		t.Errorf("report %+v, stored %q", report, b.store.Samples())
	}
}
