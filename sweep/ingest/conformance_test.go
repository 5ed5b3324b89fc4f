package ingest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

// stores is all that a dispatcher and an ingester work on.
type stores interface {
	dispatch.Mailbox
	dispatch.Ledger
	dispatch.Rows
	ingest.Inbox
	ingest.Archive
	ingest.Rows
}

// world is a kind of stores, what the tests do to it from outside, and what they look at.
type world struct {
	stores
	environment string
	configure   func(body []byte)
	register    func(prober string, body []byte)
	deliver     func(name string, body []byte)
	look        func() []string
}

func memory(environment string) world {
	s := storetest.New(environment)
	deliver := func(name string, body []byte) { s.Deliver(name, body, slot) }
	return world{s, environment, s.SetConfig, s.Register, deliver, func() (lines []string) {
		for what, names := range map[string][]string{"document": s.Documents(), "samples": s.Samples(), "foreign": s.Foreign()} {
			for _, name := range names {
				lines = append(lines, what+" "+name)
			}
		}
		for _, name := range s.Quarantined() {
			lines = append(lines, "quarantine "+undated(name))
		}
		for _, r := range s.Rows() {
			lines = append(lines, "row "+rowLine(r.Series, r.Slot, r.Run.Failure, r.Attempt, r.Document, r.Run.Counts))
		}
		for _, r := range s.Latest() {
			lines = append(lines, "latest "+rowLine(r.Series, r.Slot, r.Run.Failure, r.Attempt, r.Document, r.Run.Counts))
		}
		return lines
	}}
}

// Both have names of their own, so that the two stores can be one value.
type (
	archiveStore struct{ *archive.Store }
	tableStore   struct{ *tables.Store }
)

func azure(t *testing.T) world {
	t.Helper()
	a, environment := azuritetest.Environment(t)
	blobs, err := archive.Open(a, environment)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tables.Open(a, environment)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(blobs.Ensure(t.Context()), rows.Ensure(t.Context(), slot)); err != nil {
		t.Fatal(err)
	}
	both := struct {
		*archiveStore
		*tableStore
	}{&archiveStore{blobs}, &tableStore{rows}}
	return world{both, environment,
		func(body []byte) {
			if err := blobs.PutConfig(t.Context(), body); err != nil {
				t.Fatal(err)
			}
		},
		func(prober string, body []byte) {
			azuritetest.Upload(t, a, wire.ProbersContainer(environment), wire.RegistrationBlob(prober), body)
		},
		func(name string, body []byte) { azuritetest.Upload(t, a, wire.InboxContainer(environment), name, body) },
		func() []string { return lookAt(t, blobs, rows) }}
}

func lookAt(t *testing.T, blobs *archive.Store, rows *tables.Store) (lines []string) {
	t.Helper()
	for kind, what := range map[archive.Kind]string{archive.Documents: "document", archive.Samples: "samples", archive.Intervals: "samples", archive.Foreign: "foreign", archive.Quarantined: "quarantine"} {
		for b, err := range blobs.Blobs(t.Context(), kind, time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			name := b.Name
			if kind == archive.Quarantined {
				name = undated(name)
			}
			lines = append(lines, what+" "+name)
		}
	}
	newest, err := rows.Latest(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for what, all := range map[string]iter.Seq2[tables.Row, error]{"row": rows.Runs(t.Context(), tables.RunQuery{}),
		"latest": func(yield func(tables.Row, error) bool) {
			for _, r := range newest {
				if !yield(r, nil) {
					return
				}
			}
		}} {
		for r, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, what+" "+rowLine(r.Series, r.Slot, r.Failure, r.Attempt, r.Document, r.Counts))
		}
	}
	return lines
}

// undated is the name of a quarantined blob without its day, which is that of its arrival.
func undated(name string) string {
	container, rest, _ := strings.Cut(name, "/date=")
	return container + rest[len(time.DateOnly):]
}

func rowLine(s wire.Series, at time.Time, failure wire.Failure, attempt, document string, c wire.Counts) string {
	return fmt.Sprintf("%s %s %s %s %s %+v", s, at.UTC().Format(time.RFC3339), failure, attempt, document, c)
}

// The same whole sweep on the fake and on the real stores.
func TestTheFakeAndTheRealStoresEndInTheSameState(t *testing.T) {
	genuine := azure(t)
	got, want := realSweep(t, genuine), realSweep(t, memory(genuine.environment))
	if len(want) != 38 {
		t.Errorf("the state has %d lines: want 13 rows, 12 newest, 4 documents with samples, 1 foreign, 2 in quarantine, the ledger", len(want))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("state (-fake +real):\n%s", diff)
	}
}

// realSweep is wholeSweep without faults, on any stores.
func realSweep(t *testing.T, w world) (lines []string) {
	t.Helper()
	b := &bench{now: slot.Add(time.Second)}
	w.configure([]byte(strings.Replace(configuration, environment, w.environment, 1)))
	for id := range addresses {
		w.register(id, registration(t, w.environment, id, b.clock()))
	}
	d := &dispatch.Dispatcher{Environment: w.environment, Mailbox: w, Ledger: w, Rows: w, Resolver: net.DefaultResolver,
		Now: b.clock, Log: slog.New(slog.DiscardHandler), NewSeed: func() wire.Key { return wire.Key{1, 2, 3} }}
	g := &ingest.Ingester{Environment: w.environment, Inbox: w, Archive: w, Rows: w, Ledger: w, Now: b.clock, Log: slog.New(slog.DiscardHandler)}
	drain := func(want ingest.Report) {
		t.Helper()
		if got, err := g.Drain(t.Context()); err != nil || got != want {
			t.Errorf("report %+v, error %v: want %+v", got, err, want)
		}
	}
	deliver := func(d *wire.Document) {
		t.Helper()
		w.deliver(wire.InboxBlob(d.Source, d.Slot, d.Assignment, d.Attempt), pack(t, d))
	}
	told := func(prober, attempt string) map[string]*wire.Document {
		t.Helper()
		body, _, err := w.ReadCurrent(t.Context(), prober)
		if err != nil {
			t.Fatal(err)
		}
		return documents(t, body, attempt)
	}
	if _, err := d.Sweep(t.Context(), slot, nil); err != nil {
		t.Fatal(err)
	}
	westDocuments, northDocuments := told("westeurope", "0000000a"), told("northeurope", "0000000b")
	deliver(westDocuments["tcp-64"])
	deliver(westDocuments["connect"])
	deliver(northDocuments["tcp-64"])
	drain(ingest.Report{Listed: 3, Received: 3, Rows: 6, Samples: 2*4 + 2*3 + 2*4})
	deliver(westDocuments["tcp-64"]) // the same again
	second := *westDocuments["tcp-64"]
	second.Attempt = "0000000c"
	deliver(&second)
	w.deliver("northeurope/rubbish", []byte("rubbish"))
	drain(ingest.Report{Listed: 3, Received: 1, Quarantined: 2, Rows: 2, Samples: 8})
	foreign := foreignDocument(b.clock())
	foreign.Environment = w.environment
	for range 2 {
		if out, err := g.Foreign(t.Context(), pack(t, foreign), ingest.Parameters{Probe: "mine"}); err != nil || !out.Stored {
			t.Errorf("foreign: %+v, %v", out, err)
		}
	}
	b.sleep(time.Hour)
	if report, err := d.Resume(t.Context()); err != nil || report.Expired != 6 || report.Closed != 1 {
		t.Errorf("resumed: %+v, %v", report, err)
	}
	deliver(northDocuments["connect"]) // late
	drain(ingest.Report{Listed: 1, Received: 1, Rows: 2, Samples: 6})
	drain(ingest.Report{})

	header, entries, _, err := w.Sweep(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(entries, func(a, b ledger.Entry) int {
		return cmp.Or(cmp.Compare(a.Key.Source, b.Key.Source), cmp.Compare(a.Key.Probe, b.Key.Probe))
	})
	lines = append(w.look(), fmt.Sprintf("header %+v", header), fmt.Sprintf("entries %+v", entries))
	slices.Sort(lines)
	return lines
}

// What the interfaces' comments promise, of the fake and of the real stores.
func TestTheStoresKeepTheirPromises(t *testing.T) {
	genuine := azure(t)
	for name, w := range map[string]world{"fake": memory(genuine.environment), "real": genuine} {
		t.Run(name, func(t *testing.T) {
			t.Run("an attempt is counted for one", func(t *testing.T) { oneTakes(t, w) })
			t.Run("what is too large is taken and cut", func(t *testing.T) { largeIsCut(t, w) })
			t.Run("a foreign document is one item", func(t *testing.T) { foreignIsOne(t, w) })
			t.Run("one document an assignment", func(t *testing.T) { oneDocument(t, w) })
			t.Run("quarantine keeps the first", func(t *testing.T) { quarantineAgain(t, w) })
		})
	}
}

func list(t *testing.T, w world) (items []inbox.Item) {
	t.Helper()
	for it, err := range w.Inbox(t.Context(), 1000) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

func take(t *testing.T, w world, it inbox.Item, want bool) (inbox.Item, []byte) {
	t.Helper()
	taken, body, ok, err := w.Take(t.Context(), it)
	if err != nil || ok != want {
		t.Fatalf("taking %+v: %v, %v: want %v", it, ok, err, want)
	}
	return taken, body
}

func oneTakes(t *testing.T, w world) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w.deliver("westeurope/x.json.gz", []byte("body"))
	listed := list(t, w)
	if len(listed) != 1 || listed[0].Name != "westeurope/x.json.gz" || listed[0].Size != 4 || listed[0].Attempts != 0 || listed[0].Created.IsZero() || listed[0].Meta != nil {
		t.Fatalf("listed are %+v", listed)
	}
	first, body := take(t, w, listed[0], true)
	if string(body) != "body" || first.Attempts != 1 || first.ETag == listed[0].ETag || !first.Created.Equal(listed[0].Created) {
		t.Errorf("taken: %+v, %q", first, body)
	}
	take(t, w, listed[0], false) // as somebody else listed it
	second, _ := take(t, w, list(t, w)[0], true)
	if second.Attempts != 2 {
		t.Errorf("taken again: %+v", second)
	}
	check(w.Remove(t.Context(), first))  // not theirs any more
	check(w.Release(t.Context(), first)) // nor to be given back
	if listed = list(t, w); len(listed) != 1 || listed[0].Attempts != 2 {
		t.Fatalf("then listed are %+v", listed)
	}
	check(w.Release(t.Context(), second))
	if listed = list(t, w); len(listed) != 1 || listed[0].Attempts != 1 {
		t.Fatalf("given back, listed are %+v", listed)
	}
	third, _ := take(t, w, listed[0], true)
	check(w.Remove(t.Context(), third))
	check(w.Remove(t.Context(), third))
	check(w.Release(t.Context(), third))
	take(t, w, third, false)
	if listed = list(t, w); len(listed) != 0 {
		t.Errorf("removed, listed are %+v", listed)
	}
}

func largeIsCut(t *testing.T, w world) {
	w.deliver("westeurope/large", bytes.Repeat([]byte{'x'}, wire.MaxDocumentBytes+1))
	it, body, ok, err := w.Take(t.Context(), list(t, w)[0])
	if !errors.Is(err, inbox.ErrTooLarge) || !ok || len(body) != wire.MaxDocumentBytes || it.Attempts != 1 || it.Size != wire.MaxDocumentBytes+1 {
		t.Fatalf("%+v, %d bytes, %v, %v", it, len(body), ok, err)
	}
	if err := w.Remove(t.Context(), it); err != nil || len(list(t, w)) != 0 {
		t.Errorf("removing it: %v", err)
	}
}

func foreignIsOne(t *testing.T, w world) {
	meta := map[string]string{"probe": "mine", "note": "text/ü"}
	drop := func(body string, meta map[string]string, fresh bool) inbox.Item {
		t.Helper()
		it, taken, err := w.DropForeign(t.Context(), []byte(body), meta)
		if err != nil || taken != fresh || it.Attempts != 1 || !strings.HasPrefix(it.Name, "_http/") || it.Created.IsZero() {
			t.Fatalf("%+v, %v", it, err)
		}
		return it
	}
	first, again, other := drop("body", meta, true), drop("body", meta, false), drop("body", map[string]string{"probe": "yours"}, true)
	if first.Name != again.Name || first.ETag != again.ETag || other.Name == first.Name || len(list(t, w)) != 2 {
		t.Errorf("%+v\n%+v\n%+v", first, again, other)
	}
	for _, it := range []inbox.Item{first, other} {
		taken, body := take(t, w, it, true)
		if it.Name == first.Name && (string(body) != "body" || !gocmp.Equal(taken.Meta, meta)) {
			t.Errorf("taken: %+v, %q", taken, body)
		}
		for _, listed := range list(t, w) { // the parameters outlive the counting
			if listed.Name == first.Name && !gocmp.Equal(listed.Meta, meta) {
				t.Errorf("listed: %+v", listed)
			}
		}
		if err := w.Remove(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
	}
}

func oneDocument(t *testing.T, w world) {
	id := wire.AssignmentID(w.environment, slot, "westeurope", "tcp-64", 0)
	var names []string
	for _, c := range []struct {
		body string
		want inbox.Outcome
	}{{"a", inbox.Stored}, {"a", inbox.Same}, {"b", inbox.Conflict}, {"a", inbox.Same}} {
		name, o, err := w.PutDocument(t.Context(), "westeurope", slot, id, []byte(c.body))
		if err != nil || o != c.want {
			t.Errorf("storing %q: %v, %v: want %v", c.body, o, err, c.want)
		}
		names = append(names, name)
	}
	want := fmt.Sprintf("raw-%s/documents/v=1/src=westeurope/date=2026-11-30/1020_%s.json.gz", w.environment, id)
	if names = slices.Compact(names); len(names) != 1 || names[0] != want {
		t.Errorf("names are %q: want %q", names, want)
	}
}

func quarantineAgain(t *testing.T, w world) {
	var names []string
	for range 2 {
		name, err := w.Quarantine(context.Background(), slot, "westeurope/x", []byte("body"), "bin", inbox.Reason{Origin: "westeurope/x", Stage: "test", Text: "why"})
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if names[0] != names[1] || !strings.HasPrefix(names[0], "quarantine-"+w.environment+"/date=2026-11-30/") {
		t.Errorf("names are %q", names)
	}
}
