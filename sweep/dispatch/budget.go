package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

// otherBulk is what the bulk runs of other slots leave to one.
type otherBulk struct {
	spent int64     // what those of the slot's month, in UTC, planned to send
	until time.Time // when those of open sweeps are over
}

// otherBulk adds up the plans of other slots; zero where no bulk probe is due, for then nobody asks. The
// plans of open sweeps count whether or not their header is written yet.
//
// Two bulk slots that are planned at the same time do not know of each other. A configuration keeps them
// as far apart as their runs take, so it would have to be one that was planned late.
func (d *Dispatcher) otherBulk(ctx context.Context, slot time.Time, due []config.Probe) (out otherBulk, err error) {
	if !slices.ContainsFunc(due, func(p config.Probe) bool { return p.Spec.Kind.IsBulk() }) {
		return out, nil
	}
	since := time.Date(slot.Year(), slot.Month(), 1, 0, 0, 0, 0, time.UTC)
	until := since.AddDate(0, 1, 0)
	headers, err := d.Ledger.Sweeps(ctx, since, until)
	if err != nil {
		return out, fmt.Errorf("adding up what the month of slot %q planned to send: %w", wire.SlotName(slot), err)
	}
	counted := map[string]bool{}
	for _, h := range headers {
		if name := wire.SlotName(h.Slot); h.PlannedBytes > 0 && !counted[name] && !h.Slot.Equal(slot) {
			counted[name] = true
			out.spent += h.PlannedBytes
		}
	}
	open, err := d.Ledger.OpenSweeps(ctx)
	if err != nil {
		return out, fmt.Errorf("listing the open sweeps: %w", err)
	}
	for _, other := range open {
		if other.Equal(slot) {
			continue
		}
		p, err := d.readPlan(ctx, other)
		if err != nil && !isUnreadable(err) { // eachOpen says so
			return out, err
		}
		if p == nil {
			continue
		}
		if !counted[wire.SlotName(other)] && !other.Before(since) && other.Before(until) {
			out.spent += p.BulkBytes()
		}
		if end := p.BulkUntil(); end.After(out.until) {
			out.until = end
		}
	}
	return out, nil
}

// overBudget counts the runs that a plan leaves out for the budget, and says so.
func (d *Dispatcher) overBudget(c *config.Config, p *plan.Plan, spent int64, report *Report) {
	runs := 0
	for i := range p.Assignments {
		for j := range p.Assignments[i].Runs {
			if p.Assignments[i].Runs[j].Failure == wire.FailureBudget {
				runs++
			}
		}
	}
	if runs == 0 {
		return
	}
	report.OverBudget += runs
	d.Log.Warn("bulk runs exceed the budget, and are not made", "slot", wire.SlotName(p.Slot), "runs", runs,
		"planned", config.FormatBytes(p.BulkBytes()), "month_planned", config.FormatBytes(spent+p.BulkBytes()),
		"budget_sweep", config.FormatBytes(c.Budget.Sweep), "budget_month", config.FormatBytes(c.Budget.Month),
		"remedy", "raise budget in sweep.yaml, lower max_bytes, or take a rarer schedule")
}
