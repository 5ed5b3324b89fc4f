package ingest_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/ingest"
	"isochrone/sweep/ledger"
)

// Of three probers, two measure: 4 documents of 2 runs each, 14 samples a prober.
const (
	documentsOfTwo = 4
	rowsOfTwo      = 8
	samplesOfTwo   = 2 * (2*4 + 2*3)
)

func TestDocumentsBecomeRows(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	want := ingest.Report{Listed: documentsOfTwo, Received: documentsOfTwo, Rows: rowsOfTwo, Samples: samplesOfTwo}
	if got := b.drain(t); got != want {
		t.Errorf("report is %+v: want %+v", got, want)
	}
	rows := b.store.Rows()
	if len(rows) != rowsOfTwo || len(b.store.Latest()) != rowsOfTwo || len(b.store.Documents()) != documentsOfTwo || len(b.store.Waiting()) != 0 {
		t.Fatalf("%d rows, %d newest, %d documents, %q in the inbox", len(rows), len(b.store.Latest()), len(b.store.Documents()), b.store.Waiting())
	}
	for _, r := range rows {
		down := r.Series.Target == "brazilsouth"
		id := wire.AssignmentID(environment, slot, r.Series.Source, r.Series.Probe, 0)
		document := fmt.Sprintf("raw-test1/documents/v=1/src=%s/date=2026-11-30/1020_%s.json.gz", r.Series.Source, id)
		if !r.Slot.Equal(slot) || r.Assignment != id || r.Attempt != "0000000a" || r.Document != document || r.Tool != "" || r.Provenance.ProberVersion != "1.2.3" {
			t.Errorf("row %+v", r)
		}
		if (r.Run.Failure == wire.FailureTargetDown) != down || (r.Summary.Min == nil) != down {
			t.Errorf("row %s: failure %q, min %v", r.Series, r.Run.Failure, r.Summary.Min)
		}
		if !down && (r.Run.Counts.Lost != 1 || (*r.Summary.Min != 1e6 && *r.Summary.Min != 2e6) || *r.Summary.LossRatio != 1/float64(r.Run.Counts.Sent) || r.Run.RTTHistogram == "") {
			t.Errorf("row %s: counts %+v, min %v, loss %v", r.Series, r.Run.Counts, *r.Summary.Min, *r.Summary.LossRatio)
		}
	}
	_, entries := b.store.Book(wire.SlotName(slot))
	for _, e := range entries {
		want := ledger.Received
		if e.Key.Source == "brazilsouth" {
			want = ledger.Dispatched
		}
		if e.State != want || (want == ledger.Received && e.Attempt != "0000000a") {
			t.Errorf("entry %+v: want %s", e, want)
		}
	}
}

// ARCHITECTURE, one sweep, step 7.
func TestTheStepsComeInTheirOrder(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliver(t, b.documents(t, "westeurope", "0000000a")["connect"])
	before := len(b.store.Calls())
	b.drain(t)
	want := []string{"Inbox", "Take", "ReadPlan", "PutDocument", "PutSamples", "PutResults", "PutLatest", "MarkDirty", "AdvanceEntries", "Remove"}
	if diff := cmp.Diff(want, b.store.Calls()[before:]); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAnXMLDocumentIsAsGood(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	d := b.documents(t, "westeurope", "0000000a")["tcp-64"]
	body, err := xml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	b.store.Deliver(wire.InboxBlob(d.Source, d.Slot, d.Assignment, d.Attempt), zip(t, body), b.clock())
	if got, want := b.drain(t), (ingest.Report{Listed: 1, Received: 1, Rows: 2, Samples: 8}); got != want {
		t.Errorf("report is %+v: want %+v; quarantine %+v", got, want, b.store.Reasons())
	}
}

func TestPlansAreReadOnceADrain(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	before := len(b.store.Calls())
	b.drain(t)
	n := 0
	for _, op := range b.store.Calls()[before:] {
		if op == "ReadPlan" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the plan was read %d times", n)
	}
}

func TestTheSameDocumentAgainChangesNothing(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	b.drain(t)
	before := b.store.State()
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	if report := b.drain(t); report.Received != documentsOfTwo || report.Quarantined != 0 {
		t.Errorf("report is %+v", report)
	}
	if diff := cmp.Diff(before, b.store.State()); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
}

func TestASecondAttemptWithOtherBytesIsAConflict(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	d := b.documents(t, "westeurope", "0000000a")["tcp-64"]
	b.deliver(t, d)
	b.drain(t)
	before := b.store.State()
	d.Attempt = "0000000b"
	d.Runs[index(d, "northeurope")].Samples.RTTNS[0]++
	b.deliver(t, d)
	if report := b.drain(t); report.Quarantined != 1 || report.Received != 0 {
		t.Errorf("report is %+v", report)
	}
	if diff := cmp.Diff(before, without(b.store.State(), "quarantine")); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	reasons := b.store.Reasons()
	if len(reasons) != 1 || reasons[0].Stage != "conflict" || !strings.Contains(reasons[0].Text, "samples are never counted twice") {
		t.Errorf("reasons are %+v", reasons)
	}
}

// The runs have expired; their document comes after all, within the limit.
func TestALateDocumentReplacesExpiredRows(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	ds := b.documents(t, "westeurope", "0000000a")
	b.sleep(time.Hour)
	if report := b.resume(t); report.Expired != 12 || report.Closed != 1 {
		t.Fatalf("resumed: %+v", report)
	}
	b.deliver(t, ds["tcp-64"])
	b.drain(t)
	count := map[bool]int{}
	for _, r := range slices.Concat(b.store.Rows(), b.store.Latest()) {
		count[r.IsExpired()]++
	}
	if count[false] != 2*2 || count[true] != 2*10 {
		t.Errorf("rows and newest: %d results, %d expired", count[false], count[true])
	}
	header, entries := b.store.Book(wire.SlotName(slot))
	received := 0
	for _, e := range entries {
		if e.State == ledger.Received {
			received++
		}
	}
	if header.State != ledger.Complete || received != 1 {
		t.Errorf("header %s, %d entries received", header.State, received)
	}
	b.resume(t)
	if n := len(b.store.Rows()); n != 12 {
		t.Errorf("%d rows", n)
	}
}

func TestADocumentOlderThanTheLateLimitIsTooLate(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	ds := b.documents(t, "westeurope", "0000000a")
	b.sleep(ledger.LateLimit + slot.Sub(b.clock()))
	b.deliver(t, ds["tcp-64"])
	if report := b.drain(t); report.Received != 1 {
		t.Errorf("just in time: %+v", report)
	}
	before := b.store.State()
	b.sleep(1)
	b.deliver(t, ds["connect"])
	if report := b.drain(t); report.Quarantined != 1 || b.store.Reasons()[0].Stage != "too_late" {
		t.Errorf("too late: %+v, %+v", report, b.store.Reasons())
	}
	if diff := cmp.Diff(before, without(b.store.State(), "quarantine")); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
}

// Two ingesters and a dispatcher, every call at a moment of its own. The end is that of one.
func TestIngestersAtOnceEndInTheSameState(t *testing.T) {
	alone := newBench(t)
	alone.sweep(t)
	alone.deliverAll(t, "0000000a", "westeurope", "northeurope")
	alone.drain(t)
	alone.sleep(time.Hour)
	alone.resume(t)
	want := alone.store.State()
	for round := range 30 {
		b := newBench(t)
		b.sweep(t)
		b.deliverAll(t, "0000000a", "westeurope", "northeurope")
		b.sleep(time.Hour) // so that documents and expiry meet
		b.store.Before = func(string) {
			for range rand.IntN(4) {
				runtime.Gosched()
			}
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() {
				if _, err := b.ingester().Drain(t.Context()); err != nil {
					t.Error(err)
				}
			})
			work.Go(func() {
				if _, err := b.dispatcher().Resume(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		b.store.Before = nil
		b.drain(t) // what both had in hand, the other left
		b.resume(t)
		if diff := cmp.Diff(want, b.store.State()); diff != "" {
			t.Fatalf("round %d: state (-alone +at once):\n%s", round, diff)
		}
	}
}

func TestNothingIsTakenNearTheDeadline(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	g := b.ingester()
	g.Concurrency = 1
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // 0.8 s are the caller's, and the 0.8 s before take nothing
	defer cancel()
	taken := 0
	b.store.Before = func(op string) {
		if op == "Take" {
			taken++
			time.Sleep(2500 * time.Millisecond)
		}
	}
	report, err := g.Drain(ctx)
	if err != nil || taken != 1 || report.Received != 1 || !report.Unfinished {
		t.Errorf("%d taken, report %+v, error %v", taken, report, err)
	}
	for _, name := range b.store.Waiting() {
		if n := b.store.Attempts(name); n != 0 {
			t.Errorf("%s: %d attempts", name, n)
		}
	}
	b.store.Before = nil
	if report := b.drain(t); report.Received != documentsOfTwo-1 || report.Unfinished {
		t.Errorf("the next: %+v", report)
	}
}

// A flood from one prober leaves room for the others in the same Drain.
func TestAFloodDelaysOnlyItsOwnProber(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	for i := range 1500 {
		b.store.Deliver(fmt.Sprintf("brazilsouth/%04d", i), []byte("flood"), b.clock())
	}
	b.deliverAll(t, "0000000a", "westeurope")
	if report := b.drain(t); report.Received != 2 || report.Quarantined != 1000 || !report.Unfinished {
		t.Errorf("report is %+v", report)
	}
	if report := b.drain(t); report.Quarantined != 500 || report.Unfinished {
		t.Errorf("the next: %+v", report)
	}
}

// Every step fails once, in either way: the document is left, its attempt is given back, and the
// next Drain ends as if nothing had been.
func TestStorageFaultsDoNotCountAsAttempts(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope")
	before := b.store.State()
	for _, op := range []string{"ReadPlan", "PutDocument", "PutSamples", "PutResults", "PutLatest", "MarkDirty", "AdvanceEntries", "Remove"} {
		for range ingest.MaxAttempts + 1 {
			b.store.Fault = storetest.Always(op, storetest.NotStored)
			report, err := b.ingester().Drain(t.Context())
			if err == nil || !strings.Contains(err.Error(), "injected fault") || report.Left != 2 || report.Received != 0 {
				t.Fatalf("%s: report %+v, error %v", op, report, err)
			}
			for _, name := range b.store.Waiting() {
				if n := b.store.Attempts(name); n != 0 {
					t.Fatalf("%s: %s has %d attempts", op, name, n)
				}
			}
		}
	}
	b.store.Fault = nil
	if report := b.drain(t); report.Received != 2 || report.Quarantined != 0 || len(b.store.Waiting()) != 0 {
		t.Errorf("report %+v, inbox %q; before %q", report, b.store.Waiting(), before)
	}
}

func TestAFaultOfTheListingIsTold(t *testing.T) {
	b := newBench(t)
	b.store.Fault = storetest.Always("Inbox", storetest.NotStored)
	if _, err := b.ingester().Drain(t.Context()); err == nil || !strings.Contains(err.Error(), "listing the inbox") {
		t.Errorf("error is %v", err)
	}
}

// Every call of a whole sweep fails, in either way, and the process ends at every call; each tick
// that fails is followed by one that runs undisturbed. The end must be the same.
func TestEveryFaultOfAWholeSweepEndsTheSame(t *testing.T) {
	want, calls := wholeSweep(t, nil)
	for _, op := range []string{"MarkOpen", "CreatePlan", "WriteCurrent", "Take", "PutDocument", "PutSamples", "PutResults", "PutLatest", "MarkDirty",
		"AdvanceEntries", "Remove", "Quarantine", "PutForeign", "AddExpired", "AdvanceHeader", "ClearOpen"} {
		if !slices.Contains(calls, op) {
			t.Fatalf("the scenario never calls %s: %q", op, calls)
		}
	}
	for i, op := range calls {
		for name, fault := range storetest.Faults(i, op) {
			t.Run(fmt.Sprintf("%02d %s %s", i, op, name), func(t *testing.T) {
				t.Parallel()
				got, _ := wholeSweep(t, fault)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("state (-undisturbed +disturbed):\n%s", diff)
				}
			})
		}
	}
}

// wholeSweep is one sweep with everything in it: two probers deliver, one of them one document
// late; one delivers a second attempt with other bytes, and rubbish; a stranger sends a document;
// and the third prober never does anything.
func wholeSweep(t *testing.T, fault func(int, string) storetest.Fault) (state, calls []string) {
	t.Helper()
	b := newBench(t)
	b.store.Fault = fault
	tick := func(do func() error) {
		t.Helper()
		if do() == nil {
			return
		}
		b.store.Fault = nil // one call fails, or a process has ended and another one starts
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func() error { _, err := b.dispatcher().Sweep(t.Context(), slot, nil); return err }
	drain := func() error {
		g := b.ingester()
		g.Concurrency = 1 // so that the calls come in one order
		_, err := g.Drain(t.Context())
		return err
	}
	resume := func() error { _, err := b.dispatcher().Resume(t.Context()); return err }

	tick(sweep)
	west, north := b.documents(t, "westeurope", "0000000a"), b.documents(t, "northeurope", "0000000b")
	b.deliver(t, west["tcp-64"])
	b.deliver(t, west["connect"])
	b.deliver(t, north["tcp-64"])
	tick(drain)
	second := *west["tcp-64"]
	second.Attempt = "0000000c"
	b.deliver(t, &second)
	b.store.Deliver("northeurope/rubbish", []byte("rubbish"), b.clock())
	tick(drain)
	foreign := pack(t, foreignDocument(b.clock()))
	tick(func() error { _, err := b.ingester().Foreign(t.Context(), foreign, ingest.Parameters{}); return err })
	tick(drain)
	b.sleep(time.Hour)
	tick(resume)
	b.deliver(t, north["connect"])
	tick(drain)
	calls = b.store.Calls()
	b.store.Fault = nil
	tick(drain)
	tick(resume)
	return b.store.State(), calls
}
