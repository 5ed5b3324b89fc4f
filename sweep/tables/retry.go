package tables

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// patience says how long an operation is tried. The waits double from first to most, each with
// half of it left to chance so that writers which failed together do not meet again.
type patience struct {
	try         time.Duration // limit of one request, its answer included
	first, most time.Duration // wait after the first failure, and the longest
	budget      time.Duration // no try begins later than this
}

// defaultPatience outlasts the throttling of a partition, and leaves a tick of the app time to
// report what did not work.
var defaultPatience = patience{try: 20 * time.Second, first: 200 * time.Millisecond, most: 10 * time.Second, budget: time.Minute}

// wait is how long to wait after a failure, 1 being the first.
func (p patience) wait(failure int) time.Duration {
	d := p.first
	for range failure - 1 {
		if d = 2 * d; d >= p.most {
			d = p.most
			break
		}
	}
	return d/2 + rand.N(d/2+1)
}

// retry runs op until it succeeds, fails for good, or the budget or ctx ends. op must be such
// that it may be repeated although it was done: an answer can be lost on its way back.
//
// What the service answered is returned as a *fault.
func (s *Store) retry(ctx context.Context, op func(context.Context) error) error {
	begun := time.Now()
	for failure := 1; ; failure++ {
		err := op(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := s.patience.wait(failure)
		var final interface{ NonRetriable() } // what the SDK says of a missing or refused identity
		if f := readFault(err); f != nil {
			if !f.temporary() {
				return f
			}
			err, wait = f, max(wait, f.after)
		} else if errors.As(err, &final) {
			return err
		}
		// Anything else is the network's, or a try that took too long.
		if time.Since(begun)+wait > s.patience.budget {
			return fmt.Errorf("giving up after %d tries: %w", failure, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%w, after %d tries: %w", ctx.Err(), failure, err)
		}
	}
}
