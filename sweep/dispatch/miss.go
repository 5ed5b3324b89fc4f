package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
)

// Why slots are missed that have no plan.
const (
	notRunning = "the app was not running when the slot was due"
	notSwept   = "no sweep succeeded when the slot was due: the app or its storage was away"
)

// missAtOnce is how many slots are looked at together: after a day away the probers do not wait for them,
// but the invocation must end.
const missAtOnce = 8

// Miss records slots that nobody served and nobody will serve, where there is no header. A slot that fails
// keeps no other from it; recording all again changes nothing.
func (d *Dispatcher) Miss(ctx context.Context, slots []time.Time) (Report, error) {
	var report Report
	err := d.miss(ctx, slots, notRunning, &report)
	return report, err
}

// Owe records slots whose sweep failed, and which nobody will serve any more, as Miss does. Those at which
// nothing is due are left out: they would have no header either if their sweep had not failed.
func (d *Dispatcher) Owe(ctx context.Context, slots []time.Time) (Report, error) {
	var report Report
	due, err := d.due(ctx, slots)
	if err != nil {
		return report, err
	}
	err = d.miss(ctx, due, notSwept, &report)
	return report, err
}

// Unswept looks a day back, and further where it finds no sweep from the beginning of that day.
const (
	lookBack  = 24 * time.Hour
	beginning = 2 * time.Hour
)

// Unswept lists the slots before until, of the last ledger.LateLimit at the most, of which the ledger has
// nothing, although a probe was due by the configuration of the sweep before. ticks lists the slots of the
// app's schedule between two times, both left out. Before its first sweep an environment has none.
func (d *Dispatcher) Unswept(ctx context.Context, until time.Time, ticks func(after, before time.Time) []time.Time) (out []time.Time, err error) {
	headers, err := d.Ledger.Sweeps(ctx, until.Add(-lookBack), until)
	if err == nil && !slices.ContainsFunc(headers, func(h ledger.Header) bool { return h.Slot.Before(until.Add(beginning - lookBack)) }) {
		headers, err = d.Ledger.Sweeps(ctx, until.Add(-ledger.LateLimit), until)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for slots that were not swept: %w", err)
	}
	slices.SortFunc(headers, func(a, b ledger.Header) int { return a.Slot.Compare(b.Slot) })
	var governs *config.Config
	known := map[string]*config.Config{}
	for i, h := range headers {
		if h.ConfigHash != "" {
			if governs, err = d.pinned(ctx, h.ConfigHash, known); err != nil {
				return nil, err
			}
		}
		next := until
		if i+1 < len(headers) {
			next = headers[i+1].Slot
		}
		if governs != nil {
			out = append(out, dueAmong(governs, ticks(h.Slot, next))...)
		}
	}
	return out, nil
}

// pinned reads a configuration that a sweep was planned from; nil where it cannot be used any more.
func (d *Dispatcher) pinned(ctx context.Context, hash string, known map[string]*config.Config) (*config.Config, error) {
	if c, ok := known[hash]; ok {
		return c, nil
	}
	text, found, err := d.Mailbox.PinnedConfig(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("reading the pinned configuration %q: %w", hash, err)
	}
	known[hash] = nil
	if found {
		if c, err := config.Parse(text); err == nil {
			known[hash] = c
		}
	}
	return known[hash], nil
}

func dueAmong(c *config.Config, slots []time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(slots), func(slot time.Time) bool { return len(plan.Due(c, slot)) == 0 })
}

// due is those of the slots at which the configuration has a probe that is due. Without a configuration
// there are none.
func (d *Dispatcher) due(ctx context.Context, slots []time.Time) ([]time.Time, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	c, _, err := d.config(ctx)
	if errors.Is(err, errNoConfig) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return dueAmong(c, slots), nil
}

// miss records slots that nobody served. Missed supersedes nothing, so a slot that has a header
// keeps it; and a slot whose plan is stored was not missed, even if its header is not written yet.
func (d *Dispatcher) miss(ctx context.Context, slots []time.Time, reason string, report *Report) error {
	faults := make([]error, len(slots))
	var lock sync.Mutex
	var group errgroup.Group
	group.SetLimit(missAtOnce)
	for i, slot := range slots {
		group.Go(func() error {
			missed, err := d.missOne(ctx, wire.Slot(slot), reason)
			if err != nil {
				faults[i] = fmt.Errorf("recording slot %q as missed: %w", wire.SlotName(slot), err)
			}
			if missed {
				lock.Lock()
				defer lock.Unlock()
				report.Missed++
			}
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return errors.Join(faults...)
}

func (d *Dispatcher) missOne(ctx context.Context, slot time.Time, reason string) (missed bool, err error) {
	header, _, _, err := d.Ledger.Sweep(ctx, slot)
	if err != nil || header.State != "" {
		return false, err
	}
	if _, planned, err := d.Mailbox.ReadPlan(ctx, slot); err != nil || planned {
		return false, err
	}
	return true, d.Ledger.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Missed, Reason: reason})
}
