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

// spent is what the other slots of the slot's month, in UTC, planned to send by bulk runs; 0 where none is
// due, for then nobody asks. The plans of open sweeps count whether or not their header is written yet.
//
// Two bulk slots that are planned at the same time do not know of each other. A configuration keeps them
// as far apart as their runs take, so it would have to be one that was planned late.
func (d *Dispatcher) spent(ctx context.Context, slot time.Time, due []config.Probe) (sum int64, err error) {
	if !slices.ContainsFunc(due, func(p config.Probe) bool { return p.Spec.Kind.IsBulk() }) {
		return 0, nil
	}
	since := time.Date(slot.Year(), slot.Month(), 1, 0, 0, 0, 0, time.UTC)
	until := since.AddDate(0, 1, 0)
	headers, err := d.Ledger.Sweeps(ctx, since, until)
	if err != nil {
		return 0, fmt.Errorf("adding up what the month of slot %q planned to send: %w", wire.SlotName(slot), err)
	}
	counted := map[string]bool{wire.SlotName(slot): true}
	for _, h := range headers {
		if name := wire.SlotName(h.Slot); h.PlannedBytes > 0 && !counted[name] {
			counted[name] = true
			sum += h.PlannedBytes
		}
	}
	open, err := d.Ledger.OpenSweeps(ctx)
	if err != nil {
		return 0, fmt.Errorf("listing the open sweeps: %w", err)
	}
	for _, other := range open {
		if counted[wire.SlotName(other)] || other.Before(since) || !other.Before(until) {
			continue
		}
		p, err := d.readPlan(ctx, other)
		if err != nil && !isUnreadable(err) { // eachOpen says so
			return 0, err
		}
		if p != nil {
			sum += p.BulkBytes()
		}
	}
	return sum, nil
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
