package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// heavyStore has documents waiting, and keeps nothing: what is in memory is the ingester's.
type heavyStore struct {
	*storetest.Store
	bodies  map[string][]byte
	dropped *sync.Map // of strangers, by the item's name
}

func (h heavyStore) Inbox(context.Context, int) iter.Seq2[inbox.Item, error] {
	return func(yield func(inbox.Item, error) bool) {
		for name, body := range h.bodies {
			if !yield(inbox.Item{Name: name, ETag: "1", Size: int64(len(body)), Created: slot}, nil) {
				return
			}
		}
	}
}

func (h heavyStore) Take(_ context.Context, it inbox.Item) (inbox.Item, []byte, bool, error) {
	body := h.bodies[it.Name]
	if dropped, ok := h.dropped.Load(it.Name); ok {
		body = dropped.([]byte)
	}
	it.Attempts, it.ETag = 1, "2"
	return it, bytes.Clone(body), true, nil // storage gives everyone a copy
}
func (h heavyStore) Remove(context.Context, inbox.Item) error  { return nil }
func (h heavyStore) Release(context.Context, inbox.Item) error { return nil }
func (h heavyStore) DropForeign(_ context.Context, body []byte, meta map[string]string) (inbox.Item, bool, error) {
	name := fmt.Sprintf("_http/%x", sha256.Sum256(body))
	h.dropped.Store(name, body)
	return inbox.Item{Name: name, ETag: "1", Size: int64(len(body)), Meta: meta, Created: slot}, false, nil
}

func (h heavyStore) PutDocument(_ context.Context, _ string, _ time.Time, _ string, _ []byte) (string, inbox.Outcome, error) {
	return "raw-test1/x", inbox.Stored, nil
}

// PutSamples makes the Parquet file, as the archive does.
func (h heavyStore) PutSamples(_ context.Context, _ string, _ time.Time, _ string, rs []result.Result) (string, int, error) {
	_, n, err := archive.EncodeSamples(rs)
	return "x", n, err
}
func (h heavyStore) PutIntervals(_ context.Context, _ string, _ time.Time, _ string, rs []result.Result) (string, int, error) {
	_, n, err := archive.EncodeIntervals(rs)
	return "x", n, err
}
func (h heavyStore) PutForeign(context.Context, time.Time, string, string, []byte, []byte) (string, error) {
	return "raw-test1/y", nil
}
func (h heavyStore) Quarantine(context.Context, time.Time, string, []byte, string, inbox.Reason) (string, error) {
	return "quarantine-test1/x", nil
}
func (h heavyStore) PutResults(context.Context, []result.Result) error { return nil }
func (h heavyStore) AddForeign(context.Context, []result.Result) error { return nil }
func (h heavyStore) PutLatest(context.Context, []result.Result) error  { return nil }
func (h heavyStore) MarkDirty(context.Context, []result.Result) error  { return nil }

// heavy plans n assignments of as many samples as one may have, and returns a store in which a
// document for each waits, made by encode.
func heavy(t testing.TB, n int, encode func(*wire.Document) []byte) heavyStore {
	t.Helper()
	head, _, _ := strings.Cut(configuration, "probes:\n")
	var config strings.Builder
	config.WriteString(strings.Replace(head, "  - region: brazilsouth\n    addresses: {public: [127.0.0.13/32]}\n", "", 1) + "probes:\n")
	for i := range n {
		fmt.Fprintf(&config, "  - {name: p%d, kind: tcp, schedule: \"*/10 * * * *\", paths: [public], count: 100000, interval: 1ms, timeout: 1s, warmup: 0, request: 64, response: 16, from: [westeurope], to: [northeurope]}\n", i)
	}
	s := storetest.New(environment)
	s.SetConfig([]byte(config.String()))
	now := slot.Add(time.Second)
	for id := range addresses {
		r, err := json.Marshal(wire.Registration{Version: wire.RegistrationVersion, Environment: environment, Prober: id, Region: id,
			Started: now.Add(-time.Hour), Heartbeat: now, HeartbeatInterval: 30 * time.Second,
			Addresses: []wire.PathAddress{{Path: "public", Host: addresses[id], TCPPort: 7700}}, ReadsAssignments: []int{wire.AssignmentsVersion}})
		if err != nil {
			t.Fatal(err)
		}
		s.Register(id, r)
	}
	clock := func() time.Time { return now }
	s.Clock = clock
	d := &dispatch.Dispatcher{Environment: environment, Mailbox: s, Ledger: s, Rows: s, Resolver: net.DefaultResolver, Now: clock, Log: slog.New(slog.DiscardHandler), NewSeed: wire.NewSeed}
	if _, err := d.Sweep(context.Background(), slot, nil); err != nil {
		t.Fatal(err)
	}
	out := heavyStore{s, map[string][]byte{}, &sync.Map{}}
	var told wire.Current
	if err := json.Unmarshal(s.Current("westeurope"), &told); err != nil {
		t.Fatal(err)
	}
	for _, a := range told.Assignments {
		doc := &wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: a.Slot, Source: "westeurope", Probe: a.Probe,
			Part: a.Part, Assignment: a.ID, Attempt: "0000000a", Runs: []wire.Run{run(a, a.Runs[0], 5*time.Millisecond)}}
		out.bodies[wire.InboxBlob("westeurope", slot, a.ID, "0000000a")] = encode(doc)
	}
	if len(out.bodies) != n {
		t.Fatalf("%d assignments", len(out.bodies))
	}
	return out
}

func (h heavyStore) ingester(concurrency int) *ingest.Ingester {
	return &ingest.Ingester{Environment: environment, Inbox: h, Archive: h, Rows: h, Ledger: h, Concurrency: concurrency,
		Now: func() time.Time { return slot.Add(10 * time.Minute) }, Log: slog.New(slog.DiscardHandler)}
}

// peak is how much the heap grows while do runs, garbage included.
func peak(do func()) int64 {
	runtime.GC()
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 { metrics.Read(sample); return int64(sample[0].Value.Uint64()) }
	before, most := read(), int64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, read())
			select {
			case <-done:
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return most - before
}

// large encodes documents that take much memory, in turn: one of many and wide columns, and one of
// which a megabyte of gzip unpacks to as much as a document may hold.
func large(t testing.TB) func(*wire.Document) []byte {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	n := 0
	return func(d *wire.Document) []byte {
		if n++; n%2 == 0 {
			b := encodeTB(t, d)
			return zipTB(t, append(b, bytes.Repeat([]byte(" "), wire.MaxDocumentBytes-len(b))...))
		}
		s := &d.Runs[0].Samples
		for _, c := range s.Columns() {
			for range s.Len() {
				switch {
				case c.Signed:
					*c.Values = append(*c.Values, rnd.Int64())
				case c.Optional:
					*c.Values = append(*c.Values, rnd.Int64N(int64(24*time.Hour)))
				}
			}
		}
		return zipTB(t, encodeTB(t, d))
	}
}

func encodeTB(t testing.TB, d *wire.Document) []byte {
	t.Helper()
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Six of the largest documents at once, of two Drains and of Results, stay within the budget. The
// limit leaves a little to the moment at which garbage is collected.
func TestManyLargeDocumentsStayWithinTheBudget(t *testing.T) {
	const limit = 288 << 20
	h := heavy(t, 2, large(t))
	budget := ingest.NewBudget()
	var received, foreign atomic.Int64
	grown := peak(func() {
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() {
				g := h.ingester(4)
				g.Budget = budget
				report, err := g.Drain(t.Context())
				if err != nil {
					t.Error(err)
				}
				received.Add(int64(report.Received))
			})
		}
		for _, body := range h.bodies {
			work.Go(func() {
				g := h.ingester(4)
				g.Budget = budget
				if out, err := g.Foreign(t.Context(), body, ingest.Parameters{}); err != nil || !out.Stored {
					t.Errorf("%+v, %v", out, err)
				}
				foreign.Add(1)
			})
		}
		work.Wait()
	})
	t.Logf("the heap grew by %d MiB", grown>>20)
	if received.Load() != 4 || foreign.Load() != 2 {
		t.Errorf("%d received, %d foreign", received.Load(), foreign.Load())
	}
	if grown > limit {
		t.Errorf("the heap grew by %d MiB: want at most %d", grown>>20, limit>>20)
	}
}

func zipTB(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a level that there is
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
