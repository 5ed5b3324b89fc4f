package ingest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ingest"
)

const environment = "test1"

// The configuration of most tests: three probers, two probes every ten minutes. brazilsouth never
// registers.
const configuration = `version: 1
environment: test1
loopback: true
timing: {lead: 5s, late: 3m, grace: 1m}
probers:
  - region: westeurope
    addresses: {public: [127.0.0.11/32]}
  - region: northeurope
    addresses: {public: [127.0.0.12/32]}
  - region: brazilsouth
    addresses: {public: [127.0.0.13/32]}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public], count: 4, interval: 20ms, timeout: 1s, warmup: 1, request: 64, response: 16}
  - {name: connect, kind: connect, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, warmup: 1}
`

var slot = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

var addresses = map[string]string{"westeurope": "127.0.0.11", "northeurope": "127.0.0.12"}

// bench is a store, a clock, and dispatchers and ingesters that share them.
type bench struct {
	store *storetest.Store
	lock  sync.Mutex
	now   time.Time
	logs  strings.Builder
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{store: storetest.New(environment), now: slot.Add(time.Second)}
	b.store.SetConfig([]byte(strings.Replace(configuration, "test1", environment, 1)))
	for id := range addresses {
		b.store.Register(id, registration(t, environment, id, b.clock()))
	}
	return b
}

func registration(t *testing.T, environment, id string, now time.Time) []byte {
	t.Helper()
	return encode(t, wire.Registration{
		Version: wire.RegistrationVersion, Environment: environment, Prober: id, Region: id,
		Started: now.Add(-time.Hour), Heartbeat: now, HeartbeatInterval: 30 * time.Second,
		Addresses: []wire.PathAddress{{Path: "public", Host: addresses[id], TCPPort: 7700}}, ReadsAssignments: []int{wire.AssignmentsVersion},
	})
}

func (b *bench) clock() time.Time {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.now
}

func (b *bench) sleep(d time.Duration) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.now = b.now.Add(d)
}

// Write keeps what is logged.
func (b *bench) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.logs.Write(p)
}

func (b *bench) log() *slog.Logger { return slog.New(slog.NewJSONHandler(io.Writer(b), nil)) }

func (b *bench) dispatcher() *dispatch.Dispatcher {
	return &dispatch.Dispatcher{Environment: environment, Mailbox: b.store, Ledger: b.store, Rows: b.store, Resolver: net.DefaultResolver,
		Now: b.clock, Log: b.log(), NewSeed: func() wire.Key { return wire.Key{1, 2, 3} }}
}

func (b *bench) ingester() *ingest.Ingester {
	return &ingest.Ingester{Environment: environment, Inbox: b.store, Archive: b.store, Rows: b.store, Ledger: b.store, Now: b.clock, Log: b.log()}
}

func (b *bench) sweep(t *testing.T) {
	t.Helper()
	if _, err := b.dispatcher().Sweep(t.Context(), slot, nil); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) resume(t *testing.T) dispatch.Report {
	t.Helper()
	report, err := b.dispatcher().Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) drain(t *testing.T) ingest.Report {
	t.Helper()
	report, err := b.ingester().Drain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// documents are those of a prober's assignments, as it would make them, by probe.
func (b *bench) documents(t *testing.T, prober, attempt string) map[string]*wire.Document {
	t.Helper()
	return documents(t, b.store.Current(prober), attempt)
}

// deliver puts a document into the inbox as its prober would.
func (b *bench) deliver(t *testing.T, d *wire.Document) (name string) {
	t.Helper()
	name = wire.InboxBlob(d.Source, d.Slot, d.Assignment, d.Attempt)
	b.store.Deliver(name, pack(t, d), b.clock())
	return name
}

// deliverAll delivers the documents of the probers, and returns how many.
func (b *bench) deliverAll(t *testing.T, attempt string, probers ...string) (n int) {
	t.Helper()
	for _, id := range probers {
		for _, d := range b.documents(t, id, attempt) {
			b.deliver(t, d)
			n++
		}
	}
	return n
}

// documents does what a prober does with what it is told: every run is made, the second sample
// of each is lost.
func documents(t *testing.T, current []byte, attempt string) map[string]*wire.Document {
	t.Helper()
	var told wire.Current
	if err := json.Unmarshal(current, &told); err != nil {
		t.Fatal(err)
	}
	out := map[string]*wire.Document{}
	for _, a := range told.Assignments {
		d := &wire.Document{Version: wire.DocumentVersion, Environment: told.Environment, Slot: a.Slot, Source: told.Prober, Probe: a.Probe,
			Part: a.Part, Assignment: a.ID, Attempt: attempt, Provenance: wire.Provenance{ProberVersion: "1.2.3", VMSize: "Standard_B1s"}}
		for i, r := range a.Runs {
			d.Runs = append(d.Runs, run(a, r, time.Duration(i+1)*time.Millisecond))
		}
		out[a.Probe] = d
	}
	if len(out) == 0 {
		t.Fatal("the prober is told nothing")
	}
	return out
}

func run(a wire.Assignment, r wire.AssignedRun, rtt time.Duration) wire.Run {
	out := wire.Run{Target: r.Target, Path: r.Path, Kind: a.Spec.Kind, Address: r.Address, PlannedStart: a.Start, Failure: r.Failure}
	for i := range a.Spec.Count {
		s := &out.Samples
		s.Sequence = append(s.Sequence, int64(i))
		due := int64(a.Spec.Warmup+i) * int64(a.Spec.Interval)
		s.DueNS = append(s.DueNS, due)
		sent, back, failure := due+1000, int64(rtt)+int64(i)*1000, wire.Failure("")
		switch {
		case r.Failure != "":
			sent, back, failure = wire.Null, wire.Null, r.Failure
		case i == 1:
			back, failure = wire.Null, wire.FailureTimeout
			out.Counts.Lost++
		default:
			out.Counts.Received++
		}
		s.SentNS, s.RTTNS, s.Failure = append(s.SentNS, sent), append(s.RTTNS, back), append(s.Failure, failure)
	}
	if r.Failure == "" {
		start, end := a.Start.Add(time.Millisecond), a.Start.Add(a.Spec.Span())
		out.Start, out.End = &start, &end
		out.Counts.Warmup, out.Counts.Sent = a.Spec.Warmup, a.Spec.Count
	}
	return out
}

func pack(t *testing.T, d *wire.Document) []byte {
	t.Helper()
	return zip(t, encode(t, d))
}

func zip(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// without are the lines of a state but for those of the kinds named.
func without(state []string, kinds ...string) (out []string) {
next:
	for _, line := range state {
		for _, kind := range kinds {
			if strings.HasPrefix(line, kind+" ") {
				continue next
			}
		}
		out = append(out, line)
	}
	return out
}
