package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// stuckAfter is how long the agent's loop may take to come round. A poll that hangs is given
	// up after half a minute, and the longest interval is one.
	stuckAfter = 2 * time.Minute
	// silentPolls is how many polling intervals may pass without a success before the prober is
	// not ready: a minute by default, longer than storage's usual hiccups.
	silentPolls = 12
	// silentHeartbeats is how many heartbeat intervals may: after as many the app takes the
	// prober for down.
	silentHeartbeats = 3
)

// health answers two questions, because they have two answers. Alive: would a restart help? It
// would if the loop hangs; not if storage is away, and then it would lose the documents that
// wait, if they do so in memory. Ready: can it do its work? Not without storage.
//
// It goes by a monotonic clock, so that setting the wall clock makes nobody ill.
type health struct {
	uptime          func() time.Duration
	claim           *claim
	poll, heartbeat time.Duration // the intervals

	// Uptimes in nanoseconds; 0 is never.
	looped, polled, registered atomic.Int64
}

func newHealth(uptime func() time.Duration, c *claim, poll, heartbeat time.Duration) *health {
	h := &health{uptime: uptime, claim: c, poll: poll, heartbeat: heartbeat}
	h.mark(&h.looped) // the loop has as long for its first round as for any
	return h
}

// mark notes that something happened now.
func (h *health) mark(what *atomic.Int64) { what.Store(max(int64(h.uptime()), 1)) }

func (h *health) loopRuns()           { h.mark(&h.looped) }
func (h *health) pollSucceeded()      { h.mark(&h.polled) }
func (h *health) heartbeatSucceeded() { h.mark(&h.registered) }

// alive is nil while the program works as it should, whatever else does not.
func (h *health) alive() error {
	if since := h.uptime() - time.Duration(h.looped.Load()); since > stuckAfter {
		return fmt.Errorf("the loop that looks for assignments has not come round for %s", since.Round(time.Second))
	}
	return nil
}

// ready is nil while the prober can learn what to do, and is known to the app as the only one of
// its id. Delivery is not
// part of it: documents wait in the spool.
func (h *health) ready() error {
	return errors.Join(
		h.claim.contested(),
		h.lately("polling assignments", &h.polled, silentPolls*h.poll),
		h.lately("registering", &h.registered, silentHeartbeats*h.heartbeat),
	)
}

func (h *health) lately(what string, last *atomic.Int64, limit time.Duration) error {
	at := time.Duration(last.Load())
	switch since := h.uptime() - at; {
	case at == 0:
		return fmt.Errorf("%s has not succeeded yet", what)
	case since > limit:
		return fmt.Errorf("%s has not succeeded for %s", what, since.Round(time.Second))
	}
	return nil
}

// answering serves what check says: 200, or 503 with the reason.
func answering(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err) // who asked is gone if this fails
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// serveLocal serves /healthz, /readyz and /metrics until ctx ends.
func serveLocal(ctx context.Context, listener net.Listener, h *health, m *metrics) error {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", answering(h.alive))
	mux.Handle("GET /readyz", answering(h.ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(m, promhttp.HandlerOpts{}))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health and metrics: %w", err)
	}
	return nil
}
