package functionshost

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	proxyAttempts = 10
	proxyPause    = 50 * time.Millisecond // doubled from attempt to attempt, up to proxyMaxPause
	proxyMaxPause = 250 * time.Millisecond
)

// proxy hands a request through as it is, and streams both ways. It breaks off when the caller
// does.
func (s *frontend) proxy(w http.ResponseWriter, r *http.Request, f *function) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.timeout, errFrontEnd)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.life, func() { end(context.Cause(s.life)) })()
	// Or Go's server would read the whole request before it lets the first byte of the answer out.
	// An error says that the connection is full-duplex anyway (HTTP/2).
	_ = http.NewResponseController(w).EnableFullDuplex()
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	aborted := false
	err := s.invoker.run(ctx, f, reasonAPI, func(ctx context.Context, i *invocation) (err error) {
		defer func() {
			// This is how ReverseProxy says that the answer broke off halfway.
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					panic(p)
				}
				aborted, err = true, errors.Join(errors.New("the handler's answer broke off"), context.Cause(ctx))
			}
		}()
		proxy := &httputil.ReverseProxy{
			Rewrite:       func(p *httputil.ProxyRequest) { s.rewrite(p, i) },
			Transport:     s.transport,
			FlushInterval: -1,
			ErrorLog:      log.New(io.Discard, "", 0),
			ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failure error) {
				err = fmt.Errorf("failed to proxy the request: %w", errors.Join(failure, context.Cause(ctx)))
			},
		}
		proxy.ServeHTTP(w, r.WithContext(ctx))
		return err
	})
	switch {
	case aborted:
		panic(http.ErrAbortHandler) // the caller's connection breaks off, too
	case err != nil:
		w.WriteHeader(statusOf(err))
	}
}

// rewrite leaves path, query and headers alone: Host becomes the handler's, and the invocation's
// headers replace any that the caller sent.
func (s *frontend) rewrite(p *httputil.ProxyRequest, i *invocation) {
	p.SetURL(&url.URL{Scheme: "http", Host: s.invoker.handler.address()})
	p.Out.URL.Path, p.Out.URL.RawPath, p.Out.URL.RawQuery = p.In.URL.Path, p.In.URL.RawPath, p.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := p.In.Header.Values(name); len(v) > 0 {
			p.Out.Header[name] = v
		}
	}
	i.identify(p.Out.Header)
}

// retrying tries again while nothing listens on the handler's port.
type retrying struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt, pause := 1, proxyPause; ; attempt, pause = attempt+1, min(2*pause, proxyMaxPause) {
		resp, err := t.next.RoundTrip(r)
		var dial *net.OpError
		if err == nil || attempt == proxyAttempts || !errors.As(err, &dial) || dial.Op != "dial" || !sleep(r.Context(), pause) {
			return resp, err
		}
	}
}

// hopByHop headers concern one connection.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends the request on with its method, path, query, headers and body, and takes the whole
// answer back.
func (s *frontend) forward(ctx context.Context, i *invocation, r *http.Request, body []byte) (*response, error) {
	target := "http://" + s.invoker.handler.address() + r.URL.EscapedPath()
	if q := r.URL.Query(); len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header.Clone()
	for _, name := range hopByHop {
		req.Header.Del(name)
	}
	req.Host = r.Host
	i.identify(req.Header)
	agent := strings.TrimSpace(req.Header.Get("User-Agent") + " Azure-Functions-Host/" + hostVersion)
	req.Header.Set("User-Agent", agent)
	resp, err := s.invoker.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("forwarding to the handler: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the handler's answer: %w", err)
	}
	for _, name := range hopByHop {
		resp.Header.Del(name)
	}
	return &response{status: resp.StatusCode, header: resp.Header, body: answer}, nil
}

// call sends the request as an invocation, and makes the answer's http output the response.
func (s *frontend) call(ctx context.Context, i *invocation, r *http.Request, params map[string]any, level authLevel, body []byte) (*response, error) {
	p, err := httpPayload(i.function, r, params, level, body, s.now())
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	a, err := s.invoker.post(ctx, i, p)
	if err != nil {
		return nil, err
	}
	switch output := i.function.http.output; output {
	case "":
		return &response{status: http.StatusOK}, nil
	case "$return":
		return returned(a.ReturnValue)
	default:
		return fromOutput(a.Outputs[output])
	}
}

// httpOutput is an http output's value; names are matched in any case.
type httpOutput struct {
	StatusCode any
	Status     any
	Body       json.RawMessage
	Headers    map[string]any
}

// fromOutput makes a response of a named http output. An absent one is an empty object.
func fromOutput(raw json.RawMessage) (*response, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" { // the object may come inside a string
		raw = json.RawMessage(text)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return textResponse(http.StatusOK, []byte("{}")), nil
	}
	var out httpOutput
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("output body should have 'StatusCode', 'Status', 'Body', and 'Headers': %w", err)
	}
	resp := textResponse(out.status(), render(out.Body))
	for k, v := range out.Headers {
		resp.header.Set(k, fmt.Sprint(v))
	}
	return resp, nil
}

// returned makes a response of $return: a string that happens to be base64 is decoded, an object
// with a body is a response, and everything else is a body.
func returned(raw json.RawMessage) (*response, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return textResponse(http.StatusOK, decoded), nil
		}
		raw = json.RawMessage(text)
	}
	var out httpOutput
	if json.Unmarshal(raw, &out) == nil && out.Body != nil {
		return fromOutput(raw)
	}
	if text != "" {
		return textResponse(http.StatusOK, []byte(text)), nil
	}
	return textResponse(http.StatusOK, render(raw)), nil
}

func textResponse(status int, body []byte) *response {
	return &response{status: status, body: body, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}
}

// status is StatusCode, or Status, as a number or a string of digits; 200 if there is none that a
// response can have.
func (o *httpOutput) status() int {
	for _, v := range []any{o.StatusCode, o.Status} {
		if v == nil {
			continue
		}
		if n, err := strconv.Atoi(fmt.Sprint(v)); err == nil && n >= 100 && n <= 999 {
			return n
		}
	}
	return http.StatusOK
}

// render writes a string as it is, and anything else as JSON in the host's own layout.
func render(raw json.RawMessage) []byte {
	var text string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return raw
	}
	return out.Bytes()
}
