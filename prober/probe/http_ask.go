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
}

// answer is what became of one request. Durations are nanoseconds, and notYet where there is none.
type answer struct {
	ended                        time.Time
	dns, connect, tls, firstByte int64
	server                       int64
	address                      string       // numeric, that was connected to; empty where none was
	failure                      wire.Failure // with an error
}

// attempt is a request on its way.
type attempt struct {
	ctx   context.Context // the request's own, which ends with it
	stage atomic.Int32
	conn  *phasedConn // that carried it
	first atomic.Int64
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

// ask makes one request, and reads its answer to the end. Redirections are answers.
func (c *httpClient) ask(ctx context.Context) (answer, error) {
	a := new(attempt)
	origin := socket.Now()
	a.ctx = httptrace.WithClientTrace(context.WithValue(ctx, attemptKey{}, a), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.conn, _ = info.Conn.(*phasedConn)
			a.stage.Store(stageAsked)
		},
		GotFirstResponseByte: func() {
			a.first.Store(int64(socket.Now().Sub(origin)))
			a.stage.Store(stageAnswered)
		},
	})
	got, err := c.exchange(a)
	if got.ended.IsZero() {
		got.ended = socket.Now()
	}
	got.dns, got.connect, got.tls, got.firstByte = notYet, notYet, notYet, notYet
	if a.conn != nil {
		got.address = a.conn.address
		if !a.conn.used.Swap(true) { // else it stood before the request
			got.dns, got.connect, got.tls = a.conn.dns, a.conn.connect, a.conn.tls
		}
		if err == nil {
			got.firstByte = max(a.first.Load()-int64(a.conn.wrote.Load().Sub(origin)), 0)
		}
	}
	if err != nil {
		stage := a.stage.Load()
		got.failure = httpFailure(ctx, stage, err)
		if got.failure == wire.FailureTimeout {
			err = fmt.Errorf("timed out %s: %w", stageNames[stage], err)
		}
	}
	return got, err
}

func (c *httpClient) exchange(a *attempt) (answer, error) {
	got := answer{server: notYet}
	response, err := c.transport.RoundTrip(c.request.WithContext(a.ctx))
	if err != nil {
		return got, err
	}
	defer response.Body.Close() // it was read, or is not wanted
	if response.StatusCode < 200 {
		return got, fmt.Errorf("%w: status %d, which was not asked for", errProtocol, response.StatusCode)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswerBodyBytes+1))
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
	if held, ok := serverTiming(slices.Concat(response.Header[field], response.Trailer[field])); ok {
		got.server = int64(held)
	}
	return got, nil
}
