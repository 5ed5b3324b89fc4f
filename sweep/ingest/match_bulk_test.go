package ingest

import (
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/plan"
)

// planned is the plan of one run, and a document that answers it.
func planned(spec wire.Spec, r wire.Run) (*wire.Document, wire.InboxName, *plan.Plan) {
	slot := time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	start := slot.Add(time.Minute)
	end := start.Add(10 * time.Second)
	id := wire.AssignmentID("test1", slot, "westeurope", "bulk", 4)
	p := &plan.Plan{Environment: "test1", Slot: slot, Assignments: []plan.Assignment{{ID: id, Source: "westeurope", Probe: "bulk", Part: 4, Spec: spec, Start: start,
		LatestStart: start.Add(2 * time.Second), Deadline: start.Add(time.Minute), Runs: []plan.Run{{Target: "northeurope", Path: "public", Address: "127.0.0.12:7700"}}}}}
	r.Target, r.Path, r.Kind, r.Address, r.PlannedStart, r.Start, r.End = "northeurope", "public", spec.Kind, "127.0.0.12:7700", start, &start, &end
	d := &wire.Document{Version: 1, Environment: "test1", Slot: slot, Source: "westeurope", Probe: "bulk", Part: 4, Assignment: id, Attempt: "0000000a", Runs: []wire.Run{r}}
	return d, wire.InboxName{Prober: "westeurope", HHMM: "1020", Assignment: id, Attempt: "0000000a"}, p
}

// What a bulk run says of itself is held against what it was told, above all the byte budget.
func TestABulkRunThatDidNotDoWhatItWasToldIsRefused(t *testing.T) {
	throughput := wire.Spec{Kind: wire.KindThroughput, Timeout: time.Second, RequestBytes: 128 << 10,
		Bulk: wire.Bulk{MaxBytes: 500_000_000, Duration: 8 * time.Second, Ramp: 2 * time.Second, Direction: wire.DirectionUp, Streams: 4}}
	saturate := wire.Spec{Kind: wire.KindSaturate, Timeout: time.Second, RequestBytes: 4096, Bulk: wire.Bulk{MaxBytes: 1_000_000, Duration: time.Second, Outstanding: 4}}
	stream := wire.Spec{Kind: wire.KindStream, Timeout: time.Second, RequestBytes: 1024, Bulk: wire.Bulk{MaxBytes: 100_000_000, Messages: 1000, MessageRate: 2000, Batch: 1}}
	load := wire.Spec{Kind: wire.KindLoad, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 64, Bulk: wire.Bulk{MaxBytes: 1_000_000, Users: 2, Loops: 2, Ramp: time.Second}}
	flows := func(f ...wire.Flow) wire.Run { return wire.Run{Bulk: &wire.BulkResult{Bytes: 1000, Flows: f}} }
	samples := func(n int) (r wire.Run) {
		for i := range int64(n) {
			r.Samples.Sequence, r.Samples.DueNS, r.Samples.SentNS, r.Samples.RTTNS = append(r.Samples.Sequence, i), append(r.Samples.DueNS, i), append(r.Samples.SentNS, i), append(r.Samples.RTTNS, 1000)
			r.Samples.Failure = append(r.Samples.Failure, "")
		}
		r.Counts = wire.Counts{Sent: n, Received: n}
		return r
	}
	for name, c := range map[string]struct {
		spec   wire.Spec
		run    wire.Run
		change func(*wire.Document, *plan.Plan)
		reason string // empty: it is as planned
	}{
		"as planned":          {spec: throughput, run: wire.Run{Bulk: &wire.BulkResult{Bytes: 500_000_000, BudgetReached: true, Flows: []wire.Flow{{Direction: wire.DirectionUp, Streams: 4, Bytes: 400_000_000, RampBytes: 100_000_000, CountedNS: 8e9, RampNS: 2e9}}}}},
		"the margin":          {spec: throughput, run: wire.Run{Bulk: &wire.BulkResult{Bytes: 505_065_536}}},
		"over the budget":     {spec: throughput, run: wire.Run{Bulk: &wire.BulkResult{Bytes: 505_065_537}}, reason: "505065537 bytes were moved; its byte budget is 500000000"},
		"flows over it":       {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Bytes: 400_000_000, RampBytes: 200_000_000}), reason: "600000000 bytes of all flows were moved"},
		"the other direction": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionDown}), reason: `direction "down"; planned is "up"`},
		"too many streams":    {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Streams: 5}), reason: "5 streams; planned are 4"},
		"longer than planned": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, CountedNS: 30e9}), reason: "it lasted 30s; a run lasts 11s"},
		"samples of none":     {spec: throughput, run: samples(1), reason: "it holds 1 samples; planned are 0"},
		"a late end": {spec: throughput, run: flows(), reason: "the end is",
			change: func(d *wire.Document, p *plan.Plan) { d.Runs[0].End = new(p.Assignments[0].Deadline.Add(time.Hour)) }},
		"never begun": {spec: throughput, run: flows(), reason: "and no start", change: func(d *wire.Document, _ *plan.Plan) { d.Runs[0].Start, d.Runs[0].End = nil, nil }},
		"elsewhere":   {spec: throughput, run: flows(), reason: "planned is", change: func(d *wire.Document, _ *plan.Plan) { d.Runs[0].Address = "" }},
		"another part": {spec: throughput, run: flows(), reason: "part 5",
			change: func(d *wire.Document, _ *plan.Plan) { d.Part = 5 }},
		"no budget left": {spec: throughput, run: flows(), reason: "planned as budget",
			change: func(_ *wire.Document, p *plan.Plan) { p.Assignments[0].Runs[0].Failure = wire.FailureBudget }},
		"levels as planned":    {spec: saturate, run: wire.Run{Bulk: &wire.BulkResult{Bytes: 1_000_000, Levels: []wire.Level{{Outstanding: 4, Bytes: 1_000_000}}}}},
		"levels over it":       {spec: saturate, run: wire.Run{Bulk: &wire.BulkResult{Bytes: 5, Levels: []wire.Level{{Outstanding: 1, Bytes: 600_000}, {Outstanding: 2, Bytes: 600_000}}}}, reason: "1200000 bytes of all levels"},
		"too many at once":     {spec: saturate, run: wire.Run{Bulk: &wire.BulkResult{Levels: []wire.Level{{Outstanding: 8}}}}, reason: "8 requests outstanding; planned are 4"},
		"messages as planned":  {spec: stream, run: wire.Run{Bulk: &wire.BulkResult{Stream: &wire.StreamResult{Messages: 1000}}}},
		"too many messages":    {spec: stream, run: wire.Run{Bulk: &wire.BulkResult{Stream: &wire.StreamResult{Messages: 1001}}}, reason: "1001 messages were taken; planned are 1000"},
		"requests as planned":  {spec: load, run: samples(4)},
		"too many requests":    {spec: load, run: samples(5), reason: "it holds 5 samples; planned are 4"},
		"intervals as planned": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Intervals: wire.Intervals{AtNS: wire.Column{0, 10e9}, ForNS: wire.Column{10e9, 11e9}, Bytes: wire.Column{5e8, wire.Null}}})},
		"an interval of another hour": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Intervals: wire.Intervals{AtNS: wire.Column{0, 3600e9}, ForNS: wire.Column{1e9, 1e9}}}),
			reason: "intervals: number 1 is over after 1h0m1s; a run lasts 11s"},
		"an interval without end": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Intervals: wire.Intervals{AtNS: wire.Column{0, 1e9}, ForNS: wire.Column{3600e9, 1e9}}}),
			reason: "intervals: number 0 is over after 1h0m0s"},
		"intervals over the budget": {spec: throughput, run: flows(wire.Flow{Direction: wire.DirectionUp, Intervals: wire.Intervals{AtNS: wire.Column{0, 1e9}, ForNS: wire.Column{1e9, 1e9}, Bytes: wire.Column{4e8, 4e8}}}),
			reason: "800000000 bytes and more were moved; the byte budget is 500000000"},
		"levels without end": {spec: saturate, run: wire.Run{Bulk: &wire.BulkResult{Levels: []wire.Level{{Outstanding: 1, CountedNS: 7e9}, {Outstanding: 2, CountedNS: 8e9}}}}, reason: "together they lasted 15s; a run lasts 4s"},
		"a stream's interval of another hour": {spec: stream, run: wire.Run{Bulk: &wire.BulkResult{Stream: &wire.StreamResult{Intervals: wire.Intervals{AtNS: wire.Column{3600e9}, ForNS: wire.Column{1e8}}}}},
			reason: "bulk.stream: intervals: number 0 is over after 1h0m0.1s"},
		"more messages sent":     {spec: stream, run: wire.Run{Counts: wire.Counts{Sent: 1001}}, reason: "counts: 1001 messages were sent; planned are 1000"},
		"more messages received": {spec: stream, run: wire.Run{Counts: wire.Counts{Received: 1001}}, reason: "counts: 1001 messages were received; planned are 1000"},
		"more messages waiting":  {spec: stream, run: wire.Run{Bulk: &wire.BulkResult{Stream: &wire.StreamResult{MaxBacklog: 1001}}}, reason: "a backlog of 1001 messages; planned are 1000"},
		"too many users":         {spec: load, run: wire.Run{Bulk: &wire.BulkResult{Load: &wire.LoadResult{Users: 3}}}, reason: "3 users; planned are 2"},
	} {
		t.Run(name, func(t *testing.T) {
			d, inboxName, p := planned(c.spec, c.run)
			if c.change != nil {
				c.change(d, p)
			}
			_, err := match(d, inboxName, p)
			if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("got %v; want %q", err, c.reason)
			}
		})
	}
}
