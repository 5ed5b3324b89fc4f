package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"isochrone/prober/mailbox"
	"isochrone/prober/wire"
)

const (
	// freshHeartbeats is how many of its intervals another process's heartbeat counts: it may
	// have failed once.
	freshHeartbeats = 2
	// lookAgain is how often a process that stands aside looks whether the other has stopped.
	lookAgain = 2 * time.Second
	// complainEvery is how often the log says that two processes have one id.
	complainEvery = time.Minute
	// releaseBound is how long a stopping process tries to release its id.
	releaseBound = 2 * time.Second
)

// book is where a prober registers. Each call is one attempt.
type book interface {
	// Registered is what is stored, nil for nothing, and how long ago it was written.
	Registered(ctx context.Context) (*wire.Registration, time.Duration, error)
	Register(ctx context.Context, r wire.Registration) error
}

// registrar keeps the registration fresh, and looks whether another process has the same id.
type registrar struct {
	book         book
	registration wire.Registration
	now          func() time.Time
	log          *slog.Logger
	metrics      *metrics
	health       *health
	claim        *claim

	complained time.Time
}

// run registers at once and then at every heartbeat interval, until ctx ends, and then releases
// the id. A failure is tried again sooner, so that one hiccup of storage does not cost one of the
// three heartbeats after which the app takes the prober for down.
func (r *registrar) run(ctx context.Context) error {
	backoff := mailbox.Backoff{First: time.Second, Most: r.registration.HeartbeatInterval}
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer r.release(ctx)
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		wait, err := r.beat(ctx)
		switch {
		case err == nil:
			backoff.Reset()
		case ctx.Err() != nil:
			return nil
		default:
			wait = backoff.Next()
			r.metrics.heartbeatFailures.Inc()
			r.log.Warn("the heartbeat failed", "error", err, "retry_after", wait)
		}
		timer.Reset(wait)
	}
}

// beat makes one attempt at registering, unless an older process is registered; it says when to
// make the next.
func (r *registrar) beat(ctx context.Context) (time.Duration, error) {
	yield, err := r.look(ctx)
	if err != nil {
		return 0, err
	}
	if yield {
		return min(lookAgain, r.registration.HeartbeatInterval), nil
	}
	if err := r.book.Register(ctx, r.current()); err != nil {
		return 0, err
	}
	r.metrics.heartbeats.Inc()
	r.health.heartbeatSucceeded()
	return r.registration.HeartbeatInterval, nil
}

// current is the registration as of now.
func (r *registrar) current() wire.Registration {
	now := r.registration
	now.Heartbeat = r.now().UTC()
	now.Provenance.ClockErrorNS = clockErrorNS()
	return now
}

// look decides on the claim by what is stored. yield says that an older process is registered:
// writing ours would send other probers to the wrong one.
func (r *registrar) look(ctx context.Context) (yield bool, err error) {
	stored, age, err := r.book.Registered(ctx)
	if err != nil {
		return false, err
	}
	if stored == nil || stored.Started.Equal(r.registration.Started) {
		r.claim.uncontested()
		return false, nil
	}
	yield = r.registration.Started.After(stored.Started)
	if yield {
		r.claim.seen(earlier(stored.Heartbeat, r.now())) // its clock may be wrong
	}
	if !fresh(stored, age) {
		r.claim.uncontested()
		return false, nil
	}
	since := stored.Started.UTC().Format(time.RFC3339)
	r.claim.contest(fmt.Sprintf("another process is registered as %q since %s: stop one of them", stored.Prober, since), yield)
	r.complain(stored, yield)
	return yield, nil
}

// complain says so in the log, not too often.
func (r *registrar) complain(other *wire.Registration, yield bool) {
	now := r.now()
	if !r.complained.IsZero() && now.Sub(r.complained) < complainEvery {
		return
	}
	r.complained = now
	does := "goes on, as the older"
	if yield {
		does = "takes no assignments until the other stops, or has not been heard of for two of its heartbeat intervals"
	}
	r.log.Error(r.claim.contested().Error(), "addresses", other.Addresses, "heartbeat_interval", other.HeartbeatInterval.String(), "this_process", does)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// fresh says whether the process that wrote a registration that long ago has to be taken for
// alive.
func fresh(other *wire.Registration, age time.Duration) bool {
	return !other.Stopped && age <= freshHeartbeats*other.HeartbeatInterval
}

// release writes a last registration, so that the process that follows need not wait. If it
// fails, that one waits until this one's heartbeat is old.
func (r *registrar) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	stored, _, err := r.book.Registered(ctx)
	if err == nil && (stored == nil || !stored.Started.Equal(r.registration.Started)) {
		return // never registered, or another process is by now
	}
	if err == nil {
		last := r.current()
		last.Stopped = true
		err = r.book.Register(ctx, last)
	}
	if err != nil {
		r.log.Warn("releasing the prober's id failed: its next process takes no assignments for up to two heartbeat intervals", "error", err)
	}
}
