package questions

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/tables"
)

func TestAMatrixHasTheKeysOfTheCommandLine(t *testing.T) {
	s := serve(t, filled())
	m := decoded(t, s.get("matrix?path=public&probe=tcp-64"))
	if m["environment"] != "dev" || m["probe"] != "tcp-64" || m["series"] != 6.0 || m["measured"] != 2.0 || m["missing"] != 4.0 || m["simulated"] != false ||
		m["generated_at"] != "2026-11-30T12:00:30Z" {
		t.Errorf("got %v", m)
	}
	rests := m["rests_on"].(map[string]any)
	if rests["samples"] != 200.0 || rests["runs"] != 2.0 || rests["hours"] != nil {
		t.Errorf("it rests on %v", rests)
	}
	cells := m["cells"].([]any)
	found := false
	for _, c := range cells {
		c := c.(map[string]any)
		if c["source"] != "westeurope" || c["target"] != "eastus" {
			continue
		}
		found = true
		// The great circle of 6,300 km or so makes a floor of some 62 ms.
		if c["p50_us"] != 80_000.0 || c["age_s"] != 30.0 || c["slot"] != "2026-11-30T12:00:00Z" || c["published_p95_ms"] == nil ||
			c["floor_us"].(float64) < 55_000 || c["floor_us"].(float64) > 65_000 || c["p99_us"] != nil {
			t.Errorf("cell %v", c)
		}
	}
	if !found || len(cells) != 6 {
		t.Errorf("%d cells, the pair among them: %t", len(cells), found)
	}
}

func TestTheDefaultIsTheRoundTripAndNotTheFirstProbe(t *testing.T) {
	s := serve(t, filled())
	o := decoded(t, s.get("overview"))
	if d := o["default"].(map[string]any); d["path"] != "public" || d["probe"] != "tcp-64" {
		t.Errorf("default %v: want tcp-64 over public", d)
	}
	if m := decoded(t, s.get("matrix?path=peering")); m["probe"] != "tcp-64" || m["path"] != "peering" {
		t.Errorf("over peering it is of %v over %v", m["probe"], m["path"])
	}
	if body := s.get("overview").Body.String(); strings.Contains(body, "db.example.net") || strings.Contains(body, "20.50") {
		t.Errorf("addresses are nobody's business: %s", body)
	}
}

func TestADifferenceIsThatOfTheSlotsOfBoth(t *testing.T) {
	s := serve(t, filled())
	c := decoded(t, s.get("compare?paths=public,peering&source=westeurope"))
	pairs := c["pairs"].([]any)
	if len(pairs) != 1 {
		t.Fatalf("%d pairs, want 1", len(pairs))
	}
	p := pairs[0].(map[string]any)
	if p["n"] != 8.0 || p["difference_us"] != 1000.0 || p["low_us"] != 1000.0 || p["high_us"] != 1000.0 || p["difference_bps"] != nil || c["next"] != nil {
		t.Errorf("pair %v", p)
	}
}

func TestAllFaultsOfAQuestionComeAtOnce(t *testing.T) {
	s := serve(t, filled())
	w := s.get("compare?since=yesterday&limit=0&nonsense=1&probe=tcp-64&probe=up&code=secret")
	parameters, text := faults(t, w)
	if w.Code != http.StatusBadRequest || !slices.Equal(parameters, []string{"limit", "nonsense", "probe", "since", "paths"}) {
		t.Errorf("answered %d, faults of %q", w.Code, parameters)
	}
	for _, want := range []string{"1 to 5000", "it has paths, source", "given 2 times", "7d", "public,peering"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the key is repeated: %s", w.Body)
	}
	for query, status := range map[string]int{
		"matrix?path=" + strings.Repeat("a", 1500): 400,
		"matrix?path=" + strings.Repeat("a", 5000): 414,
		"matrix?path=":                                     400,
		"matrix?a=%zz":                                     400,
		"compare?paths=public,public":                      400,
		"compare?paths=public,peering&since=400d":          400,
		"compare?paths=public,peering&until=2020-01-01":    400,
		"coverage?since=2026-11-30T13:00:00Z":              400, // it lies ahead
		"compare?paths=public,peering&source=a&target=a":   404,
		"coverage?source=westeurope&since=30d&until=29001": 400,
	} {
		if w := s.get(query); w.Code != status {
			t.Errorf("%.60s: answered %d, want %d: %s", query, w.Code, status, w.Body)
		}
	}
}

func TestWhatIsNotThereIsSaidWithWhatIs(t *testing.T) {
	s := serve(t, filled())
	for query, want := range map[string]string{
		"":                                       "there is overview, matrix, coverage",
		"nothing":                                "openapi.json",
		"matrix/more":                            `there is no question \"matrix/more\"`,
		"matrix?path=vpn":                        "there is public, peering",
		"matrix?probe=absent":                    "there is up, tcp-64, handshake",
		"matrix?probe=up&path=peering":           "there is tcp-64",
		"compare?paths=public,vpn":               "there is public, peering",
		"compare?paths=public,peering&source=db": "there is westeurope, eastus, southeastasia",
		"compare?paths=public,peering&target=mars":   "southeastasia, db",
		"compare?paths=public,peering&probe=up":      "there is tcp-64",
		"coverage?source=atlantis&probe=also-absent": "there is up",
	} {
		w := s.get(query)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q answered %d, want 404 that says %q: %s", query, w.Code, want, w.Body)
		}
	}
	if parameters, _ := faults(t, s.get("coverage?source=atlantis&probe=absent")); !slices.Equal(parameters, []string{"source", "probe"}) {
		t.Errorf("not all that is not there comes at once: %q", parameters)
	}
}

func TestTheTagStaysWhileNothingButTheTimePasses(t *testing.T) {
	s := serve(t, filled())
	for _, query := range []string{"overview", "matrix", "compare?paths=public,peering", "coverage", "probers", description} {
		*s.now = noon
		first := s.get(query)
		tag := first.Header().Get("ETag")
		*s.now = noon.Add(9 * time.Second)
		if w := s.get(query); w.Header().Get("ETag") != tag || tag == "" {
			t.Errorf("%s: %q, and later %q", query, tag, w.Header().Get("ETag"))
		}
		for _, given := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			if w := s.get(query, "If-None-Match", given); w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s with %s: answered %d, %d bytes", query, given, w.Code, w.Body.Len())
			}
		}
		if w := s.get(query, "If-None-Match", `"other"`); w.Code != http.StatusOK {
			t.Errorf("%s with another tag: answered %d", query, w.Code)
		}
	}
	*s.now = noon
	was := s.get("matrix").Header().Get("ETag")
	s.stores.latest[0].P50US = pointer(81_000.0)
	s.stores.latest[1].P50US = pointer(81_000.0)
	if s.get("matrix").Header().Get("ETag") == was {
		t.Error("a figure changed, and the tag did not")
	}
}

func TestAnswersCarryTheirHeaders(t *testing.T) {
	s := serve(t, filled())
	for query, cache := range map[string]string{"matrix": "private, no-cache", "nothing": "no-store", "matrix?x=1": "no-store"} {
		h := s.get(query).Header()
		for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": cache, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", query, name, h.Get(name), want)
			}
		}
	}
	get, head := s.get("matrix"), s.send(http.MethodHead, "matrix")
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(get.Body.Len()) {
		t.Errorf("HEAD: %d, %d bytes, length %s of %d", head.Code, head.Body.Len(), head.Header().Get("Content-Length"), get.Body.Len())
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if w := s.send(method, "matrix"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: answered %d, allows %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestAnswersArePackedWhereThatIsAccepted(t *testing.T) {
	s := serve(t, filled())
	plain := s.get("matrix").Body.String()
	for accept, packed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "*": true, "gzip;q=0": false, "br": false, "*, gzip;q=0": false, "": false} {
		w := s.get("matrix", "Accept-Encoding", accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != packed || !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
			t.Errorf("%q: packed %t, want %t", accept, got, packed)
			continue
		}
		body := w.Body.String()
		if packed {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			body = string(b)
		}
		if body != plain {
			t.Errorf("%q: another body", accept)
		}
	}
}

func TestStorageThatFailsIsAskedAgainLater(t *testing.T) {
	for name, err := range map[string]error{"away": errors.New("dial tcp 10.1.2.3:443: secret-account"), "slow": context.DeadlineExceeded} {
		s := filled()
		s.err = err
		for _, query := range []string{"overview", "matrix", "compare?paths=public,peering", "coverage", "probers"} {
			w := serve(t, s).get(query)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "secret-account") {
				t.Errorf("%s, %s: answered %d, Retry-After %q: %s", name, query, w.Code, w.Header().Get("Retry-After"), w.Body)
			}
		}
	}
	for name, c := range map[string]struct {
		config string
		status int
	}{"none": {"", 404}, "one with faults": {"version: 1\n", 503}} {
		if w := serve(t, &stores{config: c.config}).get("matrix"); w.Code != c.status || !strings.Contains(w.Body.String(), "sweep config push") {
			t.Errorf("%s: answered %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
}

func TestNoMoreQuestionsAreAnsweredAtOnceThanThereIsRoomFor(t *testing.T) {
	f := filled()
	f.block = make(chan struct{})
	s := serve(t, f)
	answers := make(chan *httptest.ResponseRecorder, MaxAtOnce)
	for range MaxAtOnce {
		go func() { answers <- s.get("matrix") }()
	}
	for len(s.h.places) < MaxAtOnce {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := httptest.NewRequest(http.MethodGet, "/api/query/matrix", nil).WithContext(ctx)
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("one too many was answered %d", w.Code)
	}
	close(f.block)
	for range MaxAtOnce {
		if w := <-answers; w.Code != http.StatusOK {
			t.Errorf("answered %d: %s", w.Code, w.Body)
		}
	}
}

func TestAQuestionThatTakesTooLongEnds(t *testing.T) {
	f := filled()
	f.block = make(chan struct{}) // for ever
	s := serve(t, f)
	s.h.timeout = 30 * time.Millisecond
	w := s.get("matrix")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "longer than 30ms") {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
	if len(s.h.places) != 0 {
		t.Error("its place is not free again")
	}
}

// A tool's own probe is in no configuration.
func TestForeignProbesAreAskedForByTheirNames(t *testing.T) {
	s := serve(t, filled())
	for query, status := range map[string]int{"trend?source=westeurope&target=eastus&probe=ext.iperf3&path=public": 200, "trend?source=westeurope&target=eastus&probe=ext.iperf3": 400,
		"trend?source=mars&target=eastus&probe=ext.iperf3&path=public": 404, "trend?source=westeurope&target=eastus&probe=ext.&path=public": 400, "matrix?probe=ext.iperf3": 404} {
		if w := s.get(query); w.Code != status {
			t.Errorf("%s: answered %d, want %d: %s", query, w.Code, status, w.Body)
		}
	}
}

func TestPagesMakeUpTheWhole(t *testing.T) {
	f := filled()
	f.runs = nil
	for _, source := range []string{"eastus", "westeurope"} {
		for _, target := range []string{"eastus", "southeastasia", "westeurope"} {
			for _, path := range []string{"peering", "public"} {
				if source != target {
					f.runs = append(f.runs, measured(series(source, target, path, "tcp-64"), noon.Truncate(10*time.Minute), 80_000))
				}
			}
		}
	}
	sortRuns(f.runs)
	s := serve(t, f)
	whole := decoded(t, s.get("compare?paths=public,peering"))["pairs"].([]any)
	var parts []any
	query, pages := "compare?paths=public,peering&limit=3", 0
	for token := ""; ; pages++ {
		c := decoded(t, s.get(query+token))
		parts = append(parts, c["pairs"].([]any)...)
		if c["next"] == nil {
			break
		}
		token = "&next=" + c["next"].(string)
		if w := s.get(query + "&source=eastus" + token); w.Code != http.StatusBadRequest {
			t.Errorf("the token of another question: answered %d", w.Code)
		}
		*s.now = s.now.Add(6 * 24 * time.Hour) // the window stays that of the first page
	}
	if fmt.Sprint(parts) != fmt.Sprint(whole) || len(whole) != 4 || pages != 1 {
		t.Errorf("%d pages:\n%v\nthe whole:\n%v", pages+1, parts, whole)
	}
	*s.now = noon
	for _, token := range []string{"e30", "eyJvZiI6IiJ9", "bm90aGluZw", strings.Repeat("a", 950)} {
		if w := s.get("compare?paths=public,peering&next=" + token); w.Code != http.StatusBadRequest {
			t.Errorf("token %.20q: answered %d", token, w.Code)
		}
	}
}

func sortRuns(runs []tables.Row) {
	slices.SortStableFunc(runs, func(a, b tables.Row) int { return strings.Compare(a.Series.String(), b.Series.String()) })
}
