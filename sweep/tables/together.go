package tables

import (
	"context"
	"sync"
	"time"
)

// together writes what several callers want written at the same time in one go. Whoever comes while
// a write is under way waits for the next, which begins after he came. It suits operations that may
// be repeated and are the same whoever asks for them.
type together struct {
	limit time.Duration // of one write

	mu    sync.Mutex
	next  *joint // of those who wait for it to begin; nil when nobody does
	under bool   // a write is under way
}

// joint is one write of several callers.
type joint struct {
	ops     []operation
	callers int
	done    chan struct{}
	err     error // after done
}

// write returns when ops are written, or ctx ends; then they may be written all the same. When those
// of several callers failed together, each writes his own, so that nobody hears of another's fault.
func (t *together) write(ctx context.Context, ops []operation, write func(context.Context, []operation) error) error {
	j := t.join(context.WithoutCancel(ctx), ops, write)
	select {
	case <-j.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.err != nil && j.callers > 1 {
		return write(ctx, ops)
	}
	return j.err
}

func (t *together) join(ctx context.Context, ops []operation, write func(context.Context, []operation) error) *joint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = &joint{done: make(chan struct{})}
	}
	j := t.next
	j.ops = append(j.ops, ops...)
	j.callers++
	if !t.under {
		t.under = true
		go t.run(ctx, write)
	}
	return j
}

// run writes until nobody waits. ctx ends with nobody's call.
func (t *together) run(ctx context.Context, write func(context.Context, []operation) error) {
	for {
		t.mu.Lock()
		j := t.next
		t.next = nil
		if j == nil {
			t.under = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		limited, cancel := context.WithTimeout(ctx, t.limit)
		j.err = write(limited, j.ops)
		cancel()
		close(j.done)
	}
}
