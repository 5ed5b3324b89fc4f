package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// foreignDocument is a document of our own format that nobody planned.
func foreignDocument(now time.Time) *wire.Document {
	a := wire.Assignment{Slot: wire.Slot(now), Spec: wire.Spec{Kind: wire.KindTCP, Count: 3, Interval: time.Second, Timeout: time.Second},
		Start: now.Add(-time.Minute - 300*time.Millisecond)}
	return &wire.Document{Version: wire.DocumentVersion, Environment: environment, Slot: a.Slot, Source: "office", Probe: "mine",
		Assignment: strings.Repeat("a", 32), Attempt: "0000000f",
		Runs: []wire.Run{run(a, wire.AssignedRun{Target: "westeurope", Path: "public", Address: "20.50.1.1:443"}, 5*time.Millisecond)}}
}

func TestAForeignDocumentBecomesRowsOfItsOwn(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	b.drain(t)
	before := b.store.State()
	d := foreignDocument(b.clock())
	// It claims to be a prober's planned run.
	d.Source, d.Probe, d.Assignment, d.Runs[0].Target = "northeurope", "tcp-64", northeuropeID, "westeurope"
	out, err := b.ingester().Foreign(t.Context(), pack(t, d), ingest.Parameters{Probe: "tcp-64"})
	if err != nil || !out.Stored || out.Rows != 1 || !strings.HasPrefix(out.Document, "raw-test1/foreign/date=2026-11-30/") {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	var found int
	for _, r := range b.store.Rows() {
		if r.Series.Probe != "ext.tcp-64" {
			continue
		}
		found++
		second := d.Runs[0].Start.Truncate(time.Second)
		if r.Series.Source != "northeurope" || !r.Slot.Equal(second) || r.Assignment != "" || r.Attempt != "" || r.Tool != "isochrone" || r.Document != out.Document {
			t.Errorf("row %+v", r)
		}
	}
	if found != 1 {
		t.Errorf("%d rows of ext.tcp-64", found)
	}
	after := without(b.store.State(), "foreign")
	after = without(after, "row test1|northeurope|westeurope|public|ext.tcp-64|"+d.Runs[0].Start.Truncate(time.Second).Format(time.RFC3339))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state but for its row (-before +after):\n%s", diff)
	}
	whole := b.store.State()
	if again, err := b.ingester().Foreign(t.Context(), pack(t, d), ingest.Parameters{Probe: "tcp-64"}); err != nil || !cmp.Equal(again, out) {
		t.Errorf("again: outcome %+v, error %v", again, err)
	}
	if diff := cmp.Diff(whole, b.store.State()); diff != "" {
		t.Errorf("again (-before +after):\n%s", diff)
	}
}

func TestForeignDocumentsThatAreRefused(t *testing.T) {
	valid := func(change func(d *wire.Document)) func(t *testing.T, b *bench) []byte {
		return func(t *testing.T, b *bench) []byte {
			d := foreignDocument(b.clock())
			change(d)
			return encode(t, d)
		}
	}
	at := func(change time.Duration) func(*wire.Document) {
		return func(d *wire.Document) {
			start, end := d.Runs[0].Start.Add(change), d.Runs[0].End.Add(change)
			d.Runs[0].Start, d.Runs[0].End = &start, &end
		}
	}
	for what, c := range map[string]struct {
		body       func(t *testing.T, b *bench) []byte
		parameters ingest.Parameters
		status     int
		reason     string
	}{
		"empty": {body: func(*testing.T, *bench) []byte { return nil }, status: 415, reason: "the body is empty"},
		"text":  {body: func(*testing.T, *bench) []byte { return []byte("hello") }, status: 415, reason: "none of the formats that are known"},
		"cut": {body: func(t *testing.T, b *bench) []byte {
			return bytes.TrimSuffix(encode(t, foreignDocument(b.clock())), []byte("}"))
		}, status: 400},
		"too large":                     {body: func(*testing.T, *bench) []byte { return make([]byte, wire.MaxDocumentBytes+1) }, status: 413, reason: "33554433 bytes"},
		"too large unpacked":            {body: func(t *testing.T, _ *bench) []byte { return zip(t, make([]byte, wire.MaxDocumentBytes+1)) }, status: 413},
		"another environment":           {body: valid(func(d *wire.Document) { d.Environment = "prod" }), status: 422, reason: `environment "prod"`},
		"ahead of the clock":            {body: valid(at(6*time.Minute + time.Minute)), status: 422, reason: "more than 5m0s ahead of the app's clock"},
		"planned ahead of the clock":    {body: valid(func(d *wire.Document) { d.Runs[0].PlannedStart = d.Runs[0].PlannedStart.Add(time.Hour) }), status: 422, reason: "ahead of the app's clock"},
		"of a clock never set":          {body: valid(at(-20 * 365 * 24 * time.Hour)), status: 422, reason: "lies before 2010-01-01"},
		"a probe that is ext. already":  {body: valid(func(d *wire.Document) { d.Probe = "ext.mine" }), status: 422, reason: `probe "ext.mine"`},
		"a probe that is no name":       {body: valid(func(d *wire.Document) { d.Probe = "a|b" }), status: 422, reason: `a|b`},
		"two runs in one second":        {body: valid(func(d *wire.Document) { d.Runs = append(d.Runs, d.Runs[0]) }), status: 422, reason: "runs[0] and runs[1] are of one series and began in the same second"},
		"a contradiction: source":       {body: valid(func(*wire.Document) {}), parameters: ingest.Parameters{Source: "eastus"}, status: 422, reason: `the parameter source is "eastus", and the document says "office"`},
		"a contradiction: target":       {body: valid(func(*wire.Document) {}), parameters: ingest.Parameters{Target: "eastus"}, status: 422, reason: `the parameter target is "eastus"`},
		"a contradiction: path":         {body: valid(func(*wire.Document) {}), parameters: ingest.Parameters{Path: "vpn"}, status: 422, reason: `the parameter path is "vpn"`},
		"a contradiction: probe":        {body: valid(func(*wire.Document) {}), parameters: ingest.Parameters{Probe: "other"}, status: 422, reason: `the parameter probe is "other"`},
		"a parameter too long":          {body: valid(func(*wire.Document) {}), parameters: ingest.Parameters{Path: strings.Repeat("x", 1001)}, status: 422, reason: "the parameter path has 1001 bytes"},
		"what no row could hold (text)": {body: valid(func(d *wire.Document) { d.Provenance.ImageDigest = strings.Repeat("x", 3000) }), status: 422, reason: "image_digest has 3000 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			out, err := b.ingester().Foreign(t.Context(), c.body(t, b), c.parameters)
			var refused *ingest.Refused
			if !errors.As(err, &refused) || refused.Status != c.status || !strings.Contains(refused.Reason, c.reason) || !cmp.Equal(out, ingest.Outcome{}) {
				t.Fatalf("outcome %+v, error %v: want %d with %q", out, err, c.status, c.reason)
			}
			if state := without(b.store.State(), "quarantine"); len(state) != 0 {
				t.Errorf("something is stored: %q", state)
			}
			if reasons := b.store.Reasons(); len(reasons) != 1 || reasons[0].Text != refused.Reason || !strings.HasPrefix(reasons[0].Origin, "_http/") {
				t.Errorf("reasons are %+v", reasons)
			}
		})
	}
}

func TestAForeignTimeJustAheadIsAccepted(t *testing.T) {
	b := newBench(t)
	d := foreignDocument(b.clock())
	end := b.clock().Add(5 * time.Minute)
	d.Runs[0].End = &end
	if out, err := b.ingester().Foreign(t.Context(), pack(t, d), ingest.Parameters{}); err != nil || !out.Stored {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

// What cannot be stored is put into the inbox, and is safe there: storage's faults are not the sender's
// business, unless the inbox cannot be reached either.
func TestAForeignDocumentSurvivesStorageFaults(t *testing.T) {
	want := func() []string {
		b := newBench(t)
		if _, err := b.ingester().Foreign(t.Context(), pack(t, foreignDocument(b.clock())), ingest.Parameters{Probe: "mine"}); err != nil {
			t.Fatal(err)
		}
		return b.store.State()
	}()
	for _, op := range []string{"PutForeign", "AddForeign", "MarkDirty"} {
		for name, fault := range map[string]storetest.Fault{"not stored": storetest.NotStored, "stored anyway": storetest.StoredAnyway} {
			t.Run(op+" "+name, func(t *testing.T) {
				b := newBench(t)
				b.store.Fault = storetest.Always(op, fault)
				out, err := b.ingester().Foreign(t.Context(), pack(t, foreignDocument(b.clock())), ingest.Parameters{Probe: "mine"})
				if err != nil || out.Stored {
					t.Fatalf("outcome %+v, error %v", out, err)
				}
				b.store.Fault = nil
				b.drain(t)
				if diff := cmp.Diff(want, b.store.State()); diff != "" {
					t.Errorf("state (-undisturbed +disturbed):\n%s", diff)
				}
			})
		}
	}
	b := newBench(t)
	b.store.Fault = func(_ int, op string) storetest.Fault {
		if op == "AddForeign" || op == "DropForeign" {
			return storetest.NotStored
		}
		return storetest.None
	}
	var refused *ingest.Refused
	if _, err := b.ingester().Foreign(t.Context(), pack(t, foreignDocument(b.clock())), ingest.Parameters{}); err == nil || errors.As(err, &refused) {
		t.Errorf("neither rows nor the inbox can be reached: error %v", err)
	}
}

// Storage that hangs while the document is stored leaves time for the inbox.
func TestThereIsTimeForTheInboxWhenStorageHangs(t *testing.T) {
	b := newBench(t)
	g := b.ingester()
	g.Rows, g.Inbox = hangingRows{g.Rows}, hastyInbox{g.Inbox}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	out, err := g.Foreign(ctx, pack(t, foreignDocument(b.clock())), ingest.Parameters{})
	if err != nil || out.Stored || len(b.store.Waiting()) != 1 {
		t.Errorf("outcome %+v, error %v, the inbox holds %q", out, err, b.store.Waiting())
	}
}

// hastyInbox takes nothing once ctx has ended, as storage does.
type hastyInbox struct{ waiting }

type waiting = ingest.Inbox // which has a method of its own name

func (h hastyInbox) DropForeign(ctx context.Context, body []byte, meta map[string]string) (inbox.Item, bool, error) {
	if err := ctx.Err(); err != nil {
		return inbox.Item{}, false, err
	}
	return h.waiting.DropForeign(ctx, body, meta)
}

type hangingRows struct{ ingest.Rows }

func (hangingRows) AddForeign(ctx context.Context, _ []result.Result) error {
	<-ctx.Done()
	return ctx.Err()
}

// poisonedRows makes the rows of a foreign document panic.
type poisonedRows struct{ ingest.Rows }

func (poisonedRows) AddForeign(context.Context, []result.Result) error { panic("poison") }

// A panic at once counts nothing; from then on the document lies in the inbox, and its attempts are counted.
func TestAForeignDocumentThatPanicsEndsInQuarantine(t *testing.T) {
	b := newBench(t)
	g := b.ingester()
	g.Rows = poisonedRows{g.Rows}
	out, err := g.Foreign(t.Context(), pack(t, foreignDocument(b.clock())), ingest.Parameters{})
	waiting := b.store.Waiting()
	if err != nil || out.Stored || len(waiting) != 1 || b.store.Attempts(waiting[0]) != 1 {
		t.Fatalf("outcome %+v, error %v, the inbox holds %q", out, err, waiting)
	}
	for range ingest.MaxAttempts - 1 {
		_, _ = g.Drain(t.Context())
	}
	if reasons := b.store.Reasons(); len(reasons) != 1 || reasons[0].Stage != "panic" || len(b.store.Waiting()) != 0 {
		t.Errorf("reasons %+v, the inbox holds %q", reasons, b.store.Waiting())
	}
}

// A document that is large is in the inbox and counted before it is opened.
func TestALargeForeignDocumentIsInTheInboxBeforeItIsOpened(t *testing.T) {
	b := newBench(t)
	body := append(encode(t, foreignDocument(b.clock())), bytes.Repeat([]byte(" "), 1<<20)...)
	for name, sent := range map[string][]byte{"plain": body, "packed": zip(t, body)} {
		b := newBench(t)
		out, err := b.ingester().Foreign(t.Context(), sent, ingest.Parameters{})
		if calls := b.store.Calls(); err != nil || !out.Stored || calls[0] != "DropForeign" || calls[len(calls)-1] != "Remove" {
			t.Errorf("%s: outcome %+v, error %v, calls %q", name, out, err, calls)
		}
	}
}

func TestAnythingElseInTheForeignFolderIsRefused(t *testing.T) {
	b := newBench(t)
	b.store.Deliver("_http/report.json", encode(t, foreignDocument(b.clock())), b.clock())
	if report := b.drain(t); report.Quarantined != 1 || b.store.Reasons()[0].Stage != "name" || len(b.store.Rows()) != 0 {
		t.Errorf("report %+v, reasons %+v", report, b.store.Reasons())
	}
}
