package ingest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// rogue is a document that its prober should not have sent.
type rogue struct {
	// change makes it of northeurope's document of tcp-64; what it returns is the blob's name,
	// "" for the one that fits the document.
	change func(d *wire.Document, b *bench) (name string)
	stage  string
	reason string
}

var (
	westeuropesID = wire.AssignmentID(environment, slot, "westeurope", "tcp-64", 0)
	northeuropeID = wire.AssignmentID(environment, slot, "northeurope", "tcp-64", 0)
)

// west is the index of the run to westeurope, down that of the one to brazilsouth, which is
// planned as target_down.
func index(d *wire.Document, target string) int {
	return slices.IndexFunc(d.Runs, func(r wire.Run) bool { return r.Target == target })
}

func west(d *wire.Document) *wire.Run { return &d.Runs[index(d, "westeurope")] }
func down(d *wire.Document) *wire.Run { return &d.Runs[index(d, "brazilsouth")] }

func edit(change func(d *wire.Document)) func(*wire.Document, *bench) string {
	return func(d *wire.Document, _ *bench) string { change(d); return "" }
}

var rogues = map[string]rogue{
	"another prober's assignment": {edit(func(d *wire.Document) { d.Assignment = westeuropesID }), "plan",
		`is that of prober "westeurope", and the document lay in the folder of "northeurope"`},
	"another prober's assignment and name": {func(d *wire.Document, _ *bench) string {
		d.Assignment, d.Source = westeuropesID, "westeurope"
		return wire.InboxBlob("northeurope", slot, westeuropesID, d.Attempt)
	}, "plan", `is that of prober "westeurope", and the document lay in the folder of "northeurope"`},
	"another prober's name inside": {func(d *wire.Document, _ *bench) string {
		d.Source = "westeurope"
		return wire.InboxBlob("northeurope", slot, d.Assignment, d.Attempt)
	}, "plan", `says source "westeurope", and lay in the folder of "northeurope"`},
	"another prober's assignment inside": {func(d *wire.Document, _ *bench) string {
		d.Assignment = westeuropesID
		return wire.InboxBlob("northeurope", slot, northeuropeID, d.Attempt)
	}, "plan", `the document says assignment "` + westeuropesID + `"`},
	"another environment":  {edit(func(d *wire.Document) { d.Environment = "prod" }), "plan", `it is of environment "prod", and the setting says "test1"`},
	"an unknown id":        {edit(func(d *wire.Document) { d.Assignment = strings.Repeat("0", 32) }), "plan", `has no assignment "0000`},
	"a slot without plan":  {edit(func(d *wire.Document) { d.Slot = slot.Add(-10 * time.Minute) }), "plan", "no sweep was planned for slot 20261130T1010"},
	"a slot of next year":  {edit(func(d *wire.Document) { d.Slot = slot.AddDate(1, 0, 0) }), "plan", "no sweep was planned"},
	"another sweep's slot": {anotherSweeps, "plan", `the plan of slot 20261130T1030 has no assignment "` + northeuropeID + `"`},
	"another time of day in its name": {func(d *wire.Document, _ *bench) string {
		return wire.InboxBlob(d.Source, slot.Add(time.Hour), d.Assignment, d.Attempt)
	}, "plan", "says slot 20261130T1020, and its blob's name 1120"},
	"another attempt in its name": {func(d *wire.Document, _ *bench) string {
		return wire.InboxBlob(d.Source, slot, d.Assignment, "ffffffff")
	}, "plan", `says attempt "0000000a", and its blob's name "ffffffff"`},
	"a name that is none":   {func(*wire.Document, *bench) string { return "northeurope/report.json" }, "name", "want <prober>/<HHmm>_<assignment id>_<attempt>.json.gz"},
	"no folder":             {func(*wire.Document, *bench) string { return "report.json.gz" }, "name", "no folder"},
	"another probe":         {edit(func(d *wire.Document) { d.Probe = "connect" }), "plan", `says probe "connect" part 0; planned are "tcp-64" part 0`},
	"another part":          {edit(func(d *wire.Document) { d.Part = 1 }), "plan", `part 1; planned are "tcp-64" part 0`},
	"an altered target":     {edit(func(d *wire.Document) { west(d).Target = "eastus" }), "plan", `the document says "eastus" over "public"`},
	"an altered path":       {edit(func(d *wire.Document) { west(d).Path = "peering" }), "plan", `the document says "westeurope" over "peering"`},
	"an extra run":          {edit(func(d *wire.Document) { d.Runs = append(d.Runs, *west(d)) }), "plan", "holds 3 runs; planned are 2"},
	"a missing run":         {edit(func(d *wire.Document) { d.Runs = d.Runs[:1] }), "plan", "holds 1 runs; planned are 2"},
	"runs in another order": {edit(func(d *wire.Document) { slices.Reverse(d.Runs) }), "plan", "planned is brazilsouth over public"},
	"a run twice":           {edit(func(d *wire.Document) { d.Runs[0] = d.Runs[1] }), "plan", "planned is brazilsouth over public"},
	"the wrong kind":        {edit(func(d *wire.Document) { west(d).Kind = "connect" }), "plan", `kind is "connect"; planned is "tcp"`},
	"the wrong address":     {edit(func(d *wire.Document) { west(d).Address = "169.254.169.254:80" }), "plan", `the address is "169.254.169.254:80"; planned is "127.0.0.11:7700"`},
	"no address and samples": {edit(func(d *wire.Document) { west(d).Address = "" }), "plan",
		`the address is ""; planned is "127.0.0.11:7700"`},
	"another planned start": {edit(func(d *wire.Document) { west(d).PlannedStart = west(d).PlannedStart.Add(time.Second) }), "plan", "planned start is"},
	"more samples than planned": {edit(func(d *wire.Document) {
		s := &west(d).Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, 4), append(s.DueNS, 1), append(s.SentNS, wire.Null)
		s.RTTNS, s.Failure = append(s.RTTNS, wire.Null), append(s.Failure, wire.FailureCanceled)
	}), "plan", "it holds 5 samples; planned are 4"},
	"a sample's number beyond the plan": {edit(func(d *wire.Document) { west(d).Samples.Sequence[3] = 4 }), "plan", "sequence[3] is 4; planned are 4 samples"},
	"more warm-up than planned":         {edit(func(d *wire.Document) { west(d).Counts.Warmup = 2 }), "plan", "counts 2 warm-up samples; planned are 1"},
	"samples from a target that is down": {edit(func(d *wire.Document) {
		planned := *down(d)
		*down(d) = *west(d)
		down := &d.Runs[0]
		down.Target, down.Address = planned.Target, planned.Address
	}), "plan", "it sent 4 samples to a target that is planned as target_down"},
	"a start before the window": {edit(func(d *wire.Document) { early := west(d).PlannedStart.Add(-11 * time.Second); west(d).Start = &early }), "plan", "the start is 2026-11-30T10:19:55Z, outside"},
	"an end after the window":   {edit(func(d *wire.Document) { late := west(d).PlannedStart.Add(time.Hour); west(d).End = &late }), "plan", "the end is 2026-11-30T11:20:06Z, outside"},
	"a start after the window": {edit(func(d *wire.Document) {
		late := west(d).PlannedStart.Add(time.Hour)
		west(d).Start, west(d).End = &late, &late
	}), "plan", "the start is 2026-11-30T11:20:06Z, outside"},
	"samples sent and no start":      {edit(func(d *wire.Document) { west(d).Start, west(d).End = nil, nil }), "plan", "and no start"},
	"an end and no start":            {edit(func(d *wire.Document) { down(d).End = west(d).End }), "plan", "and no start"},
	"a sample due after the run":     {edit(func(d *wire.Document) { west(d).Samples.DueNS[3] = int64(time.Hour) }), "plan", "due_ns[3] is 3600000000000"},
	"a sample sent after the window": {edit(func(d *wire.Document) { west(d).Samples.SentNS[3] = int64(time.Hour) }), "plan", "samples: sent_ns[3] is"},
	"the app's own failure code":     {edit(func(d *wire.Document) { down(d).Failure = wire.FailureExpired }), "convert/check", "is the app's to say"},
	"another document version":       {edit(func(d *wire.Document) { d.Version = 99 }), "convert/check", "version 99"},
	"a duplicate count too large":    {edit(func(d *wire.Document) { west(d).Counts.Duplicate = 1 << 40 }), "convert/", "1099511627776"},
	"retransmits beyond 32 bits":     {edit(func(d *wire.Document) { west(d).TCPInfo = &wire.TCPInfo{Retransmits: 1 << 31} }), "convert/check", "retransmits is 2147483648: want 0 to 2147483647"},
	"a window beyond 32 bits":        {edit(func(d *wire.Document) { west(d).TCPInfo = &wire.TCPInfo{CongestionWindow: 1 << 40} }), "convert/check", "congestion_window_segments is 1099511627776"},
	"a round trip below zero":        {edit(func(d *wire.Document) { west(d).TCPInfo = &wire.TCPInfo{RTTUS: -1} }), "convert/check", "tcp_info: rtt_us is -1"},
	"a provenance of 3 KiB":          {edit(func(d *wire.Document) { d.Provenance.VMSize = strings.Repeat("x", 3000) }), "convert/check", "vm_size has 3000 bytes"},
}

// anotherSweeps plans the next slot too, and claims it.
func anotherSweeps(d *wire.Document, b *bench) string {
	next := slot.Add(10 * time.Minute)
	if _, err := b.dispatcher().Sweep(context.Background(), next, nil); err != nil {
		panic(err)
	}
	d.Slot = next
	return wire.InboxBlob(d.Source, next, d.Assignment, d.Attempt)
}

func TestWhatWasNotPlannedChangesNoRow(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(rogues)) {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.sweep(t)
			// The others' documents are in, so that there is something to spoil.
			b.deliverAll(t, "00000001", "westeurope")
			b.drain(t)
			d := b.documents(t, "northeurope", "0000000a")["tcp-64"]
			name := rogues[what].change(d, b)
			if name == "" {
				name = wire.InboxBlob("northeurope", d.Slot, d.Assignment, d.Attempt)
			}
			before := b.store.State()
			b.store.Deliver(name, pack(t, d), b.clock())
			if report := b.drain(t); report != (ingest.Report{Listed: 1, Quarantined: 1}) {
				t.Errorf("report is %+v", report)
			}
			expectReason(t, b, rogues[what].stage, rogues[what].reason, name)
			if diff := cmp.Diff(before, without(b.store.State(), "quarantine")); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
			// The right document is still welcome.
			b.deliver(t, b.documents(t, "northeurope", "0000000b")["tcp-64"])
			if report := b.drain(t); report.Received != 1 {
				t.Errorf("then the right one: %+v, %+v", report, b.store.Reasons())
			}
		})
	}
}

func TestWhatIsNoDocumentChangesNoRow(t *testing.T) {
	good := func(t *testing.T, b *bench) []byte {
		return pack(t, b.documents(t, "northeurope", "0000000a")["tcp-64"])
	}
	for what, c := range map[string]struct {
		body  func(t *testing.T, b *bench) []byte
		stage string
	}{
		"empty":       {func(*testing.T, *bench) []byte { return []byte{} }, "convert/recognise"},
		"binary":      {func(*testing.T, *bench) []byte { return []byte{0, 1, 2, 3} }, "convert/recognise"},
		"cut":         {func(t *testing.T, b *bench) []byte { g := good(t, b); return g[:len(g)/2] }, "convert/unpack"},
		"not closed":  {func(t *testing.T, _ *bench) []byte { return zip(t, []byte(`{"version":1`)) }, "convert/read"},
		"a gzip bomb": {func(t *testing.T, _ *bench) []byte { return zip(t, make([]byte, wire.MaxDocumentBytes+1)) }, "convert/unpack"},
		"entity bomb": {func(t *testing.T, _ *bench) []byte {
			return []byte(`<!DOCTYPE a [<!ENTITY b "c">]><isochrone_document/>`)
		}, "convert/read"},
		"far too large": {func(*testing.T, *bench) []byte { return make([]byte, wire.MaxDocumentBytes+1) }, "size"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.sweep(t)
			before := b.store.State()
			name := wire.InboxBlob("northeurope", slot, northeuropeID, "0000000a")
			b.store.Deliver(name, c.body(t, b), b.clock())
			b.deliverAll(t, "0000000b", "westeurope")
			if report := b.drain(t); report.Quarantined != 1 || report.Received != 2 {
				t.Errorf("report is %+v", report)
			}
			expectReason(t, b, c.stage, "", name)
			rows := func(state []string) []string {
				return slices.DeleteFunc(state, func(line string) bool { return !strings.Contains(line, "row test1|northeurope") })
			}
			if diff := cmp.Diff(rows(before), rows(b.store.State())); diff != "" {
				t.Errorf("rows (-before +after):\n%s", diff)
			}
		})
	}
}

func expectReason(t *testing.T, b *bench, stage, text, origin string) {
	t.Helper()
	reasons := b.store.Reasons()
	if len(reasons) != 1 {
		t.Fatalf("reasons are %+v: want one", reasons)
	}
	r := reasons[0]
	if !strings.HasPrefix(r.Stage, stage) || !strings.Contains(r.Text, text) || r.Origin != origin || r.Attempts != 1 || !r.When.Equal(b.clock()) {
		t.Errorf("reason is %+v\nwant stage %q, text %q, origin %q, attempt 1", r, stage, text, origin)
	}
}

// poisoned makes one assignment's document panic, or take its process with it.
type poisoned struct {
	ingest.Archive
	assignment string
	strike     func()
}

func (p poisoned) PutSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (string, int, error) {
	if assignment == p.assignment {
		p.strike()
	}
	return p.Archive.PutSamples(ctx, source, slot, assignment, rs)
}

func TestAPanicHitsOnlyItsDocument(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	g := b.ingester()
	g.Archive = poisoned{b.store, northeuropeID, func() { panic("poison") }}
	name := wire.InboxBlob("northeurope", slot, northeuropeID, "0000000a")
	for attempt := 1; attempt < ingest.MaxAttempts; attempt++ {
		report, err := g.Drain(t.Context())
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("attempt %d of 3: panic: poison", attempt)) || report.Left != 1 {
			t.Fatalf("attempt %d: report %+v, error %v", attempt, report, err)
		}
		if n := b.store.Attempts(name); n != attempt {
			t.Errorf("%d attempts are counted: want %d", n, attempt)
		}
		if attempt == 1 && report.Received != documentsOfTwo-1 {
			t.Errorf("the others: %+v", report)
		}
	}
	report, err := g.Drain(t.Context())
	if err != nil || report != (ingest.Report{Listed: 1, Quarantined: 1}) {
		t.Errorf("report %+v, error %v", report, err)
	}
	reasons := b.store.Reasons()
	if len(reasons) != 1 || reasons[0].Stage != "panic" || reasons[0].Attempts != ingest.MaxAttempts || len(b.store.Waiting()) != 0 {
		t.Errorf("reasons %+v, inbox %q", reasons, b.store.Waiting())
	}
}

// A document ends the process each time it is opened, with the others open at the same moment.
func TestAPoisonedDocumentIsFoundAndTheOthersStored(t *testing.T) {
	b := newBench(t)
	b.sweep(t)
	b.deliverAll(t, "0000000a", "westeurope", "northeurope")
	for process := 1; len(b.store.Waiting()) > 0; process++ {
		if process > 6 {
			t.Fatalf("still in the inbox: %q", b.store.Waiting())
		}
		// Whatever is open when the poison strikes gets no further: the process ends, nothing that it
		// does has an effect, and nothing is given back. In the first process that is everything.
		var open sync.WaitGroup
		open.Add(documentsOfTwo)
		b.store.Before = func(op string) {
			switch {
			case op == "PutDocument" && process == 1:
				open.Done()
				open.Wait()
			case op == "PutResults": // a step after the poison's
				time.Sleep(50 * time.Millisecond)
			}
		}
		died := false
		g := b.ingester()
		g.Archive = poisoned{b.store, northeuropeID, func() {
			b.store.SetFault(storetest.From(0))
			died = true
		}}
		if _, err := g.Drain(t.Context()); died != (err != nil) {
			t.Errorf("process %d: died %v, error %v", process, died, err)
		}
		b.store.SetFault(nil)
		b.store.Before = nil
	}
	reasons := b.store.Reasons()
	if len(reasons) != 1 || reasons[0].Stage != "attempts" || !strings.HasPrefix(reasons[0].Origin, "northeurope/1020_"+northeuropeID) {
		t.Errorf("reasons are %+v: want the poisoned document's alone", reasons)
	}
	if n := len(b.store.Rows()); n != rowsOfTwo-2 {
		t.Errorf("%d rows: want those of all other documents, %d", n, rowsOfTwo-2)
	}
}

// The quarantine itself fails: the document stays until it works.
func TestARefusedDocumentStaysUntilItIsInQuarantine(t *testing.T) {
	b := newBench(t)
	b.store.Deliver("northeurope/rubbish", []byte("rubbish"), b.clock())
	b.store.Fault = storetest.Always("Quarantine", storetest.NotStored)
	for range ingest.MaxAttempts + 2 {
		if report, err := b.ingester().Drain(t.Context()); err == nil || report.Left != 1 || b.store.Attempts("northeurope/rubbish") != 0 {
			t.Fatalf("report %+v, error %v, attempts %d", report, err, b.store.Attempts("northeurope/rubbish"))
		}
	}
	b.store.Fault = nil
	if report := b.drain(t); report.Quarantined != 1 || len(b.store.Waiting()) != 0 {
		t.Errorf("report %+v", report)
	}
}

// unreadable is an inbox whose items are counted and then cannot be read.
type unreadable struct{ *storetest.Store }

func (u unreadable) Take(ctx context.Context, it inbox.Item) (inbox.Item, []byte, bool, error) {
	taken, _, _, _ := u.Store.Take(ctx, it)
	return taken, nil, false, storetest.ErrInjected
}

func TestAnAttemptThatReadNothingIsGivenBack(t *testing.T) {
	b := newBench(t)
	b.store.Deliver("northeurope/rubbish", []byte("rubbish"), b.clock())
	g := b.ingester()
	g.Inbox = unreadable{b.store}
	if report, err := g.Drain(t.Context()); err == nil || report.Left != 1 || b.store.Attempts("northeurope/rubbish") != 0 {
		t.Errorf("report %+v, error %v, attempts %d", report, err, b.store.Attempts("northeurope/rubbish"))
	}
}
