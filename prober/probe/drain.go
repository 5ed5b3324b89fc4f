package probe

import (
	"context"
	"time"
)

// drain waits for done: until the given time, but at most drainGrace longer than ctx lasts, and
// never past the deadline. It reports whether done was closed.
func drain(ctx context.Context, until, deadline time.Time, done <-chan struct{}) bool {
	timer := time.NewTimer(min(time.Until(until), time.Until(deadline)))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
	}
	timer.Reset(min(drainGrace, time.Until(until), time.Until(deadline)))
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
