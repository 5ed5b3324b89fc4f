package convert

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

// bulk is a document with a run of each kind that loads the network, a value in every field.
func bulk() *wire.Document {
	d := sample()
	d.Probe = "mixed" // no sweep mixes kinds: the reader does not know the plan
	d.Assignment = wire.AssignmentID("dev", slot, "westeurope", "mixed", 0)
	start := slot.Add(30 * time.Second)
	end := start.Add(2 * time.Second)
	n := func(v int64) *int64 { return &v }
	half := 0.5
	run := func(target string, kind wire.Kind) wire.Run {
		return wire.Run{Target: target, Path: "public", Kind: kind, Address: "20.50.0.4:7700", PlannedStart: start, Start: &start, End: &end}
	}
	both := run("northeurope", wire.KindThroughput)
	flow := func(direction wire.Direction) wire.Flow {
		return wire.Flow{Direction: direction, Streams: 4, BPS: 200_000_000, Bytes: 25_000_000, CountedNS: 1_000_000_000, RampBytes: 10_000_000, RampNS: 500_000_000,
			Retransmits: n(17), CongestionControl: "cubic", WindowLimitedRatio: &half, WindowLimited: true,
			Intervals: wire.Intervals{AtNS: wire.Column{0, 100_000_000}, ForNS: wire.Column{100_000_000, 100_000_000}, Bytes: wire.Column{2_000_000, 2_500_000},
				RTTNS: wire.Column{80_000_000, wire.Null}, CongestionWindow: wire.Column{14_480, 28_960}, Retransmits: wire.Column{0, 17}, DeliveryRateBPS: wire.Column{190_000_000, wire.Null}}}
	}
	both.Bulk = &wire.BulkResult{Bytes: 70_000_000, BudgetReached: true, Flows: []wire.Flow{flow(wire.DirectionUp), flow(wire.DirectionDown)}}
	saturate := run("eastus", wire.KindSaturate)
	saturate.Counts = wire.Counts{Sent: 31, Received: 30}
	saturate.Bulk = &wire.BulkResult{Bytes: 122_880, Levels: []wire.Level{
		{Outstanding: 1, Requests: 10, Bytes: 40_960, CountedNS: 1_000_000_000, BPS: 327_680, MinNS: 900_000, MeanNS: 1_000_000, P50NS: 1_000_000, P99NS: 1_100_000, MaxNS: 1_200_000,
			Bands: []int{4, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{Outstanding: 2, Requests: 20, Bytes: 81_920, CountedNS: 1_000_000_000, BPS: 655_360, MinNS: 900_000, MeanNS: 2_000_000, P50NS: 2_000_000, P99NS: 2_200_000, MaxNS: 3e9,
			Bands: []int{1, 0, 18, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}}
	stream := run("brazilsouth", wire.KindStream)
	stream.Counts = wire.Counts{Sent: 500, Received: 400, Lost: 100, PacingViolations: 3}
	stream.Bulk = &wire.BulkResult{Bytes: 512_000, Stream: &wire.StreamResult{SourceRate: 2000.5, ReceiverRate: 591.25, Messages: 400, DelayP50NS: 200_000_000, DelayP99NS: 400_000_000,
		DelayLastNS: -1_000, DelayBoundNS: 20_000, PredictedLastNS: 596_000_000, MaxBacklog: 350,
		Intervals: wire.Intervals{AtNS: wire.Column{0, 100_000_000}, ForNS: wire.Column{100_000_000, 100_000_000}, Sent: wire.Column{200, 200}, Received: wire.Column{59, 60}, Backlog: wire.Column{141, 281}}}}
	load := run("orders-api", wire.KindLoad)
	load.Timestamps = wire.TimestampsUser
	load.Counts = wire.Counts{Sent: 3, Received: 2, Lost: 1}
	load.Samples = wire.Samples{Sequence: wire.Column{0, 1, 2}, DueNS: wire.Column{0, 0, 40_000_000}, SentNS: wire.Column{0, 1_000, 40_000_000},
		RTTNS: wire.Column{30_000_000, wire.Null, 31_000_000}, ServerNS: wire.Column{6_000_000, wire.Null, 6_500_000}, Failure: wire.FailureColumn{"", wire.FailureTimeout, ""}}
	load.Bulk = &wire.BulkResult{Bytes: 3_000, Load: &wire.LoadResult{Users: 2, RequestsPerS: 28.5, NetworkP50NS: n(24_000_000), NetworkP99NS: n(24_500_000), ServerP50NS: n(6_000_000)}}
	over := wire.Run{Target: "eastus", Path: "peering", Kind: wire.KindThroughput, PlannedStart: start, Failure: wire.FailureBudget, Detail: "the month's 5 TB are planned"}
	d.Runs = []wire.Run{both, saturate, stream, load, over}
	return d
}

func TestDocumentsOfTheBulkKindsAreRecorded(t *testing.T) {
	for name, b := range map[string][]byte{"v1-bulk.json": encodeJSON(t, bulk()), "v1-bulk.xml": encodeXML(t, bulk())} {
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(golden(t, name)), string(b)); diff != "" {
			t.Errorf("%s (-golden +now):\n%s", name, diff)
		}
		d, err := Document(golden(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(bulk(), d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		id := identity
		id.Probe = "mixed"
		rs, err := Results(d, id)
		if err != nil || len(rs) != 5 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if up := rs[0].Summary.Bulk.Throughput.UpBPS; up == nil || *up != 200e6 {
			t.Errorf("%s: throughput %v", name, up)
		}
	}
}

// What a kind need not have may be absent in both encodings, and a list without entries is as none.
func TestTheOptionalPartsOfABulkResultMayBeAbsent(t *testing.T) {
	d := bulk()
	for i := range d.Runs {
		b := d.Runs[i].Bulk
		if b == nil {
			continue
		}
		for j := range b.Flows {
			f := &b.Flows[j]
			f.Retransmits, f.WindowLimitedRatio, f.CongestionControl, f.WindowLimited = nil, nil, "", false
			f.Intervals = wire.Intervals{}
		}
		if b.Stream != nil {
			b.Stream.Intervals = wire.Intervals{}
		}
		if b.Load != nil {
			b.Load.NetworkP50NS, b.Load.NetworkP99NS, b.Load.ServerP50NS = nil, nil, nil
		}
		b.Levels = nil
	}
	for name, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
		got, err := Document(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	text := strings.Replace(string(encodeJSON(t, d)), `"bytes": 122880,`, `"bytes": 122880, "levels": [], "flows": null, "stream": null, "load": null,`, 1)
	got, err := Document([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("lists without entries (-want +got):\n%s", diff)
	}
}

func TestBulkFiguresThatCannotBeAreRefused(t *testing.T) {
	j, x := string(golden(t, "v1-bulk.json")), string(golden(t, "v1-bulk.xml"))
	blanks := regexp.MustCompile(`>\s+<`)
	for name, c := range map[string]struct {
		text, old, replacement string
		stage                  Stage
		says                   string
	}{
		"no number":               {x, `<bps>2e+08`, `<bps>NaN`, StageRead, "runs[0].bulk.flows[0].bps"},
		"no number in JSON":       {j, `"bps": 200000000`, `"bps": NaN`, StageRead, "runs[0].bulk.flows[0].bps"},
		"infinite":                {j, `"bps": 200000000`, `"bps": 1e999`, StageRead, "beyond the range"},
		"huge":                    {j, `"bps": 200000000`, `"bps": 1e300`, StageCheck, "runs[0].bulk.flows[0].bps: 1e+300: want 0 to 1e+15"},
		"below zero":              {j, `"bps": 200000000`, `"bps": -1`, StageCheck, "bulk.flows[0]"},
		"bytes below zero":        {j, `"bytes": 70000000`, `"bytes": -1`, StageCheck, "bulk"},
		"bytes without end":       {j, `"bytes": 70000000`, `"bytes": 9223372036854775807`, StageCheck, "runs[0].bulk.bytes"},
		"a truth in words":        {j, `"budget_reached": true`, `"budget_reached": "true"`, StageRead, "runs[0].bulk.budget_reached"},
		"a truth as a number":     {x, `<budget_reached>true`, `<budget_reached>1`, StageRead, "neither true nor false"},
		"another direction":       {j, `"direction": "up"`, `"direction": "both"`, StageCheck, "bulk.flows[0]: direction"},
		"one direction twice":     {j, `"direction": "down"`, `"direction": "up"`, StageCheck, `runs[0].bulk.flows: two of direction "up"`},
		"too many streams":        {j, `"streams": 4`, `"streams": 65`, StageCheck, "runs[0].bulk.flows[0].streams: 65: want 0 to 64"},
		"retransmits of 70 bit":   {j, `"retransmits": 17`, `"retransmits": 1000000000000000000000`, StageRead, "64 bits"},
		"retransmits below zero":  {j, `"retransmits": 17`, `"retransmits": -1`, StageCheck, "flows[0].retransmits"},
		"more than all the time":  {j, `"window_limited_ratio": 0.5`, `"window_limited_ratio": 1.5`, StageCheck, "window_limited_ratio: 1.5: want 0 to 1"},
		"another kind's part":     {j, `"kind": "throughput"`, `"kind": "saturate"`, StageCheck, `runs[0].bulk.flows: kind "saturate" has none`},
		"a latency kind":          {j, `"kind": "throughput"`, `"kind": "tcp"`, StageCheck, `bulk: kind "tcp" has none`},
		"bands that do not add":   {x, `<band>4</band>`, `<band>5</band>`, StageCheck, "runs[1]"},
		"a band below zero":       {x, `<band>4</band><band>6</band>`, `<band>-4</band><band>14</band>`, StageCheck, "bulk.levels[0]"},
		"a band too many":         {x, `<band>4</band>`, `<band>4</band><band>0</band>`, StageRead, "more than 12 elements <band>"},
		"a band's half":           {x, `<band>4</band>`, `<band>4.5</band>`, StageRead, "runs[1].bulk.levels[0].bands[0]"},
		"levels that fall":        {j, `"outstanding": 2,`, `"outstanding": 1,`, StageCheck, "runs[1].bulk.levels[1].outstanding"},
		"a response of two days":  {j, `"p99_ns": 1100000`, `"p99_ns": 172800000000000`, StageCheck, "runs[1].bulk.levels[0].p99_ns"},
		"a rate below zero":       {j, `"source_rate": 2000.5`, `"source_rate": -1`, StageCheck, "runs[2].bulk.stream.source_rate: -1"},
		"a delay of two days":     {j, `"delay_last_ns": -1000`, `"delay_last_ns": -172800000000000`, StageCheck, "stream.delay_last_ns"},
		"a bound below zero":      {j, `"delay_bound_ns": 20000`, `"delay_bound_ns": -1`, StageCheck, "stream.delay_bound_ns"},
		"a backlog without end":   {j, `"max_backlog": 350`, `"max_backlog": 2147483648`, StageCheck, "stream.max_backlog"},
		"a short interval column": {x, `<backlog>141 281<`, `<backlog>141<`, StageCheck, "a column of 1 entries among those of 2"},
		"intervals that go back":  {x, `<at_ns>0 100000000<`, `<at_ns>100000000 0<`, StageCheck, "runs[0].bulk.flows[0].intervals.at_ns[1]: 0 after 100000000"},
		"an interval of nothing":  {x, `<at_ns>0 100000000<`, `<at_ns>0 -<`, StageCheck, "intervals.at_ns[1]"},
		"a backlog below zero":    {x, `<backlog>141 281<`, `<backlog>141 -281<`, StageCheck, "runs[2].bulk.stream.intervals.backlog[1]"},
		"too many users":          {j, `"users": 2`, `"users": 1001`, StageCheck, "runs[3].bulk.load.users"},
		"more received than sent": {j, `"received": 30`, `"received": 32`, StageCheck, "runs[1].counts.received: 32: want 0 to 31"},
		"counts below zero":       {j, `"sent": 31`, `"sent": -31`, StageCheck, "runs[1].counts.sent"},
		"load that disagrees":     {j, `"received": 2`, `"received": 3`, StageCheck, "the samples say"},
		"an unknown part":         {j, `"budget_reached"`, `"packets": 1, "budget_reached"`, StageRead, `no "packets"`},
		"a part twice":            {x, `<budget_reached>true</budget_reached>`, `<budget_reached>true</budget_reached><budget_reached>true</budget_reached>`, StageRead, "stands here twice"},
	} {
		t.Run(name, func(t *testing.T) {
			compact := blanks.ReplaceAllString(c.text, "><")
			text := strings.Replace(compact, c.old, c.replacement, 1)
			if text == compact {
				t.Fatalf("the recorded document has no %q", c.old)
			}
			_, err := Document([]byte(text))
			var r *Refusal
			if !errors.As(err, &r) || r.Stage != c.stage || !strings.Contains(r.Error(), c.says) || r.Remedy == "" {
				t.Errorf("got %v; want stage %s and %q", err, c.stage, c.says)
			}
		})
	}
}

// Lists are bounded while they are read: a document cannot make more of them than it may hold.
func TestLongListsAreRefusedWhileTheyAreRead(t *testing.T) {
	d := bulk()
	flow, level := d.Runs[0].Bulk.Flows[0], d.Runs[1].Bulk.Levels[0]
	d.Runs[0].Bulk.Flows = slices.Repeat([]wire.Flow{flow}, 3)
	for name, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
		if _, err := Document(body); !refusedWith(err, StageRead, "more than 2 ") {
			t.Errorf("three flows in %s: %v", name, err)
		}
	}
	d = bulk()
	d.Runs[1].Bulk.Levels = slices.Repeat([]wire.Level{level}, wire.MaxLevels+1)
	for name, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
		if _, err := Document(body); !refusedWith(err, StageRead, "more than 16 ") {
			t.Errorf("seventeen levels in %s: %v", name, err)
		}
	}
}

// The rows that are made of intervals take far more memory than their text.
func TestADocumentOfTooManyIntervalsIsRefused(t *testing.T) {
	d := bulk()
	flows := d.Runs[0].Bulk.Flows
	for i := range flows {
		v := &flows[i].Intervals
		*v = wire.Intervals{}
		for at := range int64(wire.MaxFlowIntervals) {
			v.AtNS, v.ForNS = append(v.AtNS, at), append(v.ForNS, 1)
		}
	}
	d.Runs = append(d.Runs[:1], d.Runs[4])
	if _, err := Document(encodeJSON(t, d)); err != nil {
		t.Errorf("as many as a run may have: %v", err)
	}
	second := d.Runs[0]
	second.Bulk = &wire.BulkResult{Bytes: 1, Flows: flows[:1]}
	d.Runs[1] = second
	if _, err := Document(encodeJSON(t, d)); !refusedWith(err, StageCheck, "more than 20016 intervals and levels") {
		t.Errorf("half as many again: %v", err)
	}
}

func refusedWith(err error, stage Stage, says string) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Stage == stage && strings.Contains(r.Error(), says)
}
