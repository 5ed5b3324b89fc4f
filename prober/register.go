package main

import (
	"context"
	"log/slog"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/wire"
)

// book is where a prober registers. Each call is one attempt.
type book interface {
	Register(ctx context.Context, r wire.Registration) error
}

// registrar keeps the registration fresh.
type registrar struct {
	book         book
	registration wire.Registration
	now          func() time.Time
	log          *slog.Logger
	metrics      *metrics
	health       *health
}

// run registers at once and then at every heartbeat interval, until ctx ends. A failure is
// tried again sooner, so that one hiccup of storage does not cost one of the three heartbeats
// after which the app takes the prober for down.
func (r *registrar) run(ctx context.Context) error {
	backoff := mailbox.Backoff{First: time.Second, Most: r.registration.HeartbeatInterval}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		now := r.registration
		now.Heartbeat = r.now().UTC()
		now.Provenance.ClockErrorNS = clockErrorNS()
		wait := now.HeartbeatInterval
		switch err := r.book.Register(ctx, now); {
		case err == nil:
			r.metrics.heartbeats.Inc()
			r.health.heartbeatSucceeded()
			backoff.Reset()
		case ctx.Err() != nil:
			return nil
		default:
			wait = backoff.Next()
			r.log.Warn("the heartbeat failed", "error", err, "retry_after", wait)
		}
		timer.Reset(wait)
	}
}
