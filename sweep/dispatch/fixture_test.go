package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/plan"
)

const environment = "test1"

// The configuration of most tests: three probers, two probes every ten minutes.
const configuration = `version: 1
environment: test1
loopback: true
timing: {lead: 5s, late: 3m, grace: 1m}
probers:
  - region: westeurope
    addresses: {public: [127.0.0.11/32, weu.example.com]}
  - region: northeurope
    addresses: {public: [127.0.0.12/32]}
  - region: eastus
    addresses: {public: [127.0.0.13/32]}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public], count: 4, interval: 20ms, timeout: 1s, warmup: 1, request: 64, response: 16}
  - {name: connect, kind: connect, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, warmup: 1}
`

var (
	slot    = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)
	probers = map[string]string{"eastus": "127.0.0.13", "northeurope": "127.0.0.12", "westeurope": "127.0.0.11"}
)

const runsPlanned = 3 * 2 * 2

// bench is a store, a clock and dispatchers that share them.
type bench struct {
	store *storetest.Store
	lock  sync.Mutex
	now   time.Time
	logs  strings.Builder
	names map[string][]string // what the resolver knows
	seed  wire.Key            // what every dispatcher draws
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{store: storetest.New(environment), now: slot.Add(time.Second), seed: wire.Key{1, 2, 3}}
	b.store.Clock = b.clock
	b.store.SetConfig([]byte(configuration))
	b.registerAll(t)
	return b
}

func (b *bench) registerAll(t *testing.T) {
	for id := range probers {
		b.store.Register(id, encode(t, b.registration(id)))
	}
}

func (b *bench) registration(id string) wire.Registration {
	return wire.Registration{
		Version: wire.RegistrationVersion, Environment: environment, Prober: id, Region: id,
		Started: b.clock().Add(-time.Hour), Heartbeat: b.clock().Add(-10 * time.Second), HeartbeatInterval: 30 * time.Second,
		Addresses:        []wire.PathAddress{{Path: "public", Host: probers[id], TCPPort: 7700}},
		ReadsAssignments: []int{wire.AssignmentsVersion},
	}
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

// LookupNetIP resolves as names says.
func (b *bench) LookupNetIP(_ context.Context, network, host string) (out []netip.Addr, err error) {
	if network != "ip" {
		return nil, fmt.Errorf("network %q", network)
	}
	known, ok := b.names[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	for _, ip := range known {
		out = append(out, netip.MustParseAddr(ip))
	}
	return out, nil
}

// Write keeps what is logged.
func (b *bench) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.logs.Write(p)
}

func (b *bench) logged() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.logs.String()
}

func (b *bench) dispatcher() *dispatch.Dispatcher {
	return &dispatch.Dispatcher{
		Environment: environment, Mailbox: b.store, Ledger: b.store, Rows: b.store, Resolver: b, Now: b.clock, Clock: b.store,
		Log: slog.New(slog.NewJSONHandler(io.Writer(b), nil)), NewSeed: func() wire.Key { return b.seed },
	}
}

func (b *bench) sweep(t *testing.T) dispatch.Report {
	t.Helper()
	report, err := b.dispatcher().Sweep(t.Context(), slot, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) resume(t *testing.T) dispatch.Report {
	t.Helper()
	report, err := b.dispatcher().Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) plan(t *testing.T, at time.Time) *plan.Plan {
	t.Helper()
	body := b.store.Plan(wire.SlotName(at))
	if body == nil {
		t.Fatalf("slot %s has no plan", wire.SlotName(at))
	}
	p, err := plan.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// told fails the test unless every prober is told exactly what the plans of the slots say.
func (b *bench) told(t *testing.T, slots ...time.Time) {
	t.Helper()
	var ps []*plan.Plan
	for _, at := range slots {
		ps = append(ps, b.plan(t, at))
	}
	for id := range probers {
		current, err := plan.Current(environment, id, ps, b.clock())
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Current
		if err := json.Unmarshal(b.store.Current(id), &got); err != nil {
			t.Errorf("what %s is told: %v", id, err)
		}
		if string(b.store.Current(id)) != string(encode(t, current)) {
			t.Errorf("%s is not told what the plans say: (-plans +told)\n%s", id, cmp.Diff(current, got))
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
