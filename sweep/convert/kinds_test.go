package convert

import (
	"encoding/xml"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
)

// kinds is a document with a value in every field that version 1 has gained: a udp run with a
// sample that the clock's step spoiled, an icmp run and an http run whose second request had a
// connection.
func kinds() *wire.Document {
	d := sample()
	d.Probe = "mixed" // no sweep mixes kinds: the reader does not know the plan
	d.Assignment = wire.AssignmentID("dev", slot, "westeurope", "mixed", 0)
	start := slot.Add(30 * time.Second)
	end := start.Add(2 * time.Second)
	n := func(v int) *int { return &v }
	clock := int64(1_500_000)
	run := func(target string, kind wire.Kind, address string) wire.Run {
		return wire.Run{Target: target, Path: "public", Kind: kind, Address: address, PlannedStart: start, Start: &start, End: &end,
			Counts: wire.Counts{Warmup: 1, Sent: 3, Received: 2, Lost: 1},
			Samples: wire.Samples{Sequence: wire.Column{0, 1, 2}, DueNS: wire.Column{20_000_000, 40_000_000, 60_000_000},
				SentNS: wire.Column{20_000_900, 40_001_000, 60_000_800}, RTTNS: wire.Column{20_100_000, wire.Null, 20_400_000},
				Failure: wire.FailureColumn{"", wire.FailureTimeout, ""}}}
	}
	udp := run("northeurope", wire.KindUDP, "20.50.0.4:7700")
	udp.Timestamps, udp.ClockSteps, udp.Unstamped, udp.TargetClockErrorNS = wire.TimestampsKernel, n(1), n(0), &clock
	udp.Counts.LostForward, udp.Counts.LostReverse = n(1), n(0)
	udp.Counts.DuplicateForward, udp.Counts.DuplicateReverse = n(2), n(0)
	udp.Counts.ReorderedForward, udp.Counts.ReorderedReverse = n(1), n(0)
	udp.Samples.ServerNS = wire.Column{12_000, wire.Null, 11_000}
	udp.Samples.ClientNS = wire.Column{70_000, wire.Null, wire.Null}
	udp.Samples.ForwardNS = wire.Column{-4_000_000_000, wire.Null, wire.Null}
	udp.Samples.ReverseNS = wire.Column{4_020_088_000, wire.Null, wire.Null}
	icmp := run("eastus", wire.KindICMP, "2603:1020::4")
	icmp.Timestamps, icmp.ClockSteps = wire.TimestampsKernel, n(0)
	icmp.Samples.ClientNS = wire.Column{60_000, wire.Null, 61_000}
	http := run("orders-api", wire.KindHTTP, "203.0.113.9:443")
	http.Timestamps, http.LeastConnectNS = wire.TimestampsUser, new(int64(4_900_000))
	http.Samples.Failure[1] = wire.FailureHTTPStatus
	http.Samples.ServerNS = wire.Column{5_000_000, wire.Null, wire.Null}
	http.Samples.DNSNS = wire.Column{1_000_000, wire.Null, wire.Null}
	http.Samples.ConnectNS = wire.Column{6_000_000, wire.Null, wire.Null}
	http.Samples.TLSNS = wire.Column{7_000_000, wire.Null, wire.Null}
	http.Samples.FirstByteNS = wire.Column{6_000_000, wire.Null, 20_000_000}
	forbidden := wire.Run{Target: "eastus", Path: "peering", Kind: wire.KindICMP, PlannedStart: start,
		Failure: wire.FailureNotPermitted, Detail: "grant CAP_NET_RAW"}
	d.Runs = []wire.Run{udp, icmp, http, forbidden}
	return d
}

// Recorded like the documents of the first day: what a prober of today writes has to be read for
// as long as version 1 is.
func TestDocumentsOfEveryKindAreRecorded(t *testing.T) {
	for name, b := range map[string][]byte{"v1-kinds.json": encodeJSON(t, kinds()), "v1-kinds.xml": encodeXML(t, kinds())} {
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
		if diff := cmp.Diff(kinds(), d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		id := identity
		id.Probe = "mixed"
		rs, err := Results(d, id)
		if err != nil || len(rs) != 4 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if rs[0].Summary.Min == nil || *rs[0].Summary.Min != 20_100_000 || *rs[0].Run.Counts.DuplicateForward != 2 || rs[3].Run.Failure != wire.FailureNotPermitted {
			t.Errorf("%s: results %+v", name, rs)
		}
	}
}

// Every field that was added within the version may be absent, in both encodings, alone or
// together: older probers write none of them.
func TestEveryAddedFieldMayBeAbsent(t *testing.T) {
	added := map[string]func(r *wire.Run){
		"timestamps":            func(r *wire.Run) { r.Timestamps = "" },
		"clock_step_count":      func(r *wire.Run) { r.ClockSteps = nil },
		"least_connect_ns":      func(r *wire.Run) { r.LeastConnectNS = nil },
		"unstamped_count":       func(r *wire.Run) { r.Unstamped = nil },
		"target_clock_error_ns": func(r *wire.Run) { r.TargetClockErrorNS = nil },
		"lost_forward":          func(r *wire.Run) { r.Counts.LostForward = nil },
		"lost_reverse":          func(r *wire.Run) { r.Counts.LostReverse = nil },
		"duplicate_forward":     func(r *wire.Run) { r.Counts.DuplicateForward = nil },
		"duplicate_reverse":     func(r *wire.Run) { r.Counts.DuplicateReverse = nil },
		"reordered_forward":     func(r *wire.Run) { r.Counts.ReorderedForward = nil },
		"reordered_reverse":     func(r *wire.Run) { r.Counts.ReorderedReverse = nil },
	}
	for _, c := range (&wire.Samples{}).Columns() {
		if c.Optional {
			added[c.Name] = func(r *wire.Run) {
				for _, mine := range r.Samples.Columns() {
					if mine.Name == c.Name {
						*mine.Values = nil
					}
				}
			}
		}
	}
	names := []string{""} // all of them
	for name := range added {
		names = append(names, name)
	}
	for _, name := range names {
		d := kinds()
		for i := range d.Runs {
			for each, remove := range added {
				if name == "" || name == each {
					remove(&d.Runs[i])
				}
			}
		}
		for encoding, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
			if name != "" && (strings.Contains(string(body), `"`+name+`"`) || strings.Contains(string(body), "<"+name+">")) {
				t.Errorf("%s: %s is not left out when it is absent", encoding, name)
			}
			got, err := Document(body)
			if err != nil {
				t.Errorf("%s without %q: %v", encoding, name, err)
			} else if diff := cmp.Diff(d, got); diff != "" {
				t.Errorf("%s without %q (-want +got):\n%s", encoding, name, diff)
			}
		}
	}
}

// The same in JSON's other way to say it: null.
func TestAddedFieldsMayBeNull(t *testing.T) {
	j := string(encodeJSON(t, sample()))
	j = strings.Replace(j, `"tcp_info"`, `"timestamps": null, "clock_step_count": null, "unstamped_count": null, "target_clock_error_ns": null, "tcp_info"`, 1)
	j = strings.Replace(j, `"warmup"`, `"lost_forward": null, "duplicate_reverse": null, "warmup"`, 1)
	j = strings.Replace(j, `"sequence"`, `"client_ns": null, "dns_ns": [], "sequence"`, 1)
	d, err := Document([]byte(j))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAddedFieldsThatCannotBeAreRefused(t *testing.T) {
	j, x := string(golden(t, "v1-kinds.json")), string(golden(t, "v1-kinds.xml"))
	for name, c := range map[string]struct {
		text, old, replacement string
		stage                  Stage
		says                   string
	}{
		"another clock":           {j, `"timestamps": "kernel"`, `"timestamps": "tsc"`, StageCheck, `timestamps "tsc": want "user" or "kernel"`},
		"another clock in XML":    {x, `<timestamps>kernel`, `<timestamps>tsc`, StageCheck, `timestamps "tsc"`},
		"a clock of a megabyte":   {j, `"timestamps": "kernel"`, `"timestamps": "` + strings.Repeat("k", 1<<20) + `"`, StageRead, "timestamps"},
		"steps below zero":        {j, `"clock_step_count": 1`, `"clock_step_count": -1`, StageCheck, "clock_step_count"},
		"steps without end":       {j, `"clock_step_count": 1`, `"clock_step_count": 100001`, StageCheck, "clock_step_count"},
		"a step's half":           {j, `"clock_step_count": 1`, `"clock_step_count": 0.5`, StageRead, "runs[0].clock_step_count"},
		"steps as a text":         {j, `"clock_step_count": 1`, `"clock_step_count": "1"`, StageRead, "runs[0].clock_step_count"},
		"steps empty in XML":      {x, `<clock_step_count>1<`, `<clock_step_count><`, StageRead, "runs[0].clock_step_count"},
		"unstamped below zero":    {j, `"unstamped_count": 0`, `"unstamped_count": -1`, StageCheck, "unstamped_count"},
		"a clock error below 0":   {j, `"target_clock_error_ns": 1500000`, `"target_clock_error_ns": -1`, StageCheck, "target_clock_error_ns"},
		"a clock error of 70 bit": {j, `"target_clock_error_ns": 1500000`, `"target_clock_error_ns": 1000000000000000000000`, StageRead, "64 bits"},
		"steps twice":             {j, `"clock_step_count": 1`, `"clock_step_count": 1, "clock_step_count": 2`, StageRead, "stands here twice"},
		"more lost than lost":     {j, `"lost_forward": 1`, `"lost_forward": 2`, StageCheck, "lost_forward 2: want 0 to 1"},
		"both directions too":     {j, `"lost_reverse": 0`, `"lost_reverse": 1`, StageCheck, "exceed lost 1"},
		"lost below zero":         {x, `<lost_reverse>0`, `<lost_reverse>-1`, StageCheck, "lost_reverse -1"},
		"duplicates of nothing":   {j, `"duplicate_reverse": 0`, `"duplicate_reverse": 1`, StageCheck, "duplicate_reverse 1: want 0 to 0"},
		"too many duplicates":     {j, `"duplicate_forward": 2`, `"duplicate_forward": 2147483648`, StageCheck, "duplicate_forward"},
		"more reordered than all": {j, `"reordered_forward": 1`, `"reordered_forward": 4`, StageCheck, "reordered_forward 4: want 0 to 3"},
		"a direction elsewhere":   {j, `"planned_start"`, `"lost_forward": 1, "planned_start"`, StageRead, `no "lost_forward"`},
		"a short column":          {j, "7000000,\n          null,", "7000000,", StageCheck, "tls_ns has 2 entries, sequence has 3"},
		"a long column in XML":    {x, `<dns_ns>1000000 - -<`, `<dns_ns>1000000 - - -<`, StageCheck, "dns_ns has 4 entries"},
		"a phase below zero":      {j, "\"first_byte_ns\": [\n          6000000", "\"first_byte_ns\": [-1", StageCheck, "first_byte_ns[0] is -1"},
		"a client of two days":    {j, "\"client_ns\": [\n          70000", "\"client_ns\": [172800000000000", StageCheck, "client_ns[0]"},
		"a phase in words":        {x, `<connect_ns>6000000`, `<connect_ns>fast`, StageRead, "runs[2].samples.connect_ns[0]"},
		"an unknown phase":        {j, `"tls_ns"`, `"quic_ns"`, StageRead, `no "quic_ns"`},
		"an unknown failure":      {j, `"http_status"`, `"http_404"`, StageRead, "failure"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(c.text, c.old, c.replacement, 1)
			if text == c.text {
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

// One-way delays hold the clock offset: any number may be one.
func TestOneWayDelaysMayBeAnyNumber(t *testing.T) {
	d := kinds()
	d.Runs[0].Samples.ForwardNS[0], d.Runs[0].Samples.ReverseNS[0] = math.MinInt64+1, math.MaxInt64
	for name, body := range map[string][]byte{"json": encodeJSON(t, d), "xml": encodeXML(t, d)} {
		got, err := Document(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var back wire.Document
	if err := xml.Unmarshal(encodeXML(t, d), &back); err != nil || back.Runs[0].Samples.ForwardNS[0] != math.MinInt64+1 {
		t.Errorf("%v, %v", back.Runs[0].Samples.ForwardNS, err)
	}
}
