// Package host speaks the protocol by which the Azure Functions host calls a custom handler: it
// decodes invocations and answers them, and keeps what a function does wrong from reaching the
// host or the next invocation.
//
// It knows nothing of what is invoked. What the host does is described in its own source,
// src/WebJobs.Script/Workers/Http of Azure/azure-functions-host.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Function serves one invocation. A nil error tells the host that it is done. Any other is
// logged, and fails the invocation at the host, which is a request to be called again: an
// outcome that a repetition cannot change is for the function to log, and not an error.
//
// ctx ends at the deadline. Nothing may go on after the function has returned: the host may end
// the process at any time after.
type Function func(ctx context.Context, in *Invocation) error

// Options configures a Mux. Every field must be set.
type Options struct {
	Log *slog.Logger
	// Timeout is how long an invocation may take. It lies below the host's functionTimeout,
	// at which the host kills the process with everything that it is doing.
	Timeout time.Duration
	// MaxBody is the most bytes of an invocation that is not HTTP.
	MaxBody int64
}

// Mux routes the host's requests. Names of functions are matched in exact case, as the host
// writes them. Add functions before serving; it is then safe for concurrent use.
type Mux struct {
	options Options
	mux     *http.ServeMux
	routes  map[string]http.Handler // by lower-case path
	below   map[string]http.Handler // those whose route ends in a catch-all
	names   []string
}

// NewMux makes a Mux that answers GET / at once, which is how the host finds out that the
// handler is ready.
func NewMux(o Options) *Mux {
	m := &Mux{options: o, mux: http.NewServeMux(), routes: map[string]http.Handler{}, below: map[string]http.Handler{}}
	m.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	m.mux.HandleFunc("/", m.route)
	return m
}

// Trigger adds a function whose trigger is not HTTP.
func (m *Mux) Trigger(name string, f Function) {
	m.names = append(m.names, name)
	m.mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) { m.invoke(w, r, name, f) })
}

// HTTP adds a function whose requests the host passes through as they are, under their original
// path, prefix included. The host matches routes in any case and with or without a slash at the
// end, and so does the Mux. timeout bounds a request.
func (m *Mux) HTTP(name, path string, timeout time.Duration, h http.Handler) {
	m.names = append(m.names, name)
	m.routes[strings.ToLower(path)] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.pass(w, r, name, timeout, h)
	})
}

// HTTPBelow is HTTP for a function whose route ends in a catch-all parameter ("query/{*question}"): it
// gets the path and all below it. What stands below is Rest of the request.
func (m *Mux) HTTPBelow(name, path string, timeout time.Duration, h http.Handler) {
	m.names = append(m.names, name)
	m.below[strings.ToLower(path)] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.pass(w, r, name, timeout, h)
	})
}

type restKey struct{}

// Rest is what the catch-all parameter of the request's route stands for: the path below the function's
// own, in the case in which it came, without slashes around it.
func Rest(r *http.Request) string {
	rest, _ := r.Context().Value(restKey{}).(string)
	return rest
}

// Names are the functions that were added, in order.
func (m *Mux) Names() []string { return m.names }

// Routes are the paths of the functions with an HTTP trigger, in lower case and in order. Those with a
// catch-all parameter end in "/*".
func (m *Mux) Routes() []string {
	out := slices.Collect(maps.Keys(m.routes))
	for path := range m.below {
		out = append(out, path+"/*")
	}
	slices.Sort(out)
	return out
}

func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

func (m *Mux) route(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if h, ok := m.routes[strings.ToLower(path)]; ok { // the host, too, tries the more literal route first
		h.ServeHTTP(w, r)
		return
	}
	// Lengths are of the path as it came: lower case can be longer.
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		if h, ok := m.below[strings.ToLower(path[:end])]; ok {
			rest := strings.Trim(path[end:], "/")
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), restKey{}, rest)))
			return
		}
	}
	http.NotFound(w, r)
}

type logKey struct{}

// Log is the logger of the invocation that ctx belongs to. Outside one it discards.
func Log(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(logKey{}).(*slog.Logger); ok {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

// begin gives a request its logger and its deadline.
func (m *Mux) begin(r *http.Request, name string, timeout time.Duration) (context.Context, context.CancelFunc, *slog.Logger, string) {
	id := invocationID(r)
	log := m.options.Log.With("function", name, "invocation_id", id)
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), logKey{}, log), timeout)
	return ctx, cancel, log, id
}

func (m *Mux) invoke(w http.ResponseWriter, r *http.Request, name string, f Function) {
	ctx, cancel, log, id := m.begin(r, name, m.options.Timeout)
	defer cancel()
	err := m.call(ctx, w, r, log, &Invocation{ID: id, Function: name}, f)
	if err != nil {
		report(log, err)
		answer(w, http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK)
}

// call decodes and runs, and turns a panic into an error.
func (m *Mux) call(ctx context.Context, w http.ResponseWriter, r *http.Request, log *slog.Logger, as *Invocation, f Function) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{value: p, stack: debug.Stack()}
		}
	}()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, m.options.MaxBody))
	if err != nil {
		return fmt.Errorf("reading the invocation: %w", err)
	}
	in, err := Decode(body)
	if err != nil {
		return err
	}
	in.ID, in.Function, in.Log = as.ID, as.Function, log
	return f(ctx, in)
}

// panicked is a function's panic as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func report(log *slog.Logger, err error) {
	var p *panicked
	if errors.As(err, &p) {
		log = log.With("stack", string(p.stack))
	}
	log.Error("invocation failed", "error", err)
}

// answer ends an invocation. The body is never empty and never null, both of which would leave
// the host waiting until its timeout, and its type is given: the host reads nothing else.
func answer(w http.ResponseWriter, status int) {
	body, err := json.Marshal(struct {
		Outputs     struct{}
		Logs        []string
		ReturnValue *struct{}
	}{Logs: []string{}})
	if err != nil { // it cannot be: the value is constant
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", contentTypeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the host has gone: its own timeout says so
}

func (m *Mux) pass(w http.ResponseWriter, r *http.Request, name string, timeout time.Duration, h http.Handler) {
	ctx, cancel, log, _ := m.begin(r, name, timeout)
	defer cancel()
	seen := &watched{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p) // the server's own way to cut a connection
		}
		report(log, &panicked{value: p, stack: debug.Stack()})
		if seen.begun { // too late for a status: cut it, so that half an answer is not taken for a whole one
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", contentTypeJSON)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":"internal error"}`)
	}()
	h.ServeHTTP(seen, r.WithContext(ctx))
}

// watched notes whether an answer has begun.
type watched struct {
	http.ResponseWriter
	begun bool
}

func (w *watched) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the server's own.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }
