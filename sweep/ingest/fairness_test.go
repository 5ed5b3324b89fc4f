package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
)

// slowFolder takes a while over each item of one folder, or until ctx ends.
type slowFolder struct {
	*storetest.Store
	folder string
	takes  time.Duration
}

func (s slowFolder) Take(ctx context.Context, it inbox.Item) (inbox.Item, []byte, bool, error) {
	if strings.HasPrefix(it.Name, s.folder+"/") {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return it, nil, false, ctx.Err()
		}
	}
	return s.Store.Take(ctx, it)
}

// flood fills the inbox of the prober that sorts first, and then delivers the others' documents.
func flood(t *testing.T, b *bench, n int) {
	t.Helper()
	b.sweep(t)
	for i := range n {
		b.store.Deliver(fmt.Sprintf("brazilsouth/%04d", i), []byte("flood"), b.clock())
	}
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
}

// A rogue prober's documents are many, and slow: the others' are received in the first Drain all
// the same, and the caller has a fifth of its time left.
func TestSlowDocumentsDelayOnlyTheirOwnProber(t *testing.T) {
	for what, takes := range map[string]time.Duration{"slow": 150 * time.Millisecond, "without end": time.Hour} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			flood(t, b, 500)
			g := b.ingester()
			g.Inbox = slowFolder{b.store, "brazilsouth", takes}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			begun := time.Now()
			report, _ := g.Drain(ctx)
			if report.Received != documentsOfTwo || !report.Unfinished {
				t.Errorf("report is %+v: want %d received", report, documentsOfTwo)
			}
			if took := time.Since(begun); took > 2700*time.Millisecond {
				t.Errorf("Drain took %s of 3s: want a fifth left", took)
			}
		})
	}
}

// The same of documents that were opened before, which are handled one by one.
func TestSlowSuspectsDelayOnlyTheirOwnProber(t *testing.T) {
	b := newBench(t)
	flood(t, b, 500)
	for it, err := range b.store.Inbox(t.Context(), 1000) { // an attempt of each came to no end
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok, err := b.store.Take(t.Context(), it); err != nil || !ok {
			t.Fatal(err)
		}
	}
	for i := range 500 { // and there is as much that is new
		b.store.Deliver(fmt.Sprintf("brazilsouth/new-%04d", i), []byte("flood"), b.clock())
	}
	g := b.ingester()
	g.Inbox = slowFolder{b.store, "brazilsouth", 50 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if report, err := g.Drain(ctx); err != nil || report.Received != documentsOfTwo {
		t.Errorf("report is %+v, error %v: want %d received", report, err, documentsOfTwo)
	}
}

func TestFoldersTakeTurns(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a/1", "a/2", "a/3", "b/1", "c/1", "c/2"} {
		b.store.Deliver(name, []byte("rubbish"), b.clock())
	}
	var order []string
	g := b.ingester()
	g.Inbox = noting{b.store, &order}
	g.Concurrency = 1
	if _, err := g.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/1", "b/1", "c/1", "a/2", "c/2", "a/3"}; !slices.Equal(order, want) {
		t.Errorf("taken are %q: want %q", order, want)
	}
}

type noting struct {
	*storetest.Store
	order *[]string
}

func (n noting) Take(ctx context.Context, it inbox.Item) (inbox.Item, []byte, bool, error) {
	*n.order = append(*n.order, it.Name)
	return n.Store.Take(ctx, it)
}

// What its sender has locked is left, and makes no Drain fail.
func TestALockedDocumentIsLeftAndIsNoFault(t *testing.T) {
	for _, op := range []string{"Take", "Remove"} {
		b := newBench(t)
		b.sweep(t)
		b.deliverAll(t, "0000000a", "westeurope")
		b.store.Fault = storetest.Always(op, storetest.Locked)
		if report, err := b.ingester().Drain(t.Context()); err != nil || report.Left != 2 || report.Listed != 2 {
			t.Errorf("%s: report %+v, error %v", op, report, err)
		}
		if logs := b.logs.String(); strings.Count(logs, "a document is locked") != 2 {
			t.Errorf("%s: logs are %s", op, logs)
		}
		b.store.Fault = nil
		if report := b.drain(t); report.Received != 2 || len(b.store.Waiting()) != 0 {
			t.Errorf("%s: free again: %+v, waiting %q", op, report, b.store.Waiting())
		}
	}
}

// Two foreign documents say different things of one series and second.
func TestASecondForeignDocumentOfTheSameRunIsAConflict(t *testing.T) {
	genuine := azure(t)
	for name, w := range map[string]world{"fake": memory(genuine.environment), "real": genuine} {
		t.Run(name, func(t *testing.T) {
			b := &bench{now: slot.Add(time.Second)}
			g := &ingest.Ingester{Environment: w.environment, Inbox: w, Archive: w, Rows: w, Ledger: w, Now: b.clock, Log: b.log()}
			d := foreignDocument(b.clock())
			d.Environment = w.environment
			first, err := g.Foreign(t.Context(), pack(t, d), ingest.Parameters{})
			if err != nil || !first.Stored {
				t.Fatalf("the first: %+v, %v", first, err)
			}
			before := w.look()
			// One run more, which is new, and the first with other figures.
			second := *d
			second.Runs = []wire.Run{d.Runs[0], d.Runs[0]}
			start := d.Runs[0].Start.Add(-time.Second)
			second.Runs[0].Start = &start
			second.Runs[1].Samples.RTTNS = slices.Clone(d.Runs[0].Samples.RTTNS)
			second.Runs[1].Samples.RTTNS[0]++
			_, err = g.Foreign(t.Context(), pack(t, &second), ingest.Parameters{})
			if r, ok := errors.AsType[*ingest.Refused](err); !ok || r.Status != 409 || !strings.Contains(r.Reason, first.Document) {
				t.Errorf("the second: %v: want 409, and the document that is stored", err)
			}
			rows := func(lines []string) []string {
				return slices.DeleteFunc(slices.Sorted(slices.Values(lines)), func(l string) bool { return !strings.HasPrefix(l, "row ") })
			}
			after := w.look()
			if !slices.Equal(rows(before), rows(after)) {
				t.Errorf("rows were %q and are %q", rows(before), rows(after))
			}
			if n := len(slices.DeleteFunc(after, func(l string) bool { return !strings.HasPrefix(l, "quarantine ") })); n != 1 {
				t.Errorf("%d in quarantine", n)
			}
			if again, err := g.Foreign(t.Context(), pack(t, d), ingest.Parameters{}); err != nil || !cmp.Equal(again, first) {
				t.Errorf("the first again: %+v, %v", again, err)
			}
			if len(list(t, w)) != 0 {
				t.Error("the inbox is not empty")
			}
		})
	}
}
