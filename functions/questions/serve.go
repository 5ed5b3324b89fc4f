package questions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"isochrone/functions/host"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

// description is the name under which the description of all questions is served.
const description = "openapi.json"

// The bounds of a question.
const (
	// MaxAtOnce is how many questions are answered at once: the largest hold some ten MiB.
	MaxAtOnce = 8
	// patience is how long a question waits for its turn.
	patience = 10 * time.Second
	// retryAfter is what is said when storage fails or nobody has time, in seconds.
	retryAfter = "30"
)

// Handler answers questions. Make it with New.
type Handler struct {
	environment string
	now         func() time.Time
	timeout     time.Duration
	open        func(ctx context.Context) (Rows, Blobs, error)
	questions   []question
	described   func() []byte // made when it is first asked for: the app's start does not wait for it
	places      chan struct{} // as many as are answered at once
}

// New makes a handler for an environment. open gives the stores, and may be called at once; timeout is that
// of one question.
func New(environment string, timeout time.Duration, now func() time.Time, open func(ctx context.Context) (Rows, Blobs, error)) *Handler {
	h := &Handler{environment: environment, now: now, timeout: timeout, open: open, questions: table(), places: make(chan struct{}, MaxAtOnce)}
	h.described = sync.OnceValue(func() []byte { return describe(h.questions) })
	return h
}

// ServeHTTP answers the question that host.Rest names. Nothing of the query is logged: it may hold the key.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	name := strings.ToLower(host.Rest(r)) // routes have no case, and nor have these
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, r, name, &refusal{http.StatusMethodNotAllowed, []fault{{"", "questions are asked by GET alone", "send GET"}}})
		return
	case name == description:
		body := h.described()
		send(w, r, body, tagOf(body))
		return
	}
	begun := time.Now()
	body, tag, err := h.answer(r, name)
	if err != nil {
		h.fail(w, r, name, err)
		return
	}
	send(w, r, body, tag)
	host.Log(r.Context()).Info("question answered", "question", name, "bytes", len(body), "ms", time.Since(begun).Milliseconds())
}

func (h *Handler) answer(r *http.Request, name string) (body []byte, tag string, err error) {
	q, known := find(h.questions, name)
	if !known {
		return nil, "", notFound("", "question", clip(name), h.names())
	}
	a, refused := parse(q, r.URL.RawQuery, h.now())
	if refused != nil {
		return nil, "", refused
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	leave, err := h.enter(ctx)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	a.environment = h.environment
	if a.rows, a.blobs, err = h.open(ctx); err != nil {
		return nil, "", err
	}
	if a.config, err = answers.ReadConfig(ctx, a.blobs, h.environment); err != nil {
		return nil, "", err
	}
	if refused := a.checkNames(); refused != nil {
		return nil, "", refused
	}
	found, err := q.ask(ctx, a)
	if err != nil {
		return nil, "", err
	}
	return encode(found)
}

// names lists what there is to ask.
func (h *Handler) names() []string {
	names := make([]string, 0, len(h.questions)+1)
	for i := range h.questions {
		names = append(names, h.questions[i].name)
	}
	return append(names, description)
}

var errBusy = errors.New("too many questions at once")

// enter waits for a turn.
func (h *Handler) enter(ctx context.Context) (leave func(), err error) {
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case h.places <- struct{}{}:
		return func() { <-h.places }, nil
	case <-wait.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fail turns an error into an answer.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, name string, err error) {
	var refused *refusal
	var faults config.Faults
	one := func(status int, message, remedy string) *refusal {
		return &refusal{status, []fault{{"", message, remedy}}}
	}
	switch {
	case errors.As(err, &refused):
	case r.Context().Err() != nil && errors.Is(r.Context().Err(), context.Canceled):
		return // nobody reads it
	case errors.Is(err, answers.ErrNoConfig):
		refused = one(http.StatusNotFound, fmt.Sprintf("environment %q has no configuration yet", h.environment), "push one with: sweep config push sweep.yaml")
	case errors.As(err, &faults):
		refused = one(http.StatusServiceUnavailable, "the configuration cannot be used", "repair it and push it again with: sweep config push sweep.yaml")
	case errors.Is(err, errBusy):
		refused = one(http.StatusServiceUnavailable, err.Error(), "ask again later")
	case errors.Is(err, context.DeadlineExceeded):
		refused = one(http.StatusServiceUnavailable, fmt.Sprintf("the answer took longer than %s", h.timeout), "ask again later, or for less: a later since, one source")
	default: // what storage said is for the log
		refused = one(http.StatusServiceUnavailable, "storage could not be read", "ask again later; the app's log says why")
	}
	if refused.status == http.StatusServiceUnavailable {
		host.Log(r.Context()).Error("question not answered", "question", clip(name), "error", err)
		w.Header().Set("Retry-After", retryAfter)
	}
	h.refuse(w, r, name, refused)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, name string, p *refusal) {
	if p.status < http.StatusInternalServerError {
		parameters := make([]string, len(p.faults))
		for i := range p.faults {
			parameters[i] = p.faults[i].Parameter
		}
		host.Log(r.Context()).Warn("question refused", "question", clip(name), "status", p.status, "parameters", parameters)
	}
	sendFailure(w, r, p)
}
