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

// silentPolls is how many polling intervals may pass without a success before the prober is
// unhealthy: a minute by default, longer than storage's usual hiccups.
const silentPolls = 12

// health says whether the prober can do its work: it is of no use once it cannot learn what to
// do. Delivery is not part of it: documents wait in the spool, and a restart would lose them.
type health struct {
	now    func() time.Time
	limit  time.Duration
	polled atomic.Int64 // when a poll last succeeded, in Unix nanoseconds; at first the program's start
}

func newHealth(now func() time.Time, poll time.Duration) *health {
	h := &health{now: now, limit: silentPolls * poll}
	h.pollSucceeded()
	return h
}

func (h *health) pollSucceeded() { h.polled.Store(h.now().UnixNano()) }

// check is nil while the prober is healthy.
func (h *health) check() error {
	last := time.Unix(0, h.polled.Load()).UTC()
	if silent := h.now().Sub(last); silent > h.limit {
		return fmt.Errorf("polling assignments has failed for %s, since %s", silent.Round(time.Second), last.Format(time.RFC3339))
	}
	return nil
}

func (h *health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := h.check(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err) // who asked is gone if this fails
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// serveLocal serves /healthz and /metrics until ctx ends.
func serveLocal(ctx context.Context, listener net.Listener, h *health, m *metrics) error {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", h)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health and metrics: %w", err)
	}
	return nil
}
