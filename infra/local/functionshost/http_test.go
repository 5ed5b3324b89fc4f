package functionshost

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const anonymous = `,"authLevel":"anonymous"`

func TestRoutesAndMethodsThatNoFunctionHasAre404(t *testing.T) {
	h := run(t, files{
		"host.json":             proxiedHost,
		"Results/function.json": httpJSON(anonymous + `,"methods":["post"],"route":"results"`),
		"Query/function.json":   httpJSON(anonymous + `,"methods":["get","put"],"route":"query/{source}/{target?}"`),
		"All/function.json":     httpJSON(anonymous + `,"route":"all/{*rest}"`),
		"Named/function.json":   httpJSON(anonymous),
		"Nothing/function.json": httpJSON(anonymous + `,"methods":[]`),
		"Off/function.json":     strings.Replace(httpJSON(anonymous), `{"b`, `{"disabled":true,"b`, 1),
		"Least/function.json":   timerJSON(never),
	}, nil)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/api/results", 202},
		{"POST", "/API/RESULTS", 202}, // in any case
		{"POST", "/api/results/", 202},
		{"GET", "/api/results", 404}, // not 405
		{"HEAD", "/api/query/a", 404},
		{"POST", "/results", 404},
		{"POST", "/apiresults", 404},
		{"POST", "/api/results/x", 404},
		{"GET", "/api/query", 404},
		{"GET", "/api/query/a", 202},
		{"PUT", "/api/query/a/b", 202},
		{"GET", "/api/query/a/b/c", 404},
		{"PATCH", "/api/all", 202},
		{"GET", "/api/all/a/b/c", 202},
		{"DELETE", "/api/Named", 202},
		{"GET", "/api/Nothing", 404},
		{"GET", "/api/Off", 404},
		{"POST", "/api/Least", 404},
		{"GET", "/", 404},
		{"GET", "/api", 404},
	} {
		if resp, _ := h.call(c.method, c.path, "", nil); resp.StatusCode != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, resp.Status, c.status)
		}
	}
	if resp, _ := h.call("GET", "/api/Off", "", http.Header{"X-Functions-Key": {h.MasterKey()}}); resp.StatusCode != 202 {
		t.Errorf("a disabled function with the master key: %s, want 202", resp.Status)
	}
}

func TestKeysOpenWhatTheyBelongTo(t *testing.T) {
	h := run(t, files{
		"host.json":           proxiedHost,
		"Open/function.json":  httpJSON(anonymous),
		"Keyed/function.json": httpJSON(`,"authLevel":"function"`),
		"Plain/function.json": httpJSON(``), // function is the default
		"Boss/function.json":  httpJSON(`,"authLevel":"admin"`),
	}, nil)
	if h.FunctionKey("absent") != "" || h.FunctionKey("keyed") != h.FunctionKey("Keyed") || len(h.MasterKey()) < 40 {
		t.Error("the keys are not as they should be")
	}
	keys := map[string]string{"none": "", "wrong": "wrong", "Keyed's": h.FunctionKey("Keyed"), "Plain's": h.FunctionKey("Plain"), "master": h.MasterKey()}
	for function, opens := range map[string]string{
		"Open": "none wrong Keyed's Plain's master", "Keyed": "Keyed's master", "Plain": "Plain's master", "Boss": "master",
	} {
		for name, key := range keys {
			want := 401
			if strings.Contains(" "+opens+" ", " "+name+" ") {
				want = 202
			}
			if resp, _ := h.call("GET", "/api/"+function+"?code="+key, "", nil); resp.StatusCode != want {
				t.Errorf("%s with %s key in the query: %d, want %d", function, name, resp.StatusCode, want)
			}
			if resp, _ := h.call("GET", "/api/"+function, "", http.Header{"X-Functions-Key": {key}}); resp.StatusCode != want {
				t.Errorf("%s with %s key in the header: %d, want %d", function, name, resp.StatusCode, want)
			}
		}
	}
	if resp, _ := h.call("GET", "/api/Keyed?code="+h.FunctionKey("Keyed"), "", http.Header{"X-Functions-Key": {"wrong"}}); resp.StatusCode != 401 {
		t.Errorf("a wrong header beside a right query: %d, want 401: the header counts", resp.StatusCode)
	}
}

func TestTimersAreFiredThroughTheAdministrativeInterface(t *testing.T) {
	f := timers("Least")
	f["Http/function.json"] = httpJSON(anonymous)
	f["Off/function.json"] = strings.Replace(timerJSON(never), `{"b`, `{"disabled":true,"b`, 1)
	h := run(t, f, nil)
	master := func(contentType string) http.Header {
		return http.Header{"X-Functions-Key": {h.MasterKey()}, "Content-Type": {contentType}}
	}
	for _, c := range []struct {
		what, method, path, body string
		header                   http.Header
		status                   int
	}{
		{"with the master key", "POST", "/admin/functions/Least", `{"input":"x"}`, master("application/json"), 202},
		{"in another case", "POST", "/admin/functions/lEAST", `{}`, master("application/json; charset=utf-8"), 202},
		{"a disabled one", "POST", "/admin/functions/Off", `{}`, master("application/json"), 202},
		{"without a key", "POST", "/admin/functions/Least", `{}`, http.Header{"Content-Type": {"application/json"}}, 401},
		{"with a function's key", "POST", "/admin/functions/Least?code=" + h.FunctionKey("Least"), `{}`, http.Header{"Content-Type": {"application/json"}}, 401},
		{"without a body", "POST", "/admin/functions/Least", "", master("application/json"), 400},
		{"null", "POST", "/admin/functions/Least", "null", master("application/json"), 400},
		{"no JSON", "POST", "/admin/functions/Least", "{", master("application/json"), 400},
		{"another type", "POST", "/admin/functions/Least", "{}", master("text/plain"), 415},
		{"another method", "GET", "/admin/functions/Least", "", master("application/json"), 404},
		{"an unknown function", "POST", "/admin/functions/Absent", `{}`, master("application/json"), 404},
		{"an HTTP function", "POST", "/admin/functions/Http", `{}`, master("application/json"), 400},
	} {
		if resp, _ := h.call(c.method, c.path, c.body, c.header); resp.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.what, resp.Status, c.status)
		}
	}
	if err := h.Fire(t.Context(), "Absent"); err == nil || err.Error() != `firing function "Absent": 404 Not Found` {
		t.Errorf("Fire: %v", err)
	}
}

func TestAProxiedRequestPassesAsItIs(t *testing.T) {
	h := run(t, files{"host.json": proxiedHost, "Results/function.json": httpJSON(anonymous + `,"route":"results/{*rest}"`)}, nil)
	resp, body := h.call("PUT", "/api/results/a%2Fb?x=1&x=%20&;", "hello", http.Header{
		"X-Own": {"one", "two"}, "X-Azure-Functions-Invocationid": {"forged"}, "X-Forwarded-For": {"192.0.2.1"}, "Content-Type": {"text/csv"},
	})
	if resp.StatusCode != 202 || body != "passed through" || resp.Header.Get("X-From") != "handler" {
		t.Errorf("the answer is %s %q %v", resp.Status, body, resp.Header)
	}
	got := h.last()
	if got.Method != "PUT" || got.Path != "/api/results/a/b" || got.Query != "x=1&x=%20&;" || got.Body != "hello" || got.ContentLength != 5 {
		t.Errorf("the handler got %+v", got)
	}
	if got.Host != h.handler.address() {
		t.Errorf("Host is %q", got.Host)
	}
	for name, want := range map[string][]string{"X-Own": {"one", "two"}, "X-Forwarded-For": {"192.0.2.1"}, "Content-Type": {"text/csv"}} {
		if diff := cmp.Diff(want, got.Header[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if id := got.Header["X-Azure-Functions-Invocationid"]; len(id) != 1 || len(id[0]) != 36 {
		t.Errorf("the invocation's id is %q", id)
	}
	for _, status := range []int{204, 302, 404, 500} { // whatever the status, nothing is followed
		if resp, _ := h.call("GET", fmt.Sprintf("/api/results/Status-%d", status), "", nil); resp.StatusCode != status {
			t.Errorf("status %d came as %s", status, resp.Status)
		}
	}
	// Neither content type nor emptiness matters.
	if resp, body := h.call("GET", "/api/results/Empty", "", nil); resp.StatusCode != 200 || body != "" {
		t.Errorf("an empty answer: %s %q", resp.Status, body)
	}
}

func TestAProxiedRequestStreamsBothWays(t *testing.T) {
	h := run(t, files{"host.json": proxiedHost, "echo/function.json": httpJSON(anonymous)}, nil)
	up, writer := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", h.URL()+"/api/echo", up)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for _, word := range []string{"one", "two"} { // each comes back before the next is sent
		if _, err := fmt.Fprintln(writer, word); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "echo "+word+"\n" {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	_ = writer.Close()
}

func TestAProxiedAnswerThatBreaksOffBreaksOffForTheCaller(t *testing.T) {
	h := run(t, files{"host.json": proxiedHost, "Broken/function.json": httpJSON(anonymous), "Exit-9/function.json": httpJSON(anonymous)}, nil)
	resp, err := http.Get(h.URL() + "/api/Broken")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("got %q as if it were whole", body)
	}
	if resp, _ := h.call("GET", "/api/Exit-9", "", nil); resp.StatusCode != 500 {
		t.Errorf("a handler that dies: %s, want 500", resp.Status)
	}
}

func TestAForwardedRequestKeepsPathAndAnswerButNotAChunkedBody(t *testing.T) {
	host := strings.Replace(proxiedHost, "enableProxyingHttpRequest", "enableForwardingHttpRequest", 1)
	f := timers("Status-307")
	f["host.json"] = host
	f["Results/function.json"] = httpJSON(anonymous + `,"route":"results/{*rest}"`)
	h := run(t, f, nil)
	resp, body := h.call("POST", "/api/results/x?b=2&a=1", "hello", http.Header{"X-Own": {"1"}, "User-Agent": {"me"}})
	if resp.StatusCode != 202 || body != "passed through" || resp.Header.Get("X-From") != "handler" {
		t.Errorf("the answer is %s %q", resp.Status, body)
	}
	got := h.last()
	if got.Method != "POST" || got.Path != "/api/results/x" || got.Query != "a=1&b=2" || got.Body != "hello" ||
		got.Header.Get("X-Own") != "1" || got.Header.Get("User-Agent") != "me Azure-Functions-Host/"+hostVersion || len(got.Header.Get(headerInvocationID)) != 36 {
		t.Errorf("the handler got %+v", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL()+"/api/results/x", struct{ io.Reader }{strings.NewReader("chunked")})
	if err != nil {
		t.Fatal(err)
	}
	chunked, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = chunked.Body.Close()
	if got := h.last(); got.Body != "" {
		t.Errorf("the body of a chunked request came through: %q", got.Body)
	}
	if resp, _ := h.call("GET", "/api/results/Status-302", "", nil); resp.StatusCode != 302 {
		t.Errorf("a redirect: %s, want it passed on", resp.Status)
	}
	if rec := h.fire("Status-307"); !strings.Contains(rec.attr["error"], "307 Temporary Redirect") {
		t.Errorf("with forwarding, redirects of timers are not followed either: %v", rec)
	}
}

// hosted is an app whose HTTP functions are neither proxied nor forwarded.
func hosted(functions map[string]string) files {
	f := files{"host.json": strings.Replace(plainHost, `"customHandler"`, `"extensions":{"http":{"routePrefix":""}},"customHandler"`, 1)}
	for name, body := range functions {
		f[name+"/function.json"] = body
	}
	return f
}

func TestAnUnforwardedRequestIsAnInvocation(t *testing.T) {
	h := run(t, hosted(map[string]string{"Output": httpJSON(`,"route":"make/{kind}/{size?}"`)}), nil)
	resp, body := h.call("POST", "/make/tea?n=1&n=2&q=%22", "a=b", http.Header{
		"Content-Type": {"text/plain"}, "X-Functions-Key": {h.FunctionKey("Output")}, "Accept": {"a/b", "c/d"},
	})
	if resp.StatusCode != 201 || resp.Header.Get("X-Made") != "here" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the answer is %s %v", resp.Status, resp.Header)
	}
	if want := "{\n  \"a\": [\n    1,\n    2.50\n  ]\n}"; body != want { // rendered anew
		t.Errorf("the body is %q, want %q", body, want)
	}
	got := h.last()
	if got.Method != "POST" || got.Path != "/Output" {
		t.Errorf("asked %s %s", got.Method, got.Path)
	}
	var invocation struct {
		Data     map[string]map[string]any
		Metadata map[string]any
	}
	if err := json.Unmarshal([]byte(got.Body), &invocation); err != nil {
		t.Fatal(err)
	}
	req := invocation.Data["req"]
	headers, _ := req["Headers"].(map[string]any)
	if diff := cmp.Diff([]any{"a/b", "c/d"}, headers["Accept"]); diff != "" {
		t.Errorf("Headers.Accept: %s", diff)
	}
	if diff := cmp.Diff([]any{strings.TrimPrefix(h.URL(), "http://")}, headers["Host"]); diff != "" {
		t.Errorf("Headers.Host: %s", diff)
	}
	delete(req, "Headers")
	want := map[string]any{
		"Url": h.URL() + "/make/tea?n=1&n=2&q=%22", "Method": "POST", "Query": map[string]any{"n": "1,2", "q": `"`},
		"Params": map[string]any{"kind": "tea", "size": nil}, "Body": "a=b",
		"Identities": []any{map[string]any{"AuthenticationType": "WebJobsAuthLevel", "IsAuthenticated": true, "Claims": []any{
			map[string]any{"Type": "http://schemas.microsoft.com/2017/07/functions/claims/authlevel", "Value": "Function"},
		}}},
	}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("Data.req: %s", diff)
	}
	// Strings are JSON documents inside JSON strings; objects stay objects.
	for name, want := range map[string]any{"kind": `"tea"`, "n": `"1,2"`, "q": `"\""`, "Query": map[string]any{"n": "1,2", "q": `"`}} {
		if diff := cmp.Diff(want, invocation.Metadata[name]); diff != "" {
			t.Errorf("Metadata.%s: %s", name, diff)
		}
	}
	if _, there := invocation.Metadata["size"]; there {
		t.Error("a parameter that is absent is in the Metadata")
	}
}

func TestBodiesOfUnforwardedRequests(t *testing.T) {
	h := run(t, hosted(map[string]string{"Output": httpJSON(anonymous)}), nil)
	for _, c := range []struct {
		contentType string
		body        io.Reader
		want        string // "" means no Body at all
	}{
		{"application/octet-stream", strings.NewReader("\xff\x00"), `"Body":"/wA="`},
		{"multipart/form-data; boundary=x", strings.NewReader("--x--"), `"Body":"LS14LS0="`},
		{"application/json", strings.NewReader(`{"a":1}`), `"Body":"{\"a\":1}"`},
		{"", strings.NewReader("text"), `"Body":"text"`},
		{"text/plain", nil, ""},
		{"text/plain", struct{ io.Reader }{strings.NewReader("of unknown length")}, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL()+"/Output", c.body)
		if err != nil {
			t.Fatal(err)
		}
		if c.contentType != "" {
			req.Header.Set("Content-Type", c.contentType)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got := h.last().Body
		if c.want == "" && regexp.MustCompile(`"Body"`).MatchString(got) || !strings.Contains(got, c.want) {
			t.Errorf("%q: the invocation is %s, want %s in it", c.contentType, got, c.want)
		}
	}
}

func TestUnforwardedAnswers(t *testing.T) {
	noOutput := `{"bindings":[{"name":"req","type":"httpTrigger","authLevel":"anonymous"}]}`
	h := run(t, hosted(map[string]string{
		"Bodyless": httpJSON(anonymous), "Returned": strings.Replace(httpJSON(anonymous), `"res"`, `"$return"`, 1), "Least": noOutput,
		"Status-404": httpJSON(anonymous), "Malformed": httpJSON(anonymous), "Sniffed": httpJSON(anonymous),
	}), nil)
	for _, c := range []struct {
		function string
		status   int
		body     string
	}{
		{"Bodyless", 200, "{}"},
		{"Returned", 200, "hello"}, // base64 by chance, or not: it is decoded
		{"Least", 200, ""},
		{"Status-404", 500, ""}, // the handler's status is not the caller's
		{"Malformed", 500, ""},
		{"Sniffed", 500, ""},
	} {
		if resp, body := h.call("GET", "/"+c.function, "", nil); resp.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %s %q, want %d %q", c.function, resp.Status, body, c.status, c.body)
		}
	}
}

// The caller of an HTTP function is sent away after 230 s (here sooner), which ends a proxied
// request, and nothing else.
func TestTheFrontEndSendsCallersAway(t *testing.T) {
	impatient := func(o *Options) { o.HTTPTimeout = 300 * time.Millisecond }
	h := run(t, hosted(map[string]string{"Slow": httpJSON(anonymous)}), impatient)
	if resp, _ := h.call("GET", "/Slow", "", nil); resp.StatusCode != 504 {
		t.Errorf("unforwarded: %s, want 504", resp.Status)
	}
	h.log.wait(0, "the function's own end", func(r record) bool { return r.text == "Executed 'Functions.Slow' (Succeeded)" })

	h = run(t, files{"host.json": proxiedHost, "Forever/function.json": httpJSON(anonymous)}, impatient)
	pid := h.HandlerPID()
	if resp, _ := h.call("GET", "/api/Forever", "", nil); resp.StatusCode != 504 {
		t.Errorf("proxied: %s, want 504", resp.Status)
	}
	if h.HandlerPID() != pid {
		t.Error("the handler was killed")
	}
}

func TestTheFunctionTimeoutHoldsForHTTPToo(t *testing.T) {
	h := run(t, files{"host.json": proxiedHost, "Forever/function.json": httpJSON(anonymous)}, func(o *Options) { o.FunctionTimeout = 300 * time.Millisecond })
	pid := h.HandlerPID()
	if resp, _ := h.call("GET", "/api/Forever", "", nil); resp.StatusCode != 500 {
		t.Errorf("%s, want 500", resp.Status)
	}
	h.restarted(pid)
}

func TestRequestsOfMoreThan100MiBAreRefused(t *testing.T) {
	h := run(t, files{"host.json": proxiedHost, "Results/function.json": httpJSON(anonymous)}, nil)
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL()+"/api/Results", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Body, req.ContentLength = io.NopCloser(io.LimitReader(neverEnding{}, maxRequest+1)), maxRequest+1
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%s, want 413", resp.Status)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
