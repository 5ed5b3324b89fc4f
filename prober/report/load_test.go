package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// loadRun is a run of 1,200 requests over a path of 20 ms to a server that takes 1 to 6 ms. Ten of
// them failed.
func loadRun() Input {
	began := time.Date(2026, 11, 30, 10, 20, 0, 123456789, time.UTC)
	ended := began.Add(2 * time.Second)
	const n = 1200
	s := wire.Samples{}
	for i := range int64(n) {
		server, rtt, connect, failure := 1e6+i%6*1e6, int64(0), wire.Null, wire.Failure("")
		rtt = 20e6 + server + i*100
		if i < 10 {
			connect = 19.9e6
		} else if i < 20 {
			server, rtt, failure = wire.Null, wire.Null, wire.FailureHTTPStatus
		}
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, i), append(s.DueNS, i*1e6), append(s.SentNS, i*1e6)
		s.RTTNS, s.ServerNS, s.ConnectNS = append(s.RTTNS, rtt), append(s.ServerNS, server), append(s.ConnectNS, connect)
		client := 50_000 + i
		if failure != "" {
			client = wire.Null
		}
		s.ClientNS, s.Failure = append(s.ClientNS, client), append(s.Failure, failure)
	}
	return Input{
		Target: "https://example.com/?key=s3cret",
		Spec: wire.Spec{
			Kind: wire.KindLoad, Timeout: 10 * time.Second, Method: "GET", Connection: wire.ConnectionKeepAlive,
			Bulk: wire.Bulk{MaxBytes: 1e9, Users: 10, Loops: 120, Ramp: time.Second},
		},
		Run: wire.Run{
			Kind: wire.KindLoad, Address: "192.0.2.4:443", Start: &began, End: &ended, Detail: "a text \x1b[31mfor people",
			Counts: wire.Counts{Sent: n, Received: n - 10, Lost: 10}, Timestamps: wire.TimestampsUser, Samples: s,
			TCPInfo: &wire.TCPInfo{RTTUS: 20_123, MinRTTUS: 20_000, RTTVarUS: 456, MSSBytes: 1448, CongestionControl: "cubic", CongestionWindow: 10},
			Bulk:    &wire.BulkResult{Bytes: 1_234_567, Load: &wire.LoadResult{Users: 10, RequestsPerS: 972.25}},
		},
		Provenance: wire.Provenance{ProberVersion: "1.2.3"},
	}
}

// leastLoad is a run in which nothing was answered.
func leastLoad() Input {
	return Input{
		Target: "10.0.0.4:7700",
		Spec: wire.Spec{
			Kind: wire.KindLoad, Timeout: 10 * time.Second, RequestBytes: 64, ResponseBytes: 8192,
			Bulk: wire.Bulk{MaxBytes: 1e9, Users: 10, Duration: time.Minute},
		},
		Run: wire.Run{Kind: wire.KindLoad, Address: "10.0.0.4:7700", Failure: wire.FailureTargetBusy, Detail: "the target serves one at a time"},
	}
}

// fewLoad is a run of twenty answers that do not say what the server took.
func fewLoad() Input {
	in := loadRun()
	in.Run.Samples.ServerNS = nil
	for _, c := range in.Run.Samples.Columns() {
		*c.Values = (*c.Values)[:min(20, len(*c.Values))]
	}
	for i := range 20 {
		in.Run.Samples.RTTNS[i] = 20e6 + int64(i)
	}
	in.Run.Samples.Failure = make(wire.FailureColumn, 20)
	in.Run.Counts = wire.Counts{Sent: 20, Received: 20}
	in.Run.Detail, in.Run.TCPInfo, in.Interrupted, in.Run.Bulk.BudgetReached = "", nil, true, true
	return in
}

func TestTheLoadsGoldenFiles(t *testing.T) {
	for name, in := range map[string]Input{"full": loadRun(), "least": leastLoad(), "few": fewLoad()} {
		in.Samples = name == "few"
		d := LoadOf(in)
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		asXML, err := d.XML()
		if err != nil {
			t.Fatal(err)
		}
		for suffix, got := range map[string][]byte{"json": asJSON, "xml": asXML, "txt": d.Text()} {
			golden(t, "testdata/load-"+name+"."+suffix, got)
		}
		var back Load
		decoder := json.NewDecoder(bytes.NewReader(asJSON))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&back); err != nil {
			t.Fatal(err)
		}
		equal := []cmp.Option{cmpopts.IgnoreFields(Load{}, "XMLName"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(d, back, equal...); diff != "" {
			t.Errorf("JSON of %s is read as another:\n%s", name, diff)
		}
		back = Load{}
		if err := xml.Unmarshal(asXML, &back); err != nil {
			t.Fatal(err)
		}
		back.Format = LoadFormat // the root element's name
		if diff := cmp.Diff(d, back, equal...); diff != "" {
			t.Errorf("XML of %s is read as another:\n%s", name, diff)
		}
	}
}

// The samples are 20 ms and what the server took, and 100 ns more from one to the next.
func TestALoadsFiguresAreThoseOfItsSamples(t *testing.T) {
	d := LoadOf(loadRun())
	for what, got := range map[string]struct{ got, want Microseconds }{
		"the server's least":     {*d.Server.MinUS, 1000},
		"the server's median":    {*d.Server.Percentiles[0].ValueUS, 3000},
		"the server's most":      {*d.Server.MaxUS, 6000},
		"the network's least":    {*d.Network.MinUS, 20_000},
		"the network's median":   {*d.Network.Percentiles[0].ValueUS, 20_060.4}, // of samples 0 to 9 and 20 to 1199 the 595th
		"the network's most":     {*d.Network.MaxUS, 20_119.9},
		"this program's median":  {*d.ClientP50US, 50.604},
		"the total's most":       {*d.Total.MaxUS, 26_119.9},
		"the total's percentile": {*d.Total.Percentiles[2].ValueUS, 26_113.3},
	} {
		if got.got != got.want {
			t.Errorf("%s is %v, want %v", what, got.got, got.want)
		}
	}
	if *d.OpenedCount != 10 || *d.BelowRTTCount != 0 || *d.RequestsPerS != 972.25 || d.MovedBytes != 1_234_567 || len(d.Degraded) != 0 {
		t.Errorf("opened %d, below %d, rate %v, moved %d, degraded %v", *d.OpenedCount, *d.BelowRTTCount, *d.RequestsPerS, d.MovedBytes, d.Degraded)
	}
	if d.Failures[0] != (FailureCount{wire.FailureHTTPStatus, 10}) || strings.Contains(string(d.Text()), "s3cret") {
		t.Errorf("failures %v", d.Failures)
	}
}

func TestALoadWhoseSplitCannotBeSaysSo(t *testing.T) {
	in := loadRun()
	for i := range 30 {
		if in.Run.Samples.ServerNS[i] != wire.Null {
			in.Run.Samples.ServerNS[i] = in.Run.Samples.RTTNS[i] - 15e6 // of a path of 20 ms
		}
	}
	d := LoadOf(in)
	if *d.BelowRTTCount != 20 || len(d.Degraded) != 1 || d.Degraded[0] != summary.ReasonSplitBelowRTT {
		t.Errorf("below %d, degraded %v", *d.BelowRTTCount, d.Degraded)
	}
	if text := string(d.Text()); !strings.Contains(text, "network times below the path's round trip: 20\n") || !strings.Contains(text, "DEGRADED: ") {
		t.Errorf("it does not say so:\n%s", text)
	}
}
