package stack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

// printed is what a tool printed, what it is sent with, and what it comes to.
type printed struct {
	name    string // format/file
	format  string
	body    []byte
	with    ingest.Parameters
	want    *ingest.Converted
	refused *ingest.Refused // instead of want
}

// printedByTools are the samples of every format, each with a probe of its own: those that become rows, and
// those that do not.
func printedByTools(t *testing.T, environment, prefix string) (taken, refused []printed) {
	t.Helper()
	g := &ingest.Ingester{Environment: environment, Now: time.Now}
	root := filepath.Join(built.root, "sweep", "convert", "foreign", "testdata")
	for _, f := range foreign.Formats() {
		files, err := filepath.Glob(filepath.Join(root, f.Name, "*.golden"))
		if err != nil {
			t.Fatal(err)
		}
		before := len(taken)
		for _, golden := range files {
			name := strings.TrimSuffix(golden, ".golden")
			p := printed{name: f.Name + "/" + filepath.Base(name), format: f.Name, body: readFile(t, name)}
			p.with = parametersFor(&p, fmt.Sprintf("%s%d", prefix, len(taken)))
			p.want, err = g.Convert(t.Context(), p.body, p.with)
			if err == nil {
				taken = append(taken, p)
			} else if !errors.As(err, &p.refused) {
				t.Errorf("%s with %+v: %v", p.name, p.with, err)
			} else if !bytes.HasPrefix(readFile(t, golden), []byte("refused: ")) && !strings.Contains(p.refused.Reason, "the time ") {
				t.Errorf("%s with %+v is refused, and holds runs: %v", p.name, p.with, err) // only the time that it tells may be a reason
			} else {
				refused = append(refused, p)
			}
		}
		if len(taken) == before {
			t.Errorf("%s has no sample that becomes rows", f.Name)
		}
	}
	return taken, refused
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// parametersFor are those that a document needs: names for the hosts that it tells apart, and none for
// what it says itself.
func parametersFor(of *printed, probe string) ingest.Parameters {
	p := ingest.Parameters{Source: "westeurope", Target: "northeurope", Path: "public", Probe: probe, At: "2026-11-28T10:00:00Z"}
	d, err := foreign.Recognise(of.body[:min(len(of.body), foreign.HeadBytes)]).Read(bytes.NewReader(of.body))
	if err != nil {
		return p // it is refused, whatever it comes with
	}
	hosts, some := map[string][]string{}, map[string]bool{}
	for _, f := range d.Findings {
		for _, end := range []struct {
			name, host, said string
			at               *string
		}{{"s", f.From, f.Source, &p.Source}, {"t", f.To, f.Target, &p.Target}} {
			if end.said != "" {
				*end.at = ""
			} else if end.host == "" {
				some[end.name] = true
			} else if !slices.Contains(hosts[end.name], end.host) {
				hosts[end.name] = append(hosts[end.name], end.host)
			}
		}
		if f.Path != "" {
			p.Path = ""
		}
		if f.Probe != "" {
			p.Probe = ""
		}
	}
	for name, at := range map[string]*string{"s": &p.Source, "t": &p.Target} {
		if len(hosts[name]) < 2 || some[name] { // one name for all, also for who has no host
			continue
		}
		var list []string
		for i, host := range hosts[name] {
			list = append(list, fmt.Sprintf("%s=%s%d", host, name, i))
		}
		*at = strings.Join(list, ",")
	}
	return p
}

// answer is what Results says of a document that it takes.
type answer struct {
	Stored    bool   `json:"stored"`
	Document  string `json:"document"`
	Rows      int    `json:"rows"`
	Format    string `json:"format"`
	LeftCount int    `json:"left_out_count"`
}

// handed is what Results answers to what a tool printed.
func handed(t *testing.T, s *stack.Stack, p *printed) (status int, text []byte) {
	t.Helper()
	query := url.Values{}
	for name, value := range p.with.Meta() {
		query.Set(name, value)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Host.URL()+"/api/results?"+query.Encode(), bytes.NewReader(p.body))
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	req.Header.Set("x-functions-key", s.Host.FunctionKey("Results"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err = io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, text
}

// handAll posts documents, several at once, and returns the answers in order.
func handAll(t *testing.T, s *stack.Stack, all []printed) []answer {
	t.Helper()
	answers := make([]answer, len(all))
	var senders sync.WaitGroup
	at := make(chan int)
	for range 4 {
		senders.Go(func() {
			for i := range at {
				status, text := handed(t, s, &all[i])
				if err := json.Unmarshal(text, &answers[i]); err != nil || status != http.StatusCreated {
					t.Errorf("%s with %+v is answered with %d: %s", all[i].name, all[i].with, status, text)
				}
			}
		})
	}
	for i := range all {
		at <- i
	}
	close(at)
	senders.Wait()
	return answers
}

// everyRow reads all rows that are stored, by their keys.
func everyRow(t *testing.T, s *stack.Stack) map[string]tables.Row {
	t.Helper()
	out := map[string]tables.Row{}
	for r, err := range s.Tables.Runs(t.Context(), tables.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		out[keyOf(r.Series, r.Slot)] = r
	}
	return out
}

func keyOf(series wire.Series, slot time.Time) string {
	return fmt.Sprintf("%s|%s", series, slot.UTC().Format(time.RFC3339))
}

// checkRows holds the rows of a document against what the document was converted to.
func checkRows(t *testing.T, p *printed, document string, rows map[string]tables.Row) {
	t.Helper()
	for i := range p.want.Results {
		r := p.want.Results[i]
		r.Document = document
		want := tables.RowOf(&r)
		if tcp := want.TCPInfo; tcp != nil && tcp.Retransmits == foreign.Unknown { // the column is absent, and a Row has no null for it
			known := *tcp
			known.Retransmits, want.TCPInfo = 0, &known
		}
		for _, at := range []*time.Time{&want.PlannedStart, want.Start, want.End} {
			if at != nil {
				*at = at.UTC().Truncate(100 * time.Nanosecond) // as the tables keep it
			}
		}
		got, ok := rows[keyOf(r.Series, r.Slot)]
		if !ok {
			t.Errorf("%s: no row of %s at %s", p.name, r.Series, r.Slot)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: row of %s (-converted +stored):\n%s", p.name, r.Series, diff)
		}
	}
}

// checkArchive looks for the body byte for byte, and for the parameters beside it.
func checkArchive(t *testing.T, p *printed, document string, raw map[string][]byte) {
	t.Helper()
	_, name, _ := strings.Cut(document, "/")
	if body, ok := raw[name]; !ok || !bytes.Equal(body, p.body) {
		t.Errorf("%s: %q holds %.60q", p.name, document, body)
	}
	stem, _, _ := strings.Cut(name, ".")
	var with map[string]string
	if err := json.Unmarshal(raw[stem+".meta.json"], &with); err != nil || !cmp.Equal(with, p.with.Meta()) {
		t.Errorf("%s: the parameters beside it are %q (%v), want %v", p.name, raw[stem+".meta.json"], err, p.with.Meta())
	}
}

func TestWhatToolsPrintBecomesRowsThroughResults(t *testing.T) {
	s := start(t, testConfig("f1", fiveRegions[:2], 20*time.Second, 10*time.Second), func(o *stack.Options) {
		o.IngestSchedule = "0 0 0 1 1 *" // only when the test fires it
	})
	all, refused := printedByTools(t, "f1", "http-")
	runs := 0
	answers := handAll(t, s, all)
	rows, raw := everyRow(t, s), blobs(t, s, "raw-f1", "foreign/")
	for i := range all {
		p, a := &all[i], answers[i]
		runs += len(p.want.Results)
		if !a.Stored || a.Rows != len(p.want.Results) || a.Format != p.format || a.LeftCount != p.want.LeftCount {
			t.Errorf("%s: answered %+v, want %d rows and %d parts left out", p.name, a, len(p.want.Results), p.want.LeftCount)
		}
		checkRows(t, p, a.Document, rows)
		checkArchive(t, p, a.Document, raw)
	}
	if len(rows) != runs || len(raw) != 2*len(all) {
		t.Errorf("%d rows and %d blobs of %d documents with %d runs", len(rows), len(raw), len(all), runs)
	}
	t.Logf("%d documents of %d formats, %d rows; %d are refused", len(all), len(foreign.Formats()), runs, len(refused))

	if again := handAll(t, s, all); !cmp.Equal(answers, again) {
		t.Errorf("sent again (-first +second):\n%s", cmp.Diff(answers, again))
	}
	if diff := cmp.Diff(rows, everyRow(t, s)); diff != "" {
		t.Errorf("sent again, the rows differ:\n%s", diff)
	}
	if diff := cmp.Diff(raw, blobs(t, s, "raw-f1", "foreign/")); diff != "" {
		t.Errorf("sent again, the blobs differ:\n%s", diff)
	}
	checkUntouched(t, s)

	for i := range refused {
		p := &refused[i]
		resp, text := handed(t, s, p)
		var said struct{ Error, Where string }
		if err := json.Unmarshal(text, &said); err != nil || resp != p.refused.Status || said.Error == "" || !strings.Contains(p.refused.Reason, said.Error) {
			t.Errorf("%s is answered with %d %s, want %d: %s", p.name, resp, text, p.refused.Status, p.refused.Reason)
		}
	}
	if n := len(everyRow(t, s)); n != runs {
		t.Errorf("of refused documents %d rows are stored", n-runs)
	}
}

// The same documents come by way of the inbox, where somebody laid them with what they need.
func TestWhatToolsPrintBecomesRowsThroughTheInbox(t *testing.T) {
	s := start(t, testConfig("f2", fiveRegions[:2], 20*time.Second, 10*time.Second), nil)
	all, _ := printedByTools(t, "f2", "inbox-")
	sums := make([]string, len(all))
	for i := range all {
		it, _, err := s.Archive.DropForeign(t.Context(), all[i].body, all[i].with.Meta())
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = strings.TrimPrefix(it.Name, wire.InboxForeignFolder+"/")
	}
	waitUntil(t, 2*time.Minute, "the inbox is empty", func() bool { return len(blobs(t, s, "inbox-f2", "")) == 0 })
	rows, raw := everyRow(t, s), blobs(t, s, "raw-f2", "foreign/")
	documents := map[string]string{} // by the sum
	for name := range raw {
		if sum, ext, _ := strings.Cut(filepath.Base(name), "."); ext != "meta.json" {
			documents[sum] = "raw-f2/" + name
		}
	}
	runs := 0
	for i := range all {
		runs += len(all[i].want.Results)
		checkRows(t, &all[i], documents[sums[i]], rows)
		checkArchive(t, &all[i], documents[sums[i]], raw)
	}
	if len(rows) != runs || len(documents) != len(all) {
		t.Errorf("%d rows of %d documents, want %d of %d", len(rows), len(documents), runs, len(all))
	}
	checkUntouched(t, s)
}

// checkUntouched looks at what foreign documents have no part in.
func checkUntouched(t *testing.T, s *stack.Stack) {
	t.Helper()
	latest, err := s.Tables.Latest(t.Context(), "", "")
	if err != nil || len(latest) != 0 {
		t.Errorf("%d rows in latest, want none (%v)", len(latest), err)
	}
	for _, container := range []string{"inbox-", "quarantine-"} {
		for name := range blobs(t, s, container+s.Environment(), "") {
			t.Errorf("%s%s holds %s", container, s.Environment(), name)
		}
	}
	for _, folder := range []string{"documents/", "samples/", "intervals/"} {
		if n := len(blobs(t, s, "raw-"+s.Environment(), folder)); n != 0 {
			t.Errorf("%d blobs in %s, want none", n, folder)
		}
	}
}
