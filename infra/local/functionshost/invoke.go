package functionshost

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"
)

const (
	// hostVersion is what the handler is told.
	hostVersion = "4.0.0-local"

	headerInvocationID = "X-Azure-Functions-InvocationId"
	headerHostVersion  = "X-Azure-Functions-HostVersion"

	maxAnswer    = 100 << 20 // bytes
	maxRedirects = 50
	maxQuote     = 4 << 10 // bytes of a wrong answer that an error quotes
)

var (
	errFunctionTimeout = errors.New("the function's time is over")
	errInvalidAnswer   = errors.New("invalid HttpResponseMessage")
)

// invoker calls functions through the handler.
type invoker struct {
	handler *handler
	client  *http.Client
	log     *slog.Logger
	timeout time.Duration // of a function; 0 is none
}

func newInvoker(h *handler, timeout time.Duration, log *slog.Logger) *invoker {
	transport := &http.Transport{DisableCompression: true}
	h.restarted = transport.CloseIdleConnections
	return &invoker{handler: h, log: log, timeout: timeout, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if h.app.forwarding || len(via) >= maxRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}
}

// invocation is one call of a function.
type invocation struct {
	id       string
	function *function
	reason   string
	log      *slog.Logger // of what the function itself has to say
}

// run calls a function by means of call, within the function's time. When that is over the handler
// is killed, with everything else it was doing; ctx ending earlier is no more than an error.
func (v *invoker) run(ctx context.Context, f *function, reason string, call func(context.Context, *invocation) error) error {
	id, err := newID()
	if err != nil {
		return err
	}
	log := v.log.With("function", f.name, "invocation_id", id)
	i := &invocation{id: id, function: f, reason: reason, log: log.With("category", "Function."+f.name+".User")}
	log = log.With("category", "Function."+f.name)
	start := time.Now()
	log.Info("Executing 'Functions."+f.name+"'", "reason", reason)
	if v.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, v.timeout, errFunctionTimeout)
		defer cancel()
	}
	called := false
	if err = v.handler.await(ctx); err == nil {
		called = true
		err = call(ctx, i)
	}
	if err != nil && errors.Is(context.Cause(ctx), errFunctionTimeout) {
		err = fmt.Errorf("timeout value of %s exceeded by function 'Functions.%s' (Id: '%s'): %w", v.timeout, f.name, id, errFunctionTimeout)
		if called { // a handler that is still starting has its own limit
			v.handler.kill()
		}
	}
	took := slog.Float64("duration_ms", float64(time.Since(start).Microseconds())/1000)
	if err != nil {
		log.Error("Executed 'Functions."+f.name+"' (Failed)", took, "error", err)
		return err
	}
	log.Info("Executed 'Functions."+f.name+"' (Succeeded)", took)
	return nil
}

// answer is what a handler says to an invocation. Names are matched in any case.
type answer struct {
	Outputs     map[string]json.RawMessage
	Logs        []any
	ReturnValue json.RawMessage
}

// post sends an invocation's payload and reads the answer. An answer that says nothing (an empty
// body, null) is not an error: the host waits on, until the function's time is over.
func (v *invoker) post(ctx context.Context, i *invocation, p *payload) (*answer, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding the invocation: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.handler.address()+"/"+i.function.name, nil)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = -1 // unknown, and so chunked, as the host's is
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	i.identify(req.Header)
	req.Header.Set("User-Agent", "Azure-Functions-Host/"+hostVersion)
	req.Header.Set("Traceparent", traceparent())

	resp, err := v.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling the handler: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("response status code does not indicate success: %s", resp.Status)
	}
	a, err := readAnswer(resp)
	if err != nil {
		return nil, err
	}
	if a == nil {
		i.log.Debug("the answer is empty or null: waiting until the function's time is over")
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	for _, line := range a.Logs {
		i.log.Info(fmt.Sprint(line))
	}
	return a, nil
}

// readAnswer returns nil when the answer says nothing. What follows the first JSON value is not
// looked at, as in the host.
func readAnswer(resp *http.Response) (*answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the handler's answer: %w", err)
	}
	if len(body) == 0 {
		return nil, nil
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || (kind != "application/json" && kind != "text/json") {
		return nil, fmt.Errorf("%w: Content-Type %q is not JSON: %s", errInvalidAnswer, resp.Header.Get("Content-Type"), quote(body))
	}
	var a *answer
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&a); err != nil && !(errors.Is(err, io.EOF) && len(bytes.TrimSpace(body)) == 0) {
		return nil, fmt.Errorf("%w: %w: %s", errInvalidAnswer, err, quote(body))
	}
	return a, nil
}

func quote(body []byte) string { return fmt.Sprintf("%q", body[:min(len(body), maxQuote)]) }

// identify puts the invocation's headers in place of any that are there.
func (i *invocation) identify(h http.Header) {
	h.Set(headerInvocationID, i.id)
	h.Set(headerHostVersion, hostVersion)
}

// traceparent is a W3C trace context that nobody else takes part in.
func traceparent() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails, and tracing is not worth an error
	return fmt.Sprintf("00-%x-%x-00", b[:16], b[16:])
}
