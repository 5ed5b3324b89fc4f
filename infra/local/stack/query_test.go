package stack_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/stack"
)

// asked is what a caller gets through the host, unpacked by nobody.
func asked(t *testing.T, s *stack.Stack, method, path string, header map[string]string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.Host.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // or Go's client would ask for gzip, and unpack it
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func TestASweepIsAskedForThroughTheHost(t *testing.T) {
	s := start(t, testConfig("e9", fiveRegions[:2], 20*time.Second, 10*time.Second), nil)
	sweepOnce(t, s, time.Minute)
	key := map[string]string{"x-functions-key": s.Host.FunctionKey("Query")}
	for _, refused := range []map[string]string{nil, {"x-functions-key": "wrong"}, {"x-functions-key": s.Host.FunctionKey("Results")}} {
		for _, path := range []string{"/api/query/matrix", "/api/query/openapi.json", "/api/query"} {
			if resp, body := asked(t, s, http.MethodGet, path, refused); resp.StatusCode != http.StatusUnauthorized || len(body) > 0 {
				t.Errorf("%s with %v: %s, %d bytes", path, refused, resp.Status, len(body))
			}
		}
	}
	resp, body := asked(t, s, http.MethodGet, "/API/Query/matrix?probe=tcp-64", key)
	var m struct {
		Environment string
		Measured    int
		Cells       []struct {
			Source, Target string
			P50US          *float64 `json:"p50_us"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || resp.StatusCode != http.StatusOK || m.Environment != "e9" || m.Measured != 2 || len(m.Cells) != 2 || m.Cells[0].P50US == nil {
		t.Fatalf("%s %s (%v)", resp.Status, body, err)
	}
	tag := resp.Header.Get("ETag")
	if resp, body := asked(t, s, http.MethodGet, "/api/query/matrix?probe=tcp-64", map[string]string{"x-functions-key": key["x-functions-key"], "If-None-Match": tag}); resp.StatusCode != http.StatusNotModified || len(body) > 0 {
		t.Errorf("with its tag %s: %s, %d bytes", tag, resp.Status, len(body))
	}
	resp, body = asked(t, s, http.MethodGet, "/api/query/openapi.json?code="+key["x-functions-key"], map[string]string{"Accept-Encoding": "gzip"})
	z, err := gzip.NewReader(strings.NewReader(string(body)))
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s %v (%v)", resp.Status, resp.Header, err)
	}
	if body, err = io.ReadAll(z); err != nil || !json.Valid(body) {
		t.Errorf("the description: %v, %.100s", err, body)
	}
	if resp, body := asked(t, s, http.MethodHead, "/api/query/overview", key); resp.StatusCode != http.StatusOK || len(body) > 0 || resp.ContentLength <= 0 {
		t.Errorf("HEAD: %s, %d bytes, length %d", resp.Status, len(body), resp.ContentLength)
	}
	for path, status := range map[string]int{"/api/query/nothing": 404, "/api/query/matrix?x=1": 400, "/api/query/": 404} {
		if resp, body := asked(t, s, http.MethodGet, path, key); resp.StatusCode != status || !strings.Contains(string(body), `"remedy"`) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	if resp, _ := asked(t, s, http.MethodPost, "/api/query/matrix", key); resp.StatusCode != http.StatusNotFound {
		t.Errorf("POST: %s", resp.Status)
	}
	// Without a key; whether the page was built before the app was is not this test's business.
	if resp, body := asked(t, s, http.MethodGet, "/api/dashboard", nil); resp.StatusCode != http.StatusOK && !strings.Contains(string(body), "make web") {
		t.Errorf("the dashboard: %s %s", resp.Status, body)
	}
}
