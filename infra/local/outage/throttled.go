package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/storageproxy"
)

const (
	// throttledFor is how long storage is throttled, by the real clock; the simulated one goes ten times as
	// fast meanwhile. An operation is tried for a minute, by the app and by the SDK, and so many are given up.
	throttledFor = 3 * time.Minute
	speed        = 10
	// throttledPart is the part of all requests that are refused.
	throttledPart = 0.75
)

// throttled is a fault function that answers a part of all requests as an account does that is over its
// limits: 503 for tables and blobs (ServerBusy), now and then 429, with and without Retry-After.
func throttled(part float64, seed uint64) func(*http.Request) storageproxy.Fault {
	var lock sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return func(*http.Request) storageproxy.Fault {
		lock.Lock()
		defer lock.Unlock()
		if random.Float64() >= part {
			return storageproxy.Fault{}
		}
		f := storageproxy.Fault{Status: http.StatusServiceUnavailable}
		if random.IntN(4) == 0 {
			f.Status = http.StatusTooManyRequests
		}
		if random.IntN(2) == 0 {
			f.RetryAfter = time.Second
		}
		return f
	}
}

// throttle takes the environment through minutes of throttling with the patience that the programs really have:
// that time cannot be simulated. Before and after it the clock goes in steps.
func (r *rehearsal) throttle(ctx context.Context, lasting time.Duration) (*outcome, error) {
	begin, first := r.clock(), r.next
	from := begin.Add(lead).Truncate(period).Add(-step)
	until := from.Add(speed * lasting)
	out := &outcome{outage: lasting, caughtUp: -1}
	for at := begin; at.Before(from); at = at.Add(step) {
		if err := r.at(ctx, at); err != nil {
			return nil, err
		}
	}
	r.proxy.SetFault(throttled(throttledPart, 5))
	started := time.Now()
	for last := from; ; {
		at := from.Add(speed * time.Since(started)).Truncate(step)
		if !at.Before(until) || ctx.Err() != nil {
			break
		}
		if at.After(last) {
			last = at
			if r.at(ctx, at) != nil {
				out.failed++ // what a tick could not do is left to the next
			}
		}
		time.Sleep(step / speed / 10)
	}
	_, out.refused = r.proxy.Counts()
	r.proxy.SetFault(nil)
	r.busy, r.listed = 0, -1
	for at := until; at.Before(until.Add(tail)); at = at.Add(step) {
		if err := r.at(ctx, at); err != nil {
			return nil, err
		}
		if out.caughtUp < 0 {
			done, err := r.caughtUp(ctx, first, until)
			if err != nil {
				return nil, err
			}
			if done {
				out.caughtUp, out.busy = at.Sub(until), r.busy
			}
		}
		if out.caughtUp >= 0 && at.After(until.Add(4*period)) {
			break
		}
	}
	return out, r.judge(ctx, out, first)
}

// at is a moment with storage there.
func (r *rehearsal) at(ctx context.Context, at time.Time) error {
	r.mu.Lock()
	r.now = at
	r.mu.Unlock()
	if err := r.moment(ctx, at, false, 0); err != nil {
		return err
	}
	return ctx.Err()
}

// rehearseThrottling has an environment of its own go through minutes of throttling.
func rehearseThrottling(ctx context.Context, server *azurite.Server, environment, dir string, lasting time.Duration, stdout io.Writer) (*outcome, error) {
	begin := time.Now().UTC().Add(-speed*lasting - lead - tail - time.Hour).Truncate(period).Add(5 * time.Minute)
	r, err := newRehearsal(ctx, server, environment, dir, begin)
	if err != nil {
		return nil, err
	}
	o, err := r.throttle(ctx, lasting)
	if stopped := r.stop(); err == nil {
		err = stopped
	}
	if err == nil {
		_, err = fmt.Fprintf(stdout, "         %d requests were refused, and %d moments ended with a fault; the simulated clock went %d times as fast\n", o.refused, o.failed, speed)
	}
	return o, err
}
