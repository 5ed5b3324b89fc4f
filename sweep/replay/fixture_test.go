package replay_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ingest"
	"isochrone/sweep/replay"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

// The configuration: two probers, a latency probe and one that loads the network.
const configuration = `version: 1
environment: %s
loopback: true
timing: {lead: 5s, late: 3m, grace: 1m}
probers:
  - region: westeurope
    addresses: {public: [127.0.0.11/32]}
  - region: northeurope
    addresses: {public: [127.0.0.12/32]}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public], count: 4, interval: 20ms, timeout: 1s, warmup: 1, request: 64, response: 16}
  - {name: rate, kind: throughput, schedule: "*/10 * * * *", paths: [public], max_bytes: 10MB, duration: 1s, ramp: 0s, timeout: 1s, from: [westeurope], to: [northeurope]}
budget: {sweep: 1GB, month: 1TB}
`

var (
	slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	now  = slot.Add(2 * time.Hour)
	// whole is the day of the slot.
	whole = replay.Scope{From: slot.Truncate(24 * time.Hour), To: slot.Truncate(24*time.Hour).AddDate(0, 0, 1)}
)

// world is an environment in which one sweep was measured: three documents of probers, and three
// foreign ones.
type world struct {
	account     account.Account
	environment string
	blobs       *archive.Store
	rows        *tables.Store
	files       []string // the Parquet files of westeurope
}

func open(t *testing.T, a account.Account, environment string) world {
	t.Helper()
	w := world{account: a, environment: environment}
	var err error
	if w.blobs, err = archive.Open(a, environment); err != nil {
		t.Fatal(err)
	}
	if w.rows, err = tables.Open(a, environment); err != nil {
		t.Fatal(err)
	}
	return w
}

// jtl is a log of JMeter with two labels, an hour before the slot: two runs.
func jtl() string {
	at := slot.Add(-time.Hour).UnixMilli()
	text := "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
	for i, label := range []string{"first", "second", "first", "second"} {
		text += fmt.Sprintf("%d,%d,%s,200,OK,users 1-1,text,true,,875,1,1,http://192.0.2.7/,%d,0,2\n", at+int64(1000*i), 20+i, label, 10+i)
	}
	return text
}

// toolParameters are those of jtl.
var toolParameters = ingest.Parameters{Source: "office", Target: "192.0.2.7=westeurope,192.0.2.8=northeurope", Path: "public"}

// unread is XML of no known format.
const unread = `<measured when="2026-11-30"><rtt unit="ms">4</rtt></measured>`

func newWorld(t *testing.T) world {
	t.Helper()
	a, environment := azuritetest.Environment(t)
	w := open(t, a, environment)
	check(t, errors.Join(w.blobs.Ensure(t.Context()), w.rows.Ensure(t.Context(), slot)))
	check(t, w.blobs.PutConfig(t.Context(), fmt.Appendf(nil, configuration, environment)))
	begun := slot.Add(time.Second)
	for id, host := range map[string]string{"westeurope": "127.0.0.11", "northeurope": "127.0.0.12"} {
		azuritetest.Upload(t, a, wire.ProbersContainer(environment), wire.RegistrationBlob(id), encode(t, wire.Registration{
			Version: wire.RegistrationVersion, Environment: environment, Prober: id, Region: id, Started: begun.Add(-time.Hour), Heartbeat: begun,
			HeartbeatInterval: 30 * time.Second, Addresses: []wire.PathAddress{{Path: "public", Host: host, TCPPort: 7700}}, ReadsAssignments: []int{wire.AssignmentsVersion}}))
	}
	quiet := slog.New(slog.NewTextHandler(t.Output(), nil))
	d := &dispatch.Dispatcher{Environment: environment, Mailbox: w.blobs, Ledger: w.rows, Rows: w.rows, Resolver: net.DefaultResolver,
		Now: func() time.Time { return begun }, Log: quiet, NewSeed: func() wire.Key { return wire.Key{1, 2, 3} }}
	if _, err := d.Sweep(t.Context(), slot, nil); err != nil {
		t.Fatal(err)
	}
	g := &ingest.Ingester{Environment: environment, Inbox: w.blobs, Archive: w.blobs, Rows: w.rows, Ledger: w.rows, Now: func() time.Time { return now }, Log: quiet}
	for _, id := range []string{"westeurope", "northeurope"} {
		current, _, err := w.blobs.ReadCurrent(t.Context(), id)
		check(t, err)
		for _, d := range documents(t, current) {
			azuritetest.Upload(t, a, wire.InboxContainer(environment), wire.InboxBlob(d.Source, d.Slot, d.Assignment, d.Attempt), zip(t, encode(t, d)))
		}
	}
	if report, err := g.Drain(t.Context()); err != nil || report.Received != 3 {
		t.Fatalf("ingested %+v, %v", report, err)
	}
	for _, f := range []struct {
		body string
		p    ingest.Parameters
	}{
		{string(encode(t, own(environment))), ingest.Parameters{Probe: "mine"}},
		{jtl(), toolParameters},
		{unread, ingest.Parameters{XML: ingest.XMLToJSON}},
	} {
		if out, err := g.Foreign(t.Context(), []byte(f.body), f.p); err != nil || !out.Stored {
			t.Fatalf("foreign: %+v, %v", out, err)
		}
	}
	for _, kind := range []archive.Kind{archive.Samples, archive.Intervals} {
		for b, err := range w.blobs.Blobs(t.Context(), kind, time.Time{}) {
			check(t, err)
			if strings.Contains(b.Name, "/src=westeurope/") {
				w.files = append(w.files, b.Name)
			}
		}
	}
	return w
}

// own is a document of our own that nobody planned, of two runs.
func own(environment string) *wire.Document {
	a := wire.Assignment{Slot: slot, Spec: wire.Spec{Kind: wire.KindTCP, Count: 3, Interval: time.Second, Timeout: time.Second}, Start: slot.Add(-time.Hour)}
	d := &wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: slot, Source: "office", Probe: "mine", Assignment: strings.Repeat("a", 32), Attempt: "0000000f"}
	for _, target := range []string{"westeurope", "northeurope"} {
		d.Runs = append(d.Runs, latency(a, wire.AssignedRun{Target: target, Path: "public", Address: "192.0.2.1:443"}))
	}
	return d
}

// documents does what a prober does with what it is told.
func documents(t *testing.T, current []byte) (out []*wire.Document) {
	t.Helper()
	var told wire.Current
	check(t, json.Unmarshal(current, &told))
	for _, a := range told.Assignments {
		d := &wire.Document{Version: wire.DocumentVersion, Environment: told.Environment, Slot: a.Slot, Source: told.Prober, Probe: a.Probe,
			Part: a.Part, Assignment: a.ID, Attempt: "0000000a", Provenance: wire.Provenance{ProberVersion: "1.2.3", VMSize: "Standard_B1s"}}
		for _, r := range a.Runs {
			if a.Spec.Kind == wire.KindThroughput {
				d.Runs = append(d.Runs, throughput(a, r))
			} else {
				d.Runs = append(d.Runs, latency(a, r))
			}
		}
		out = append(out, d)
	}
	return out
}

func throughput(a wire.Assignment, r wire.AssignedRun) wire.Run {
	end := a.Start.Add(time.Second)
	return wire.Run{Target: r.Target, Path: r.Path, Kind: a.Spec.Kind, Address: r.Address, PlannedStart: a.Start, Start: &a.Start, End: &end,
		Bulk: &wire.BulkResult{Bytes: 1000, Flows: []wire.Flow{{Direction: wire.DirectionUp, Streams: 4, Bytes: 1000, CountedNS: 1e9,
			Intervals: wire.Intervals{AtNS: wire.Column{0, 1e8}, ForNS: wire.Column{1e8, 1e8}}}}}}
}

func latency(a wire.Assignment, r wire.AssignedRun) wire.Run {
	start, end := a.Start.Add(time.Millisecond), a.Start.Add(a.Spec.Span())
	out := wire.Run{Target: r.Target, Path: r.Path, Kind: a.Spec.Kind, Address: r.Address, PlannedStart: a.Start, Start: &start, End: &end,
		Counts: wire.Counts{Warmup: a.Spec.Warmup, Sent: a.Spec.Count, Received: a.Spec.Count}}
	for i := range a.Spec.Count {
		s, due := &out.Samples, int64(a.Spec.Warmup+i)*int64(a.Spec.Interval)
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, due), append(s.SentNS, due+1000)
		s.RTTNS, s.Failure = append(s.RTTNS, 1_000_000+int64(i)*1000), append(s.Failure, "")
	}
	return out
}

// replayer is one with the functions that the app converts with.
func (w world) replayer() *replay.Replayer {
	return &replay.Replayer{Archive: w.blobs, Rows: w.rows, Converter: ingest.NewAgain(w.environment, w.blobs, func() time.Time { return now })}
}

func (w world) dump(t *testing.T) map[string]string {
	t.Helper()
	return azuritetest.Dump(t, w.account, w.environment)
}

func run(t *testing.T, r *replay.Replayer, scope replay.Scope, apply bool) replay.Report {
	t.Helper()
	report, err := r.Run(t.Context(), scope, apply)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	check(t, err)
	return b
}

func zip(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(body)
	check(t, errors.Join(err, z.Close()))
	return out.Bytes()
}
