package functionshost

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	// maxRequest is the size of a request that the host takes, in bytes.
	maxRequest = 100 << 20
	adminPath  = "/admin/functions/"

	reasonAPI = "This function was programmatically called via the host APIs."
)

// errFrontEnd: the platform's front end does not wait longer. The function goes on, unless its
// request is proxied: that breaks off with the caller.
var errFrontEnd = errors.New("the caller's time is over")

// frontend serves HTTP: the functions' routes, and the firing of timers.
type frontend struct {
	app        *app
	keys       *keyring
	invoker    *invoker
	log        *slog.Logger
	now        func() time.Time
	timeout    time.Duration
	life       context.Context // of what is running
	background *tasks
	timers     map[string]*timer
	transport  http.RoundTripper // to the handler, for proxied requests
}

// ServeHTTP answers 404 for a path or a method that no function has, 401 for a key that does not
// open it, and leaves the rest to the function.
func (s *frontend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, adminPath); ok && name != "" {
		s.admin(w, r, name)
		return
	}
	f, params := s.find(r)
	if f == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	level := s.keys.level(r, f.name)
	switch {
	case level < f.http.level:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case f.disabled && level < levelAdmin:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.ContentLength > maxRequest:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if f.http.proxyable() && s.app.proxying {
		s.proxy(w, r, f)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.detach(w, f, func(ctx context.Context, i *invocation) (*response, error) {
		if f.http.proxyable() && s.app.forwarding {
			return s.forward(ctx, i, r, body)
		}
		return s.call(ctx, i, r, params, level, body)
	})
}

// find matches path and method against the functions' routes, the more literal ones first.
func (s *frontend) find(r *http.Request) (found *function, params map[string]any) {
	path := strings.Trim(r.URL.EscapedPath(), "/")
	if prefix := s.app.prefix; prefix != "" {
		if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
			return nil, nil
		}
		rest := path[len(prefix):]
		if rest != "" && rest[0] != '/' {
			return nil, nil
		}
		path = strings.TrimPrefix(rest, "/")
	}
	for _, f := range s.app.functions {
		if f.http == nil || !f.http.accepts(r.Method) || (found != nil && !f.http.route.before(found.http.route)) {
			continue
		}
		if p, ok := f.http.route.match(path); ok {
			found, params = f, p
		}
	}
	return found, params
}

// readBody returns nil for a request whose length is unknown, as the host does: only a proxied
// request keeps such a body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 {
		return nil, nil
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
}

// response is what a caller gets.
type response struct {
	status int
	header http.Header
	body   []byte
}

// detach calls a function and answers the caller, who may give up: the function goes on.
func (s *frontend) detach(w http.ResponseWriter, f *function, call func(context.Context, *invocation) (*response, error)) {
	type outcome struct {
		response *response
		err      error
	}
	done := make(chan outcome, 1)
	started := s.background.begin(func() {
		var o outcome
		o.err = s.invoker.run(s.life, f, reasonAPI, func(ctx context.Context, i *invocation) (err error) {
			o.response, err = call(ctx, i)
			return err
		})
		done <- o
	})
	if !started {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	patience := time.NewTimer(s.timeout)
	defer patience.Stop()
	select {
	case o := <-done:
		if o.err != nil {
			w.WriteHeader(statusOf(o.err))
			return
		}
		for k, v := range o.response.header {
			w.Header()[k] = v
		}
		w.WriteHeader(o.response.status)
		_, _ = w.Write(o.response.body)
	case <-patience.C:
		w.WriteHeader(http.StatusGatewayTimeout)
	}
}

// statusOf is what a caller learns of a call that failed.
func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errFrontEnd):
		return http.StatusGatewayTimeout
	case errors.Is(err, errStopped):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// admin is POST /admin/functions/{name}: it answers 202 and calls the function afterwards.
func (s *frontend) admin(w http.ResponseWriter, r *http.Request, name string) {
	if s.keys.level(r, "") < levelAdmin {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	var call *struct{ Input any }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&call); err != nil || call == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f := s.app.function(name)
	switch {
	case f == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case f.timer == nil:
		http.Error(w, "this stand-in fires timers only", http.StatusBadRequest)
		return
	}
	started := s.background.begin(func() { s.fire(f) })
	if !started {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// fire calls a timer's function with the status that is stored. What goes wrong is in the log.
func (s *frontend) fire(f *function) {
	t := s.timers[f.name]
	var status *scheduleStatus
	if t.monitor {
		var err error
		if status, err = t.storage.load(s.life); err != nil {
			s.log.Error("The function could not be called", "category", "Function."+f.name, "function", f.name, "error", err)
			return
		}
	}
	_ = t.invoke(s.life, reasonAPI, newTimerInfo(status, false))
}
