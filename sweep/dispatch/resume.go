package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/result"
)

// planLate is how old a slot may be for Resume to plan it, when its handler ended after it had
// marked the slot open and before the plan was stored. Later it is missed: a late measurement is
// never filed under an old hour.
const planLate = 5 * time.Minute

// Deliver finishes every dispatch that was cut short, and leaves everything else of the open
// sweeps alone: nothing expires. A sweep that fails does not keep the others from it; the error
// joins what failed. A plan that this program cannot read is no error, which would come again with
// every tick: it is logged here, and the sweep is left alone until Resume gives it up.
func (d *Dispatcher) Deliver(ctx context.Context) (Report, error) {
	return d.eachOpen(ctx, func(_ context.Context, o openSweep, report *Report) error {
		if o.fault != nil {
			d.Log.Warn("the plan of an open sweep cannot be read", "slot", wire.SlotName(o.slot), "reason", o.fault.Error(),
				"remedy", "run the version of the app that stored it; "+ledger.LateLimit.String()+" after its slot the sweep is given up")
		}
		return nil
	})
}

// Resume looks after every open sweep: it does what Deliver does, gives expired rows to what
// never came, closes what is over, and gives up what is older than ledger.LateLimit and has no plan that
// can be read. Call it after the inbox was emptied: what waits there has come, however long the
// app was down.
//
// Where the storage service's clock does not agree with this machine's, it does what Deliver
// does and returns an error.
func (d *Dispatcher) Resume(ctx context.Context) (Report, error) {
	now, clockErr := d.checkedNow(ctx)
	report, err := d.eachOpen(ctx, func(ctx context.Context, o openSweep, report *Report) error {
		switch {
		case clockErr != nil:
			return nil
		case o.plan != nil:
			return d.finish(ctx, o.plan, now, report)
		default:
			return d.giveUp(ctx, o, now, report)
		}
	})
	return report, errors.Join(clockErr, err)
}

// openSweep is a slot that is marked open: with its plan, or why that cannot be read, or neither while
// there is none.
type openSweep struct {
	slot  time.Time
	plan  *plan.Plan
	fault error
}

// eachOpen finishes the dispatch of every open sweep, and then does what then does with it.
func (d *Dispatcher) eachOpen(ctx context.Context, then func(context.Context, openSweep, *Report) error) (Report, error) {
	var report Report
	slots, err := d.Ledger.OpenSweeps(ctx)
	if err != nil {
		return report, fmt.Errorf("listing the open sweeps: %w", err)
	}
	// The newest first: its probers wait.
	slices.SortFunc(slots, func(a, b time.Time) int { return b.Compare(a) })
	var faults []error
	known := plans{}
	for _, slot := range slots {
		if ctx.Err() != nil {
			faults = append(faults, fmt.Errorf("resuming sweep %q: %w", wire.SlotName(slot), ctx.Err()))
			break
		}
		o, err := d.resume(ctx, slot.UTC(), known, &report)
		if err == nil {
			err = then(ctx, o, &report)
		}
		faults = append(faults, err)
	}
	return report, errors.Join(faults...)
}

// resume finishes the dispatch of an open slot.
func (d *Dispatcher) resume(ctx context.Context, slot time.Time, known plans, report *Report) (openSweep, error) {
	p, err := d.planOf(ctx, slot, known)
	switch {
	case isUnreadable(err):
		report.Unreadable++
		return openSweep{slot: slot, fault: err}, nil
	case err != nil:
		return openSweep{}, err
	case p == nil:
		return openSweep{slot: slot}, d.resumeUnplanned(ctx, slot, report)
	}
	return openSweep{slot: slot, plan: p}, d.deliver(ctx, p, known, report)
}

// noPlan is why a slot is missed that was marked open and has no plan.
const noPlan = "the handler ended before the plan was stored"

// resumeUnplanned looks after a slot that is marked open and has no plan: its handler ended
// between the two, or is just between them.
func (d *Dispatcher) resumeUnplanned(ctx context.Context, slot time.Time, report *Report) error {
	if d.Now().Sub(slot) <= planLate {
		return d.sweep(ctx, slot, report)
	}
	return d.recordMissed(ctx, slot, noPlan)
}

// recordMissed writes a header that supersedes nothing, and that a plan which comes yet supersedes.
func (d *Dispatcher) recordMissed(ctx context.Context, slot time.Time, reason string) error {
	if err := d.Ledger.AdvanceHeader(ctx, ledger.Header{Slot: slot, State: ledger.Missed, Reason: reason}); err != nil {
		return fmt.Errorf("recording slot %q as missed: %w", wire.SlotName(slot), err)
	}
	return nil
}

// giveUp takes away the mark of a slot without a plan that can be read. It stays as long as a
// plan, or a version of the app that reads it, may come: documents of the slot would be accepted.
func (d *Dispatcher) giveUp(ctx context.Context, o openSweep, now time.Time, report *Report) error {
	if now.Sub(o.slot) <= ledger.LateLimit {
		return nil
	}
	reason := noPlan // resumeUnplanned has recorded it
	if o.fault != nil {
		reason = o.fault.Error()
		if err := d.recordMissed(ctx, o.slot, reason); err != nil {
			return err
		}
	}
	if err := d.Ledger.ClearOpen(ctx, o.slot); err != nil {
		return fmt.Errorf("closing sweep %q: %w", wire.SlotName(o.slot), err)
	}
	d.Log.Warn("a sweep was given up", "slot", wire.SlotName(o.slot), "reason", reason)
	report.Closed++
	return nil
}

// finish expires what did not come in time by now, and completes and closes the sweep when nothing
// more is awaited.
func (d *Dispatcher) finish(ctx context.Context, p *plan.Plan, now time.Time, report *Report) error {
	slot := wire.SlotName(p.Slot)
	header, stored, _, err := d.Ledger.Sweep(ctx, p.Slot)
	if err != nil {
		return fmt.Errorf("reading the ledger of sweep %q: %w", slot, err)
	}
	final := map[ledger.Key]bool{}
	for _, e := range stored {
		final[e.Key] = e.State.Final()
	}
	overdue := map[string][]plan.Assignment{} // by source: a partition of the tables each
	for _, a := range p.Assignments {
		if !final[keyOf(&a)] && now.After(a.Expires) {
			overdue[a.Source] = append(overdue[a.Source], a)
		}
	}
	if err := d.expireAll(ctx, p, overdue, report); err != nil {
		return err
	}
	for _, as := range overdue {
		for i := range as {
			final[keyOf(&as[i])] = true
		}
	}
	for i := range p.Assignments {
		if !final[keyOf(&p.Assignments[i])] {
			return nil
		}
	}
	if ledger.Complete.Supersedes(header.State) {
		if err := d.Ledger.AdvanceHeader(ctx, head(p, ledger.Complete)); err != nil {
			return fmt.Errorf("writing sweep %q as %s into the ledger: %w", slot, ledger.Complete, err)
		}
		report.Completed++
	}
	if !now.After(p.Deadline()) {
		return nil // targets must go on admitting its sessions
	}
	if err := d.Ledger.ClearOpen(ctx, p.Slot); err != nil {
		return fmt.Errorf("closing sweep %q: %w", slot, err)
	}
	report.Closed++
	return nil
}

// expireAtOnce is how many sources' runs are expired together: their rows lie in partitions of their own.
const expireAtOnce = 4

// expireAll expires the runs of every source. One source's failure does not keep it from the others.
func (d *Dispatcher) expireAll(ctx context.Context, p *plan.Plan, overdue map[string][]plan.Assignment, report *Report) error {
	sources := slices.Sorted(maps.Keys(overdue))
	expired, faults := make([]int, len(sources)), make([]error, len(sources))
	var work errgroup.Group
	work.SetLimit(expireAtOnce)
	for i, source := range sources {
		work.Go(func() error {
			var err error
			if expired[i], err = d.expire(ctx, p, overdue[source]); err != nil {
				faults[i] = fmt.Errorf("expiring the runs of %q in sweep %q: %w", source, wire.SlotName(p.Slot), err)
			}
			return nil
		})
	}
	_ = work.Wait() // each has its own error
	for _, n := range expired {
		report.Expired += n
	}
	return errors.Join(faults...)
}

// expire gives rows to runs whose document did not come. The ledger is written last: until then
// the next Resume does it again. If the document is being stored at this moment, its rows win
// wherever they meet these, whichever came first.
func (d *Dispatcher) expire(ctx context.Context, p *plan.Plan, as []plan.Assignment) (runs int, err error) {
	var rs []result.Result
	var names []string
	for i := range as {
		a := &as[i]
		names = append(names, a.Probe)
		for j := range a.Runs {
			rs = append(rs, result.Expired(p.Series(a, &a.Runs[j]), p.Slot, a.ID, a.Part, a.Spec.Kind, a.Start))
		}
	}
	if err := d.Rows.AddExpired(ctx, rs); err != nil {
		return 0, fmt.Errorf("adding expired rows: %w", err)
	}
	if err := d.Rows.PutLatest(ctx, rs); err != nil {
		return 0, fmt.Errorf("writing the newest runs: %w", err)
	}
	if err := d.Rows.MarkDirty(ctx, rs); err != nil {
		return 0, fmt.Errorf("marking what is to be recomputed: %w", err)
	}
	es := entries(p, as, ledger.Expired, "no document came in time")
	if err := d.Ledger.AdvanceEntries(ctx, es); err != nil {
		return 0, fmt.Errorf("writing the ledger: %w", err)
	}
	d.Log.Warn("runs expired", "slot", wire.SlotName(p.Slot), "source", as[0].Source, "probes", strings.Join(names, " "), "runs", len(rs))
	return len(rs), nil
}
