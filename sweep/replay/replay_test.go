package replay_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/replay"
	"isochrone/sweep/result"
)

// Of a world: three documents of probers with a run each, a foreign one of ours and one of a tool with two
// runs each, and XML that nobody can read.
const documentsOfWorld = 6

func TestAReplayOfWhatNothingChangedForWritesNothing(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	through, seen := watch(t, w.account)
	for _, apply := range []bool{false, true} {
		got := run(t, open(t, through, w.environment).replayer(), whole, apply)
		if want := (replay.Report{Documents: documentsOfWorld, Same: documentsOfWorld}); !cmp.Equal(got, want) {
			t.Errorf("apply %v: report %+v, want %+v", apply, got, want)
		}
	}
	if len(seen.writes) > 0 || seen.reads == 0 {
		t.Errorf("%d reads, and writes %q", seen.reads, seen.writes)
	}
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
}

// tampered changes a row of each kind, a newest run and a file of each kind, and takes some away.
func tampered(t *testing.T, w world) {
	t.Helper()
	month := "runs" + w.environment + "202611"
	rev := fmt.Sprintf("%010d", 9_999_999_999-slot.Unix())
	azuritetest.Change(t, w.account, month, "westeurope", "northeurope|public|tcp-64|"+rev, map[string]any{"rtt_max_us": 7.5, "old_column": "x"})
	azuritetest.Delete(t, w.account, month, "northeurope", "westeurope|public|tcp-64|"+rev)
	azuritetest.Change(t, w.account, "latest"+w.environment, "public|tcp-64", "westeurope|northeurope", map[string]any{"rtt_min_us": 7.5})
	began := slot.Add(-time.Hour)
	foreign := fmt.Sprintf("%010d", 9_999_999_999-began.Unix())
	azuritetest.Change(t, w.account, month, "office", "westeurope|public|ext.mine|"+foreign, map[string]any{"kind": "udp"})
	for _, name := range w.files {
		container, name, _ := strings.Cut(name, "/")
		azuritetest.Upload(t, w.account, container, name, []byte("damaged"))
	}
}

func TestExactlyWhatDiffersIsFoundAndMended(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	tampered(t, w)
	damaged := w.dump(t)
	want := replay.Report{Documents: documentsOfWorld, Same: 2, Differing: 4, Rows: replay.Changes{Changed: 2, Added: 1}, Latest: replay.Changes{Changed: 1},
		Files: replay.Changes{Changed: 3}, Columns: map[string]int{"rtt_max_us": 1, "old_column": 1, "kind": 1}}
	through, seen := watch(t, w.account)
	for _, apply := range []bool{false, true} {
		got := run(t, open(t, through, w.environment).replayer(), whole, apply)
		if n := len(got.Told); n != 7 {
			t.Errorf("%d changes told, want 7: %+v", n, got.Told)
		}
		got.Told = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("apply %v: report (-want +got):\n%s", apply, diff)
		}
		if !apply {
			if diff := cmp.Diff(damaged, w.dump(t)); diff != "" || len(seen.writes) > 0 {
				t.Errorf("a dry run wrote %q, and stored (-before +after):\n%s", seen.writes, diff)
			}
		}
	}
	after := w.dump(t)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("mended (-before +after):\n%s", diff)
	}
	if again := run(t, w.replayer(), whole, true); again.Same != documentsOfWorld {
		t.Errorf("again: %+v", again)
	}
}

// fixed is a converter that was changed: what it makes of a document is changed by it.
type fixed struct {
	replay.Converter
	planned func(*ingest.Planned)
	foreign func(*ingest.Converted)
}

func (f fixed) Planned(ctx context.Context, d inbox.Archived, body []byte) (*ingest.Planned, func(), error) {
	c, leave, err := f.Converter.Planned(ctx, d, body)
	if err == nil && f.planned != nil {
		f.planned(c)
	}
	return c, leave, err
}

func (f fixed) Foreign(ctx context.Context, d inbox.Archived, body []byte, parameters map[string]string) (*ingest.Converted, func(), error) {
	c, leave, err := f.Converter.Foreign(ctx, d, body, parameters)
	if err == nil && f.foreign != nil {
		f.foreign(c)
	}
	return c, leave, err
}

func TestRowsThatADocumentNoLongerMakesAreDeletedAndNoOthers(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	r := w.replayer()
	r.Converter = fixed{Converter: r.Converter, foreign: func(c *ingest.Converted) {
		if c.Format == "jmeter" { // one run fewer, and the other an hour later
			c.Results = c.Results[:1]
			c.Results[0].Slot = c.Results[0].Slot.Add(time.Hour)
		}
	}}
	got := run(t, r, whole, true)
	if got.Rows != (replay.Changes{Added: 1, Removed: 2}) || got.Differing != 1 || got.Latest.Any() || got.Files.Any() {
		t.Errorf("report %+v", got)
	}
	after := w.dump(t)
	added, gone := keysOnlyIn(after, before), keysOnlyIn(before, after)
	marks := slices.DeleteFunc(slices.Clone(added), func(k string) bool { return !strings.Contains(k, " hour ") })
	if len(gone) != 2 || len(added)-len(marks) != 1 || len(marks) != 1 {
		t.Errorf("gone are %q, new are %q", gone, added)
	}
	// The old converter again: as it was at first, the marks apart.
	if got := run(t, w.replayer(), whole, true); got.Rows != (replay.Changes{Added: 2, Removed: 1}) {
		t.Errorf("back: %+v", got)
	}
	if left := keysOnlyIn(before, w.dump(t)); len(left) > 0 {
		t.Errorf("not back: %q", left)
	}
}

// Unknown XML is kept as JSON beside it, which follows from the XML as rows do.
// When somebody knows by now what unknown XML says, it has rows and is no more kept as JSON.
func TestXMLThatIsKnownByNowHasRowsInPlaceOfJSON(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	r := w.replayer()
	r.Converter = fixed{Converter: r.Converter, foreign: func(c *ingest.Converted) {
		if c.Format == ingest.FormatXML {
			run := own(w.environment).Runs[0]
			c.Format, c.JSON = "known", nil
			c.Results = []result.Result{{Series: wire.Series{Environment: w.environment, Source: "office", Target: "westeurope", Path: "public", Probe: "ext.known"},
				Slot: slot.Add(-2 * time.Hour), Run: run, Tool: "known", Document: documentOf(before, ".xml")}}
		}
	}}
	for _, apply := range []bool{false, true} {
		if got := run(t, r, whole, apply); got.Rows != (replay.Changes{Added: 1}) || got.Files != (replay.Changes{Removed: 1}) || got.Differing != 1 {
			t.Errorf("apply %v: report %+v", apply, got)
		}
	}
	if gone := keysOnlyIn(before, w.dump(t)); len(gone) != 1 || !strings.HasSuffix(gone[0], ".xml.json") {
		t.Errorf("gone are %q", gone)
	}
	if again := run(t, r, whole, true); again.Same != documentsOfWorld {
		t.Errorf("again: %+v", again)
	}
}

// documentOf is the document whose name ends so.
func documentOf(dump map[string]string, ending string) string {
	for key := range dump {
		if strings.Contains(key, "/foreign/") && strings.HasSuffix(key, ending) {
			return key[strings.LastIndex(key, "raw-"):]
		}
	}
	return ""
}

func TestXMLAsJSONIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	r := w.replayer()
	r.Converter = fixed{Converter: r.Converter, foreign: func(c *ingest.Converted) {
		if c.Format == ingest.FormatXML {
			c.JSON = []byte(`{"made":"otherwise"}`)
		}
	}}
	before := w.dump(t)
	if got := run(t, r, whole, true); got.Differing != 1 || got.Rows.Any() || got.Files.Changed+got.Files.Added != 1 {
		t.Errorf("report %+v", got)
	}
	changed := keysOnlyIn(w.dump(t), before)
	if len(changed) != 1 || !strings.HasPrefix(changed[0], "blob raw-"+w.environment+"/foreign/date=2026-11-30/") || !strings.HasSuffix(changed[0], ".xml.json") {
		t.Errorf("changed are %q", changed)
	}
	if got := run(t, r, whole, true); got.Differing != 0 {
		t.Errorf("again: %+v", got)
	}
}

func keysOnlyIn(a, b map[string]string) (out []string) {
	for k, v := range a {
		if b[k] != v {
			out = append(out, k)
		}
	}
	return out
}

func TestNothingOfARefusedDocumentIsTouched(t *testing.T) {
	w := newWorld(t)
	// A conflict: it has a run in common with the foreign document that is stored.
	rival := own(w.environment)
	rival.Provenance.ProberVersion = "9"
	g := &ingest.Ingester{Environment: w.environment, Inbox: w.blobs, Archive: w.blobs, Rows: w.rows, Ledger: w.rows, Now: func() time.Time { return now }, Log: discard()}
	if _, err := g.Foreign(t.Context(), encode(t, rival), ingest.Parameters{}); err == nil {
		t.Fatal("the rival was not refused")
	}
	// A document of another sweep, under the name of one that was planned.
	azuritetest.Upload(t, w.account, "raw-"+w.environment, "documents/v=1/src=westeurope/date=2026-11-30/1030_"+strings.Repeat("b", 32)+".json.gz", zip(t, encode(t, own(w.environment))))
	azuritetest.Upload(t, w.account, "raw-"+w.environment, "documents/v=1/src=westeurope/date=2026-11-30/notes.txt", []byte("x"))
	before := w.dump(t)
	got := run(t, w.replayer(), whole, true)
	if got.Taken != 1 || got.RefusedCount != 2 || got.Same != documentsOfWorld || got.Documents != documentsOfWorld+3 {
		t.Errorf("report %+v", got)
	}
	var stages []string
	for _, r := range got.Refused {
		stages = append(stages, r.Stage)
	}
	if slices.Sort(stages); !slices.Equal(stages, []string{"name", "plan"}) {
		t.Errorf("refused: %+v", got.Refused)
	}
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
}

func TestTheScopeBoundsWhatIsReplayed(t *testing.T) {
	w := newWorld(t)
	hour := func(from, to time.Duration) replay.Scope { return replay.Scope{From: slot.Add(from), To: slot.Add(to)} }
	of := func(s replay.Scope, source string, formats ...string) replay.Scope {
		s.Source, s.Formats = source, formats
		return s
	}
	for what, c := range map[string]struct {
		scope replay.Scope
		want  int
	}{
		"the slot alone":         {hour(0, time.Minute), 4}, // XML that nobody can read has no time but its day
		"up to the slot":         {hour(-time.Minute, 0), 1},
		"the foreign runs' hour": {hour(-time.Hour, -time.Hour+time.Second), 3},
		"another day":            {hour(24*time.Hour, 48*time.Hour), 0},
		"a source":               {of(whole, "northeurope"), 1},
		"a foreign source":       {of(whole, "office"), 2},
		"our own format":         {of(whole, "", "isochrone"), 4},
		"unknown XML":            {of(whole, "", "xml"), 1},
		"a tool":                 {of(whole, "", "jmeter"), 1},
		"two formats":            {of(whole, "", "xml", "isochrone"), 5},
		"another format":         {of(whole, "", "iperf3"), 0},
	} {
		if got := run(t, w.replayer(), c.scope, false); got.Documents != c.want || got.Same != c.want {
			t.Errorf("%s: %+v, want %d documents", what, got, c.want)
		}
	}
}

// Tables can be lost, and are made again of documents, plans and parameters alone.
func TestEverythingIsRebuiltFromDocumentsAlone(t *testing.T) {
	w := newWorld(t)
	before := w.dump(t)
	for key := range before {
		fields := strings.SplitN(key, " ", 4)
		if fields[0] == "row" && (strings.HasPrefix(fields[1], "runs") || strings.HasPrefix(fields[1], "latest")) {
			azuritetest.Delete(t, w.account, fields[1], fields[2], fields[3])
		}
	}
	got := run(t, w.replayer(), whole, true)
	if got.Rows != (replay.Changes{Added: 7}) || got.Latest != (replay.Changes{Added: 3}) || got.Files.Any() {
		t.Errorf("report %+v", got)
	}
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("rebuilt (-before +after):\n%s", diff)
	}
}

// Rows of runs that expired have no document. Nothing of them is touched, nor is a newer newest run.
func TestExpiredRunsAndNewerRunsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	later := run(t, w.replayer(), whole, false)
	if later.Same != documentsOfWorld {
		t.Fatal("nothing to compare with")
	}
	series := wire.Series{Environment: w.environment, Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"}
	addExpired(t, w, series, slot.Add(10*time.Minute))
	before := w.dump(t)
	if got := run(t, w.replayer(), whole, true); got.Same != documentsOfWorld {
		t.Errorf("report %+v", got)
	}
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
}

func TestProgressComesToTheWholeOfEachDay(t *testing.T) {
	w := newWorld(t)
	r := w.replayer()
	var last replay.Progress
	var lock sync.Mutex
	r.Progress = func(p replay.Progress) {
		lock.Lock()
		defer lock.Unlock()
		if p.Documents >= last.Documents || p.Days > last.Days {
			last = p
		}
	}
	scope := whole
	scope.From = scope.From.AddDate(0, 0, -1)
	run(t, r, scope, false)
	if want := (replay.Progress{Day: whole.From, Days: 1, Of: 2, Documents: documentsOfWorld, OfDay: documentsOfWorld}); last != want {
		t.Errorf("at the end %+v, want %+v", last, want)
	}
}
