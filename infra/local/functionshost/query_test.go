package functionshost

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// appFunctions are function.json files of the app itself, on a host that passes requests through.
func appFunctions(t *testing.T, names ...string) files {
	t.Helper()
	f := files{"host.json": proxiedHost}
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join("..", "..", "..", "functions", name, functionFile))
		if err != nil {
			t.Fatal(err)
		}
		f[name+"/"+functionFile] = string(body)
	}
	return f
}

func TestQueryNeedsItsKeyAndTheDashboardNone(t *testing.T) {
	h := run(t, appFunctions(t, "Query", "Dashboard", "Results"), nil)
	key := func(name string) http.Header { return http.Header{"X-Functions-Key": {h.FunctionKey(name)}} }
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"GET", "/api/query/matrix", nil, 401},
		{"GET", "/api/query/openapi.json", nil, 401},
		{"GET", "/api/query", nil, 401}, // a catch-all parameter may be empty
		{"GET", "/api/query/matrix?code=wrong", nil, 401},
		{"GET", "/api/query/matrix", key("Results"), 401}, // a key opens one function
		{"GET", "/api/query/matrix", key("Query"), 202},
		{"HEAD", "/api/query/matrix", key("Query"), 202},
		{"GET", "/api/query/matrix?path=public&code=" + h.FunctionKey("Query"), nil, 202},
		{"GET", "/api/query/matrix?CODE=" + h.FunctionKey("Query"), nil, 202}, // names in a query have no case
		{"GET", "/API/Query/matrix/", key("Query"), 202},
		{"GET", "/api/query", key("Query"), 202},
		{"GET", "/api/query/a/b/c", key("Query"), 202}, // what there is, the function says
		{"POST", "/api/query/matrix", key("Query"), 404},
		{"OPTIONS", "/api/query/matrix", key("Query"), 404},
		{"GET", "/api/queries", key("Query"), 404},
		{"GET", "/api/dashboard", nil, 202},
		{"GET", "/api/Dashboard/", nil, 202},
		{"HEAD", "/api/dashboard/assets/index-1a2b3c4d.js", nil, 202},
		{"GET", "/api/dashboard?code=wrong", nil, 202},
		{"POST", "/api/dashboard", nil, 404},
		{"POST", "/api/results", key("Query"), 401},
	} {
		resp, _ := h.call(c.method, c.path, "", c.header)
		if resp.StatusCode != c.status {
			t.Errorf("%s %.60s: %s, want %d", c.method, c.path, resp.Status, c.status)
		}
	}
	h.call("GET", "/api/QUERY/Matrix%2Fx/?a=1", "", key("Query"))
	if got := h.last(); got.Path != "/api/QUERY/Matrix/x/" || got.Query != "a=1" {
		t.Errorf("the handler got %s?%s: want the path as it came", got.Path, got.Query)
	}
}
