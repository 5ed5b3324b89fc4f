package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/encoding/unicode"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/tables"
)

// functionKey is the key with which these tests send; nothing may repeat it.
const functionKey = "a-key-that-nobody-may-see"

// sample is what a tool printed.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "sweep", "convert", "foreign", "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// send posts a body with parameters, and with the key in both of its places. The parameters are a query.
func (s stored) send(t *testing.T, query string, body []byte, header ...string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q.Set("code", functionKey)
	w := post(s.app, "/api/results?"+q.Encode(), string(body), append(header, "x-functions-key", functionKey)...)
	return w, decode(t, w)
}

// rowsOf are the rows of a foreign probe.
func (s stored) rowsOf(t *testing.T, probe string) (out []tables.Row) {
	t.Helper()
	for row, err := range s.rows.Runs(t.Context(), tables.RunQuery{Probe: probe}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

const names = "source=westeurope&target=northeurope&path=public"

func TestWhatToolsPrintIsTakenWithTheNamesOfTheQuery(t *testing.T) {
	s := onStorage(t)
	const at = "&at=2026-11-29T10:00:00Z"
	for name, c := range map[string]struct {
		sample, query, format, probe string
		rows                         int
		check                        func(t *testing.T, rows []tables.Row)
	}{
		"a document that says when": {"iperf3/tcp.json", names, "iperf3", "ext.iperf3", 1, func(t *testing.T, rows []tables.Row) {
			up := rows[0].Bulk.Throughput.UpBPS
			if up == nil || *up != 10013137199.383339 || !rows[0].Slot.Equal(time.Unix(1796031268, 0)) {
				t.Errorf("throughput %v at %s", up, rows[0].Slot)
			}
		}},
		"one that does not": {"mtr/hops.xml", names + at, "mtr", "ext.mtr", 1, func(t *testing.T, rows []tables.Row) {
			r := &rows[0]
			if r.MeanUS == nil || *r.MeanUS != 28_600 || *r.MinUS != 15_900 || *r.MaxUS != 48_500 || *r.StddevUS != 14_300 || !r.Slot.Equal(time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("row %+v", r)
			}
		}},
		"hosts told apart, a probe named": {"fping/json-c.json", "source=westeurope&target=192.0.2.1=northeurope,192.0.2.2=eastus&path=vpn&probe=nightly" + at, "fping", "ext.nightly", 2,
			func(t *testing.T, rows []tables.Row) {
				for _, r := range rows {
					if want := map[string]float64{"northeurope": 10_400, "eastus": 102_000}[r.Series.Target]; r.MaxUS == nil || *r.MaxUS != want || r.Series.Path != "vpn" {
						t.Errorf("%s: slowest %v, want %g", r.Series, r.MaxUS, want)
					}
				}
			}},
		"a measurement that failed": {"iperf3/refused.json", names + at + "&probe=refused", "iperf3", "ext.refused", 1, func(t *testing.T, rows []tables.Row) {
			if r := &rows[0]; r.Failure != wire.FailureRefused || r.Bulk.Throughput.UpBPS != nil {
				t.Errorf("row %+v", r)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := s.send(t, c.query, sample(t, c.sample))
			if w.Code != http.StatusCreated || got["format"] != c.format || got["rows"] != float64(c.rows) || got["left_out"] != nil || got["stored"] != true {
				t.Fatalf("answered %d %v", w.Code, got)
			}
			rows := s.rowsOf(t, c.probe)
			if len(rows) != c.rows {
				t.Fatalf("%d rows, want %d", len(rows), c.rows)
			}
			for _, r := range rows {
				if r.Document != got["document"] || r.Tool == "" || r.Assignment != "" {
					t.Errorf("row %+v", r)
				}
			}
			c.check(t, rows)
			if w, again := s.send(t, c.query, sample(t, c.sample)); w.Code != http.StatusCreated || !cmp.Equal(got, again) {
				t.Errorf("sent again, answered %d %v", w.Code, again)
			}
			if diff := cmp.Diff(rows, s.rowsOf(t, c.probe)); diff != "" {
				t.Errorf("sent again, the rows differ:\n%s", diff)
			}
		})
	}
	if latest, err := s.rows.Latest(t.Context(), "", ""); err != nil || len(latest) != 0 {
		t.Errorf("%d rows in latest, want none (%v)", len(latest), err)
	}
	s.keyUnseen(t)
}

// What Logic Apps and others make of a document on its way changes nothing of what it says.
func TestWrappedDocumentsComeToTheSameRow(t *testing.T) {
	s := onStorage(t)
	plain := sample(t, "mtr/hops.json")
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	packed := base64.StdEncoding.EncodeToString(plain)
	envelope, err := json.Marshal(map[string]string{"$content-type": "application/octet-stream", "$content": packed})
	if err != nil {
		t.Fatal(err)
	}
	var want tables.Row
	for i, c := range []struct {
		name, contentType string
		body              []byte
	}{
		{"plain", "application/json", plain},
		{"octets", "application/octet-stream", plain},
		{"mark", "application/octet-stream", append([]byte("\uFEFF"), plain...)},
		{"utf16", "application/octet-stream", wide},
		{"base64", "text/plain", []byte(packed)},
		{"envelope", "application/json", envelope},
	} {
		w, got := s.send(t, names+"&at=2026-11-29T10:00:00Z&probe="+c.name, c.body, "Content-Type", c.contentType)
		if w.Code != http.StatusCreated || got["format"] != "mtr" || got["rows"] != 1.0 {
			t.Errorf("%s: answered %d %v", c.name, w.Code, got)
			continue
		}
		rows := s.rowsOf(t, "ext."+c.name)
		if len(rows) != 1 {
			t.Fatalf("%s: %d rows, want 1", c.name, len(rows))
		}
		if i == 0 {
			want = rows[0]
		}
		if diff := cmp.Diff(want, rows[0], cmpopts.IgnoreFields(tables.Row{}, "Document", "Series.Probe")); diff != "" {
			t.Errorf("%s (-plain +wrapped):\n%s", c.name, diff)
		}
		if kept := s.blob(t, got["document"]); !bytes.Equal(kept, c.body) {
			t.Errorf("%s: kept is %.60q", c.name, kept)
		}
	}
	s.keyUnseen(t)
}

// blob is what an answer says that it is kept in.
func (s stored) blob(t *testing.T, name any) []byte {
	t.Helper()
	text, _ := name.(string)
	body, found, err := s.blobs.ReadDocument(t.Context(), text)
	if err != nil || !found {
		t.Fatalf("document %q: found %v, %v", text, found, err)
	}
	return body
}

func TestADamagedDocumentIsTakenAndSaysWhatIsLeftOut(t *testing.T) {
	s := onStorage(t)
	w, got := s.send(t, names, sample(t, "jmeter/cut.jtl"))
	left, _ := got["left_out"].([]any)
	if w.Code != http.StatusCreated || got["format"] != "jmeter" || got["left_out_count"] != 1.0 || len(left) != 1 {
		t.Fatalf("answered %d %v", w.Code, got)
	}
	first := left[0].(map[string]any)
	if reason, _ := first["reason"].(string); first["line"] != 225.0 || first["byte"] != 20000.0 || !strings.Contains(reason, "the text ends before the end") {
		t.Errorf("left out is %v", first)
	}
	n := 0
	for row, err := range s.rows.Runs(t.Context(), tables.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; len(row.Noise.Degraded) != 1 || row.Noise.Degraded[0] != "damaged" {
			t.Errorf("%s: degraded says %q", row.Series, row.Noise.Degraded)
		}
	}
	if float64(n) != got["rows"] || n == 0 {
		t.Errorf("%d rows, the answer says %v", n, got["rows"])
	}
}

func TestToolsDocumentsAreRefusedWithTheRemedy(t *testing.T) {
	s := onStorage(t)
	var formats []string
	for _, f := range foreign.Formats() {
		formats = append(formats, f.Name)
	}
	for name, c := range map[string]struct {
		query, body string
		status      int
		says        []string // in error, where or remedy
		not         []string
	}{
		"unknown": {names, "hello", http.StatusUnsupportedMediaType, append(formats, "none of the formats that are known"), nil},
		"nothing named": {"", string(sample(t, "iperf3/refused.json")), http.StatusUnprocessableEntity,
			[]string{"its source", "its target", "its path", "when it was measured", "query parameters: source, target, path, at"}, nil},
		"no path": {"source=westeurope&target=northeurope&at=2026-11-29T10:00:00Z", string(sample(t, "iperf3/refused.json")), http.StatusUnprocessableEntity,
			[]string{"its path", "query parameters: path"}, []string{"source", "target", "when"}},
		"a host that is not named": {"source=westeurope&target=192.0.2.1=northeurope&path=public&at=2026-11-29T10:00:00Z", string(sample(t, "fping/json-c.json")), http.StatusUnprocessableEntity,
			[]string{"192.0.2.2", "query parameters: target"}, nil},
		"two hosts of one name":     {names + "&at=2026-11-29T10:00:00Z", string(sample(t, "fping/json-c.json")), http.StatusUnprocessableEntity, []string{"192.0.2.1=NAME,192.0.2.2=NAME"}, nil},
		"a contradiction":           {"path=vpn", string(sample(t, "iperf3/tcp-bidir-2streams-omit.json")), http.StatusUnprocessableEntity, []string{`path is given as "vpn", and the document says "public"`}, nil},
		"ahead of the clock":        {names + "&at=2999-01-01T00:00:00Z", string(sample(t, "iperf3/refused.json")), http.StatusUnprocessableEntity, []string{"ahead of the app's clock"}, nil},
		"a time that is none":       {names + "&at=yesterday", "x", http.StatusBadRequest, []string{"query parameter at", "2026-11-30T10:00:00Z"}, nil},
		"a host without a name":     {"target=a=", "x", http.StatusBadRequest, []string{"query parameter target", "HOST=NAME"}, nil},
		"unknown XML":               {names, "<order/>", http.StatusUnsupportedMediaType, []string{"none of the formats that are known"}, nil},
		"unknown XML with entities": {"xml=json", `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, http.StatusBadRequest, []string{"DTD"}, nil},
		"a value that xml lacks":    {"xml=yaml", "<order/>", http.StatusBadRequest, []string{"query parameter xml", `"json"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := s.send(t, c.query, []byte(c.body))
			if w.Code != c.status || got["error"] == "" {
				t.Fatalf("answered %d %v, want %d", w.Code, got, c.status)
			}
			for _, text := range c.says {
				if !strings.Contains(unquoted(got), text) {
					t.Errorf("the answer lacks %q: %v", text, got)
				}
			}
			for _, text := range c.not {
				if strings.Contains(unquoted(got), text) {
					t.Errorf("the answer has %q: %v", text, got)
				}
			}
		})
	}
	for row, err := range s.rows.Runs(t.Context(), tables.RunQuery{}) {
		t.Errorf("row %+v (%v)", row, err)
	}
	s.keyUnseen(t)
}

// unquoted is all that an answer says.
func unquoted(answer map[string]any) string {
	var out []string
	for _, name := range []string{"error", "where", "remedy"} {
		if text, ok := answer[name].(string); ok {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

func TestUnknownXMLIsKeptAsItIsAndAsJSON(t *testing.T) {
	s := onStorage(t)
	body := []byte("<?xml version=\"1.0\" encoding=\"windows-1252\"?><order id=\"1\"><item>1</item><item/><price>5 \x80</price></order>")
	w, got := s.send(t, "xml=json", body, "Content-Type", "application/octet-stream")
	if w.Code != http.StatusCreated || got["format"] != "xml" || got["rows"] != 0.0 {
		t.Fatalf("answered %d %v", w.Code, got)
	}
	if kept := s.blob(t, got["document"]); !bytes.Equal(kept, body) {
		t.Errorf("kept is %q", kept)
	}
	const want = `{"?xml":{"@version":"1.0","@encoding":"windows-1252"},"order":{"@id":"1","item":["1",null],"price":"5 €"}}`
	if kept := s.blob(t, got["json"]); string(kept) != want {
		t.Errorf("as JSON it is\n%s\nwant\n%s", kept, want)
	}
	// What is known is no unknown XML, whatever the parameter says.
	if w, got := s.send(t, names+"&at=2026-11-29T10:00:00Z&xml=json", sample(t, "mtr/hops.xml")); w.Code != http.StatusCreated || got["format"] != "mtr" || got["json"] != nil {
		t.Errorf("a known format: answered %d %v", w.Code, got)
	}
}

// keyUnseen looks for the key wherever the app writes.
func (s stored) keyUnseen(t *testing.T) {
	t.Helper()
	if strings.Contains(s.log.String(), functionKey) {
		t.Error("the key is in the log")
	}
	for held, err := range s.blobs.Quarantined(t.Context(), time.Time{}, "") {
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(held); err != nil || bytes.Contains(text, []byte(functionKey)) {
			t.Errorf("quarantine says %s (%v)", text, err)
		}
	}
}
