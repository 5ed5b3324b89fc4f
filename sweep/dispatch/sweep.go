package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
)

// Sweep plans the sweep of a slot, unless it is planned already, and tells the probers. Slots in
// missed get ledger headers that say so, as Miss does it. Sweeping a slot again changes
// nothing. It never waits for a measurement.
func (d *Dispatcher) Sweep(ctx context.Context, slot time.Time, missed []time.Time) (Report, error) {
	var report Report
	err := d.sweep(ctx, slot.UTC(), &report)
	// The missed slots come last: they can wait, the probers cannot. And they come whatever became
	// of this slot.
	return report, errors.Join(err, d.miss(ctx, missed, notRunning, &report))
}

func (d *Dispatcher) sweep(ctx context.Context, slot time.Time, report *Report) error {
	if !slot.Equal(wire.Slot(slot)) {
		return fmt.Errorf("sweeping slot %q: want a whole minute", slot.Format(time.RFC3339Nano))
	}
	if age := d.Now().Sub(slot); age > ledger.LateLimit {
		return fmt.Errorf("sweeping slot %q: it is %s old, and what it measured would be too late after %s", wire.SlotName(slot), age, ledger.LateLimit)
	}
	p, err := d.readPlan(ctx, slot)
	if err == nil && p == nil {
		p, err = d.plan(ctx, slot, report)
	}
	if err != nil || p == nil {
		return err
	}
	report.Assignments += len(p.Assignments)
	report.Planned += p.Runs()
	return d.deliver(ctx, p, plans{wire.SlotName(slot): {plan: p}}, report)
}

// plan plans a slot that has no plan, and stores the plan; the result is the winner's if somebody
// else stored one meanwhile, and nil if nothing is due.
func (d *Dispatcher) plan(ctx context.Context, slot time.Time, report *Report) (*plan.Plan, error) {
	c, text, err := d.config(ctx)
	if err != nil {
		return nil, err
	}
	due := plan.Due(c, slot)
	report.Probes += len(due)
	if len(due) == 0 {
		return nil, nil
	}
	hash, err := d.Mailbox.PinConfig(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("pinning the configuration: %w", err)
	}
	targets, err := d.targets(ctx, c, due)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Probers {
		if t, ok := targets[p.ID]; !ok || t.Down {
			report.Down++
		}
	}
	others, err := d.otherBulk(ctx, slot, due)
	if err != nil {
		return nil, err
	}
	p, err := plan.Make(plan.Input{Config: c, ConfigHash: hash, Slot: slot, Now: d.Now(), Seed: d.NewSeed(), Targets: targets,
		Spent: others.spent, BulkUntil: others.until})
	if err != nil {
		return nil, fmt.Errorf("planning slot %q: %w", wire.SlotName(slot), err)
	}
	d.overBudget(c, p, others.spent, report)
	return d.store(ctx, p, report)
}

// store stores a plan. The slot is marked open first: a plan that nobody looks after would never
// expire. A mark without a plan does no harm, see resume.
func (d *Dispatcher) store(ctx context.Context, p *plan.Plan, report *Report) (*plan.Plan, error) {
	body, err := plan.Encode(p)
	if err != nil {
		return nil, fmt.Errorf("encoding plan %q: %w", wire.SlotName(p.Slot), err)
	}
	if err := d.Ledger.MarkOpen(ctx, p.Slot); err != nil {
		return nil, fmt.Errorf("marking sweep %q open: %w", wire.SlotName(p.Slot), err)
	}
	created, err := d.Mailbox.CreatePlan(ctx, p.Slot, body)
	if err != nil {
		return nil, fmt.Errorf("storing plan %q: %w", wire.SlotName(p.Slot), err)
	}
	if created {
		report.Created++
		return p, nil
	}
	winner, err := d.readPlan(ctx, p.Slot)
	if err == nil && winner == nil {
		err = fmt.Errorf("reading plan %q: somebody else stored it, and it is not there", wire.SlotName(p.Slot))
	}
	return winner, err
}

// errNoConfig is in the chain of the error where nobody has pushed a configuration.
var errNoConfig = errors.New("has none yet")

func (d *Dispatcher) config(ctx context.Context) (*config.Config, []byte, error) {
	text, found, err := d.Mailbox.Config(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if !found {
		return nil, nil, fmt.Errorf("reading the configuration: environment %q %w: push one with sweep config push", d.Environment, errNoConfig)
	}
	c, err := config.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if c.Environment != d.Environment {
		return nil, nil, fmt.Errorf("reading the configuration: it is of environment %q, and the app serves %q: push the right one with sweep config push",
			c.Environment, d.Environment)
	}
	return c, text, nil
}

// deliver brings a plan from stored to dispatched: the ledger says planned, the probers are
// told, the ledger says dispatched. Done again it changes nothing.
func (d *Dispatcher) deliver(ctx context.Context, p *plan.Plan, known plans, report *Report) error {
	slot := wire.SlotName(p.Slot)
	header, _, _, err := d.Ledger.Sweep(ctx, p.Slot)
	if err != nil {
		return fmt.Errorf("reading the ledger of sweep %q: %w", slot, err)
	}
	if !ledger.Dispatched.Supersedes(header.State) {
		return nil
	}
	advancing := func(state ledger.State, err error) error {
		return fmt.Errorf("writing sweep %q as %s into the ledger: %w", slot, state, err)
	}
	// The header is written first here, so that no sweep has entries alone, and last below, so
	// that one that says dispatched has nothing left to do.
	if err := d.Ledger.AdvanceHeader(ctx, head(p, ledger.Planned)); err != nil {
		return advancing(ledger.Planned, err)
	}
	if err := d.Ledger.AdvanceEntries(ctx, entries(p, p.Assignments, ledger.Planned, "")); err != nil {
		return advancing(ledger.Planned, err)
	}
	if !d.Now().Before(p.Deadline()) {
		return nil // nobody acts on it any more: its runs will expire
	}
	if err := d.tell(ctx, p, known, report); err != nil {
		return err
	}
	if err := d.Ledger.AdvanceEntries(ctx, entries(p, p.Assignments, ledger.Dispatched, "")); err != nil {
		return advancing(ledger.Dispatched, err)
	}
	if err := d.Ledger.AdvanceHeader(ctx, head(p, ledger.Dispatched)); err != nil {
		return advancing(ledger.Dispatched, err)
	}
	report.Dispatched += p.Runs()
	return nil
}

func head(p *plan.Plan, state ledger.State) ledger.Header {
	return ledger.Header{Slot: p.Slot, State: state, ConfigHash: p.ConfigHash, PlannedBytes: p.BulkBytes()}
}

func entries(p *plan.Plan, as []plan.Assignment, state ledger.State, reason string) []ledger.Entry {
	out := make([]ledger.Entry, len(as))
	for i := range as {
		out[i] = ledger.Entry{Slot: p.Slot, Key: keyOf(&as[i]), Assignment: as[i].ID, State: state, Runs: len(as[i].Runs), Error: reason}
	}
	return out
}

func keyOf(a *plan.Assignment) ledger.Key {
	return ledger.Key{Source: a.Source, Probe: a.Probe, Part: a.Part}
}
