package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/sweep/ledger"
)

// lookBack is how long a sweep may take to be told of: longer than any takes to expire.
const lookBack = 30 * time.Minute

// follower tells of every further sweep when it is done, whatever order they come in, and of a
// prober that has ended as soon as it has.
type follower struct {
	local
	stack *stack.Stack
	first time.Time // the sweep that was shown already
	told  map[time.Time]bool
	ended map[string]bool
}

// run goes on until ctx ends, or without which no further sweep can be measured: the Functions host
// or the emulated network.
func (f *follower) run(ctx context.Context) int {
	f.ended = map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-f.stack.Host.Exited():
			return f.fail(fmt.Errorf("the Functions host ended: %w", f.stack.Host.Err()))
		case <-f.stack.NetworkExited():
			return f.fail(stack.ErrNetwork)
		case <-time.After(2 * time.Second):
		}
		f.probers()
		if err := f.sweeps(ctx); err != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(f.stderr, "local: %v\n", err)
		}
	}
}

func (f *follower) probers() {
	for _, p := range f.stack.Config.Probers {
		if f.ended[p.ID] {
			continue
		}
		select {
		case <-f.stack.Prober(p.ID).Exited():
			f.ended[p.ID] = true
			f.say("prober %s has ended: its runs will expire, and runs to it fail", p.ID)
		default:
		}
	}
}

func (f *follower) sweeps(ctx context.Context) error {
	now := time.Now()
	since := f.first
	if back := now.Add(-lookBack); back.After(since) {
		since = back
	}
	headers, err := f.stack.Tables.Sweeps(ctx, since, now)
	if err != nil {
		return err
	}
	slices.SortFunc(headers, func(a, b ledger.Header) int { return a.Slot.Compare(b.Slot) })
	for _, h := range headers {
		if f.told[h.Slot] || !h.State.Final() {
			continue
		}
		slot := h.Slot.Format("2006-01-02 15:04Z")
		if h.State == ledger.Missed {
			f.say("sweep %s  missed: %s", slot, h.Reason)
		} else {
			o, err := f.stack.Outcome(ctx, h.Slot)
			if err != nil {
				return err
			}
			f.say("sweep %s  %d of %d runs stored, %d with a failure code", slot, o.Rows, o.Planned, o.Failed)
		}
		f.told[h.Slot] = true
	}
	return nil
}
