package functionshost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
)

const never = "0 0 0 1 1 *" // once a year: these timers are fired by hand

// files are what an app consists of, besides its handler.
type files map[string]string

const proxiedHost = `{"version":"2.0","logging":{"any":"thing"},"customHandler":{"description":{"defaultExecutablePath":"handler"},"enableProxyingHttpRequest":true}}`

var plainHost = strings.Replace(proxiedHost, `,"enableProxyingHttpRequest":true`, "", 1)

func timerJSON(schedule string) string {
	return fmt.Sprintf(`{"bindings":[{"name":"timer","type":"timerTrigger","direction":"in","schedule":%q}]}`, schedule)
}

func httpJSON(more string) string {
	return `{"bindings":[{"name":"req","type":"httpTrigger","direction":"in"` + more + `},{"name":"res","type":"http","direction":"out"}]}`
}

// timers is an app of timers that fire by hand only.
func timers(names ...string) files {
	f := files{"host.json": plainHost}
	for _, n := range names {
		f[n+"/function.json"] = timerJSON(never)
	}
	return f
}

// write lays an app out, with the test binary as its handler.
func (f files) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range f {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "handler")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running is a host under test.
type running struct {
	*Host
	t   *testing.T
	log *recorder
}

// options are what a test's host starts with.
func options(t *testing.T, f files) (Options, *recorder) {
	t.Helper()
	acc, env := azuritetest.Environment(t)
	log := &recorder{t: t}
	return Options{
		AppDir: f.write(t), Account: acc, HostID: env, Log: slog.New(log), Settings: map[string]string{"TEST_ROLE": "handler"},
		StopGrace: 300 * time.Millisecond, DrainTimeout: 100 * time.Millisecond,
	}, log
}

// run starts a host that ends with the test.
func run(t *testing.T, f files, change func(*Options)) *running {
	t.Helper()
	o, log := options(t, f)
	if change != nil {
		change(&o)
	}
	h, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &running{h, t, log}
}

// ask asks the handler itself.
func (r *running) ask(path string, into any) {
	r.t.Helper()
	resp, err := http.Get("http://" + r.handler.address() + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		r.t.Fatal(err)
	}
}

// last is the newest request that the handler got.
func (r *running) last() seen {
	r.t.Helper()
	var all []seen
	r.ask("/-/seen", &all)
	if len(all) == 0 {
		r.t.Fatal("the handler was asked nothing")
	}
	return all[len(all)-1]
}

// fire calls a timer by hand and waits for the record of its end.
func (r *running) fire(function string) record {
	r.t.Helper()
	before := r.log.count()
	if err := r.Fire(r.t.Context(), function); err != nil {
		r.t.Fatal(err)
	}
	return r.log.wait(before, "the end of "+function, func(rec record) bool {
		return rec.attr["function"] == function && strings.HasPrefix(rec.text, "Executed ")
	})
}

// call sends a request to the host, and returns the answer with its body read.
func (r *running) call(method, path, body string, header http.Header) (*http.Response, string) {
	r.t.Helper()
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, from)
	if err != nil {
		r.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(text)
}

// restarted waits until the handler runs as another process than pid, and is ready.
func (r *running) restarted(pid int) int {
	r.t.Helper()
	var now int
	eventually(r.t, "the handler's restart", func() bool {
		now = r.HandlerPID()
		return now != 0 && now != pid
	})
	if err := r.handler.await(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return now
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// alive says whether a process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(body), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// record is one line of the host's log.
type record struct {
	level slog.Level
	text  string
	attr  map[string]string
}

// recorder keeps the log, and shows it when the test fails.
type recorder struct {
	t     *testing.T
	attrs []slog.Attr
	root  *recorder

	mu      sync.Mutex
	records []record
	over    bool
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	root := r.root
	if root == nil {
		root = r
		r.t.Cleanup(func() { root.mu.Lock(); root.over = true; root.mu.Unlock() })
	}
	return &recorder{root: root, attrs: append(slices.Clip(r.attrs), attrs...)}
}

func (r *recorder) WithGroup(string) slog.Handler { return r }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	root := r.root
	if root == nil {
		root = r
	}
	entry := record{level: rec.Level, text: rec.Message, attr: map[string]string{}}
	for _, a := range r.attrs {
		entry.attr[a.Key] = a.Value.String()
	}
	rec.Attrs(func(a slog.Attr) bool {
		entry.attr[a.Key] = a.Value.String()
		return true
	})
	root.mu.Lock()
	defer root.mu.Unlock()
	root.records = append(root.records, entry)
	if !root.over {
		root.t.Logf("%s %.200s %v", entry.level, entry.text, entry.attr)
	}
	return nil
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.records)
}

// wait returns the first record after the first n that matches.
func (r *recorder) wait(n int, what string, matches func(record) bool) (found record) {
	r.t.Helper()
	eventually(r.t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rec := range r.records[n:] {
			if matches(rec) {
				found = rec
				return true
			}
		}
		return false
	})
	return found
}

// has says whether a record matches now.
func (r *recorder) has(matches func(record) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.records, matches)
}
