package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines collects a log of JSON lines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) all(t *testing.T) (out []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	d := json.NewDecoder(bytes.NewReader(l.b.Bytes()))
	for {
		var line map[string]any
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("a log line is not JSON: %v", err)
		}
		out = append(out, line)
	}
}

type fixture struct {
	url string
	log *lines
	mux *Mux
}

func serve(t *testing.T, o Options, add func(m *Mux)) fixture {
	t.Helper()
	log := &lines{}
	o.Log = slog.New(slog.NewJSONHandler(log, nil))
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	m := NewMux(o)
	add(m)
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return fixture{url: s.URL, log: log, mux: m}
}

// send posts a body as the host does: chunked, with an invocation id.
func (f fixture) send(t *testing.T, method, path, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.url+path, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(HeaderInvocationID, "b1a2c3d4-0000-4000-8000-000000000001")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(b)
}

const emptyInvocation = `{"Data":{},"Metadata":{}}`

func TestAnInvocationIsAnsweredInTheHostsForm(t *testing.T) {
	var got *Invocation
	f := serve(t, Options{}, func(m *Mux) {
		m.Trigger("Sweep", func(ctx context.Context, in *Invocation) error {
			got = in
			Log(ctx).Info("from the context")
			in.Log.Info("from the invocation")
			return nil
		})
	})
	status, header, body := f.send(t, http.MethodPost, "/Sweep", emptyInvocation)
	if status != 200 || header.Get("Content-Type") != "application/json" || body != `{"Outputs":{},"Logs":[],"ReturnValue":null}` {
		t.Errorf("answered %d %q %s", status, header.Get("Content-Type"), body)
	}
	const id = "b1a2c3d4-0000-4000-8000-000000000001"
	if got == nil || got.ID != id || got.Function != "Sweep" {
		t.Fatalf("the function saw %+v", got)
	}
	logged := f.log.all(t)
	if len(logged) != 2 {
		t.Fatalf("%d log lines, want 2: %v", len(logged), logged)
	}
	for _, line := range logged {
		if line["invocation_id"] != id || line["function"] != "Sweep" {
			t.Errorf("log line without its invocation: %v", line)
		}
	}
}

func TestReadinessAndNamesInExactCase(t *testing.T) {
	f := serve(t, Options{}, func(m *Mux) {
		m.Trigger("Sweep", func(context.Context, *Invocation) error { return nil })
		m.HTTP("Results", "/api/results", time.Second, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) }))
	})
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", 200}, {"POST", "/Sweep", 200},
		{"POST", "/sweep", 404}, {"POST", "/Sweep/", 404}, {"GET", "/Sweep", 404}, {"POST", "/Results", 404}, {"GET", "/nothing", 404},
		{"POST", "/api/results", 299}, {"POST", "/API/Results/", 299}, {"GET", "/api/results", 299}, // the host's routes have no case
		{"POST", "/api/results/x", 404}, {"POST", "/api//results", 307}, // the server's own clean-up
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, f.url+c.path, strings.NewReader(emptyInvocation))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, answer.StatusCode, c.want)
		}
	}
	if names := f.mux.Names(); len(names) != 2 || names[0] != "Sweep" || names[1] != "Results" {
		t.Errorf("names %q", names)
	}
	if routes := f.mux.Routes(); len(routes) != 1 || routes[0] != "/api/results" {
		t.Errorf("routes %q", routes)
	}
}

func TestARouteWithACatchAllGetsAllBelowIt(t *testing.T) {
	rest := "none"
	f := serve(t, Options{}, func(m *Mux) {
		m.HTTPBelow("Query", "/api/query", time.Second, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rest = Rest(r)
			w.WriteHeader(299)
		}))
		m.HTTP("Own", "/api/query/own", time.Second, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(298) }))
	})
	for _, c := range []struct {
		path string
		want int
		rest string
	}{
		{"/api/query", 299, ""}, {"/api/query/", 299, ""}, {"/api/query/Matrix", 299, "Matrix"}, {"/API/Query/a/B/", 299, "a/B"},
		{"/api/query/a%2Fb", 299, "a/b"}, {"/api/query/%C4%B0", 299, "\u0130"}, // a letter that is longer in lower case
		{"/api/query/own", 298, "none"}, {"/api/query/own/x", 299, "own/x"},
		{"/api/queries", 404, "none"}, {"/api", 404, "none"}, {"/query/a", 404, "none"}, {"/", 404, "none"},
	} {
		rest = "none"
		status, _, _ := f.send(t, http.MethodPost, c.path, "")
		if status != c.want || rest != c.rest {
			t.Errorf("%s: %d and %q, want %d and %q", c.path, status, rest, c.want, c.rest)
		}
	}
	if routes := f.mux.Routes(); !slices.Equal(routes, []string{"/api/query/*", "/api/query/own"}) {
		t.Errorf("routes %q", routes)
	}
}

func TestFailuresAreLoggedOnceAndAskForARetry(t *testing.T) {
	boom := func(context.Context, *Invocation) error { panic("boom") }
	fails := func(context.Context, *Invocation) error { return errors.New("storage is away") }
	nothing := func(context.Context, *Invocation) error { return nil }
	for name, c := range map[string]struct {
		f     Function
		body  string
		says  string
		stack bool
	}{
		"error":        {fails, emptyInvocation, "storage is away", false},
		"panic":        {boom, emptyInvocation, "panic: boom", true},
		"no JSON":      {nothing, "{", "decoding an invocation", false},
		"no body":      {nothing, "", "decoding an invocation", false},
		"too large":    {nothing, `{"Data":{"a":"` + strings.Repeat("a", 4000) + `"}}`, "too large", false},
		"null answers": {nothing, "null", "no Data", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, Options{MaxBody: 1000}, func(m *Mux) { m.Trigger("Sweep", c.f) })
			status, header, body := f.send(t, http.MethodPost, "/Sweep", c.body)
			if status != 500 || header.Get("Content-Type") != "application/json" || !json.Valid([]byte(body)) {
				t.Errorf("answered %d %q %s", status, header.Get("Content-Type"), body)
			}
			logged := f.log.all(t)
			if len(logged) != 1 || !strings.Contains(logged[0]["error"].(string), c.says) || logged[0]["level"] != "ERROR" {
				t.Fatalf("logged %v; want one error that says %q", logged, c.says)
			}
			if _, ok := logged[0]["stack"]; ok != c.stack {
				t.Errorf("stack logged: %t, want %t", ok, c.stack)
			}
		})
	}
}

func TestAPanicDoesNotDisturbTheNextInvocation(t *testing.T) {
	first := true
	f := serve(t, Options{}, func(m *Mux) {
		m.Trigger("Ingest", func(context.Context, *Invocation) error {
			if first {
				first = false
				panic(errors.New("once"))
			}
			return nil
		})
	})
	if status, _, _ := f.send(t, http.MethodPost, "/Ingest", emptyInvocation); status != 500 {
		t.Errorf("the panic was answered %d", status)
	}
	if status, _, _ := f.send(t, http.MethodPost, "/Ingest", emptyInvocation); status != 200 {
		t.Errorf("the next invocation was answered %d", status)
	}
}

func TestTheDeadlineEndsTheContext(t *testing.T) {
	f := serve(t, Options{Timeout: 30 * time.Millisecond}, func(m *Mux) {
		m.Trigger("Sweep", func(ctx context.Context, _ *Invocation) error {
			<-ctx.Done()
			return ctx.Err()
		})
	})
	begun := time.Now()
	status, _, _ := f.send(t, http.MethodPost, "/Sweep", emptyInvocation)
	if status != 500 || time.Since(begun) > 5*time.Second {
		t.Errorf("answered %d after %s", status, time.Since(begun))
	}
	if logged := f.log.all(t); len(logged) != 1 || !strings.Contains(logged[0]["error"].(string), "deadline exceeded") {
		t.Errorf("logged %v", logged)
	}
}

func TestARequestThatPanicsIsAnsweredOrCut(t *testing.T) {
	f := serve(t, Options{}, func(m *Mux) {
		m.HTTP("Early", "/api/early", time.Second, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("early") }))
		m.HTTP("Late", "/api/late", time.Second, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("half of an answer ", 1000))
			panic("late")
		}))
	})
	status, header, body := f.send(t, http.MethodPost, "/api/early", "x")
	if status != 500 || header.Get("Content-Type") != "application/json" || strings.Contains(body, "early") || !json.Valid([]byte(body)) {
		t.Errorf("answered %d %q %s", status, header.Get("Content-Type"), body)
	}
	answer, err := http.Post(f.url+"/api/late", "text/plain", strings.NewReader("x"))
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer came as a whole one")
	}
	if logged := f.log.all(t); len(logged) != 2 || logged[0]["function"] != "Early" || logged[1]["function"] != "Late" {
		t.Errorf("logged %v", logged)
	}
}

func TestAnInvocationIDThatCannotBeLoggedIsLeftOut(t *testing.T) {
	for id, want := range map[string]string{
		"abc-1": "abc-1", strings.Repeat("a", 65): "", "with blank": "", "": "", "ümlaut": "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/Sweep", nil)
		r.Header.Set(HeaderInvocationID, id)
		if got := invocationID(r); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestOutsideAnInvocationTheLoggerDiscards(t *testing.T) {
	Log(context.Background()).Error("to nobody") // must not panic, must not reach slog's default
}
