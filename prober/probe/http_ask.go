package probe

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// Limits of an answer. The server may be anyone's.
const (
	maxAnswerBodyBytes   = 16 << 20
	maxAnswerHeaderBytes = 64 << 10
)

// httpClient makes the requests of one run.
type httpClient struct {
	name      string // of what is asked for, fit to be shown
	request   *http.Request
	transport *http.Transport
	dialer    net.Dialer
	roots     *x509.CertPool              // nil: the system's
	last      atomic.Pointer[net.TCPConn] // the connection that was opened last
	least     atomic.Int64                // the smallest connect phase, ns; 0: none yet
	// under, if it is set, is what a connection is used through, beneath TLS where there is any.
	under func(*net.TCPConn) net.Conn
}

// answer is what became of one request. Durations are nanoseconds, and notYet where there is none.
type answer struct {
	ended                        time.Time
	dns, connect, tls, firstByte int64
	server                       int64
	// client is how long the answer's end had been in this machine, where the kind asks for it.
	client  int64
	address string       // numeric, that was connected to; empty where none was
	failure wire.Failure // with an error
}

// attempt is a request on its way.
type attempt struct {
	ctx   context.Context // the request's own, which ends with it
	stage atomic.Int32
	conn  *phasedConn  // that carried it
	first atomic.Int64 // byte of the answer, as socket.Clocks.Monotonic
	body  io.LimitedReader
}

// attemptKey finds the attempt in the context that net/http hands to the dial functions. That
// context does not end with the request.
type attemptKey struct{}

// The stages of a request, in their order.
const (
	stageWaiting int32 = iota
	stageResolving
	stageConnecting
	stageSecuring
	stageAsked
	stageAnswered
)

var stageNames = [...]string{
	stageWaiting:    "waiting for the connection",
	stageResolving:  "resolving the name",
	stageConnecting: "connecting",
	stageSecuring:   "in the TLS handshake",
	stageAsked:      "waiting for the answer",
	stageAnswered:   "reading the answer",
}

// newAttempt begins the context of a request. One that is over can be made again for another.
func newAttempt(ctx context.Context) *attempt {
	a := new(attempt)
	a.ctx = httptrace.WithClientTrace(context.WithValue(ctx, attemptKey{}, a), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.conn, _ = info.Conn.(*phasedConn)
			a.stage.Store(stageAsked)
		},
		GotFirstResponseByte: func() {
			a.first.Store(socket.Monotonic(socket.Now()))
			a.stage.Store(stageAnswered)
		},
	})
	return a
}

// again makes the attempt good for another request.
func (a *attempt) again() {
	a.conn = nil
	a.stage.Store(stageWaiting)
	a.first.Store(0)
}

// ask makes one request, and reads its answer to the end. Redirections are answers.
func (c *httpClient) ask(ctx context.Context) (answer, error) {
	a := newAttempt(ctx)
	got, err := c.exchange(a, c.request.WithContext(a.ctx))
	a.complete(&got, err)
	if err != nil {
		got.failure, err = a.failed(ctx, err)
	}
	return got, err
}

// complete notes when the request ended, and what its connection knows.
func (a *attempt) complete(got *answer, err error) {
	if got.ended.IsZero() {
		got.ended = socket.Now()
	}
	got.dns, got.connect, got.tls, got.firstByte = notYet, notYet, notYet, notYet
	if a.conn == nil {
		return
	}
	got.address = a.conn.address
	if !a.conn.used.Swap(true) { // else it stood before the request
		got.dns, got.connect, got.tls = a.conn.dns, a.conn.connect, a.conn.tls
	}
	if err == nil {
		got.firstByte = max(a.first.Load()-a.conn.wrote.Load(), 0)
	}
}

// failed is the failure code of the request, whose context is ctx, and its error for people.
func (a *attempt) failed(ctx context.Context, err error) (wire.Failure, error) {
	stage := a.stage.Load()
	f := httpFailure(ctx, stage, err)
	if f == wire.FailureTimeout {
		err = fmt.Errorf("timed out %s: %w", stageNames[stage], err)
	}
	return f, err
}

// exchange sends the request, whose context is the attempt's, and reads the answer. It allocates
// nothing beside what net/http does.
func (c *httpClient) exchange(a *attempt, request *http.Request) (answer, error) {
	got := answer{server: notYet, client: notYet}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close() // it was read, or is not wanted
	if response.StatusCode < 200 {
		return got, fmt.Errorf("%w: status %d, which was not asked for", errProtocol, response.StatusCode)
	}
	a.body = io.LimitedReader{R: response.Body, N: maxAnswerBodyBytes + 1}
	n, err := io.Copy(io.Discard, &a.body)
	got.ended = socket.Now()
	switch {
	case err != nil:
		return got, err
	case n > maxAnswerBodyBytes:
		return got, fmt.Errorf("%w: the body is larger than %d MiB; ask for something smaller", errProtocol, maxAnswerBodyBytes>>20)
	case response.StatusCode >= 400:
		return got, statusError(response.StatusCode)
	}
	// A server that knows its time only at the end says it in the trailer.
	const field = "Server-Timing"
	values := response.Header[field]
	if more := response.Trailer[field]; len(more) > 0 {
		values = slices.Concat(values, more)
	}
	if held, ok := serverTiming(values); ok {
		got.server = int64(held)
	}
	return got, nil
}
