package alerts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// tally counts runs of a prober, or slots, of which it is known what became.
type tally struct {
	planned, cameIn int
	missing         time.Time // slot of the first that is not there
	simulated       bool      // all of it: what was measured is not counted together with what a model made up
}

func (t *tally) add(n int, came, simulated bool, slot time.Time) {
	if t.planned > 0 && t.simulated != simulated {
		if simulated {
			return
		}
		*t = tally{}
	}
	t.planned += n
	t.simulated = simulated
	if came {
		t.cameIn += n
	} else if t.missing.IsZero() || slot.Before(t.missing) {
		t.missing = slot
	}
}

// coverage judges, prober by prober, how many of the planned runs came in, by the ledger: an assignment's
// document was received, or nothing came until it expired. What is awaited counts for neither. Slots that nobody
// swept are no prober's fault, and judged together.
func (e *Evaluator) coverage(ctx context.Context) error {
	if e.alerts.Coverage.Off {
		return nil
	}
	now := e.stamp()
	since := now.Add(-e.alerts.Coverage.Window)
	app, probers := &tally{}, map[string]*tally{}
	headers, err := e.Rows.Sweeps(ctx, since, now)
	if err != nil {
		return err
	}
	for _, h := range headers {
		app.add(1, h.State != ledger.Missed, h.Simulated, h.Slot)
	}
	for entry, err := range e.Rows.Entries(ctx, "", since, now) {
		if err != nil {
			return err
		}
		if entry.State != ledger.Received && entry.State != ledger.Expired {
			continue
		}
		if probers[entry.Key.Source] == nil {
			probers[entry.Key.Source] = &tally{}
		}
		probers[entry.Key.Source].add(entry.Runs, entry.State == ledger.Received, entry.Simulated, entry.Slot)
	}
	if err := e.settle(ctx, e.covered(tables.AppSubject, app, "slots were swept")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(probers)) {
		if err := e.settle(ctx, e.covered(name, probers[name], "runs came in")); err != nil {
			return err
		}
	}
	return e.endUnconfigured(ctx, probers)
}

func (e *Evaluator) covered(subject string, t *tally, what string) judgement {
	j := judgement{alert: tables.Alert{Kind: tables.AlertCoverage, Subject: subject}}
	if t.planned == 0 {
		return j
	}
	text := fmt.Sprintf("%d of %d %s in the last %s, wanted %d %%", t.cameIn, t.planned, what, span(e.alerts.Coverage.Window), e.alerts.Coverage.Percent)
	if 100*t.cameIn >= e.alerts.Coverage.Percent*t.planned {
		j.verdict, j.why = over, text
		return j
	}
	j.verdict = raised
	j.alert.Simulated = t.simulated
	j.alert.Since, j.alert.Planned, j.alert.CameIn = e.Now().UTC().Truncate(time.Hour), &t.planned, &t.cameIn
	j.alert.Message = text + "; first missing " + stamp(t.missing)
	return j
}

// endUnconfigured ends what was raised for probers that take part no more.
func (e *Evaluator) endUnconfigured(ctx context.Context, planned map[string]*tally) error {
	for _, c := range e.lasting() {
		if c.Kind != tables.AlertCoverage || c.Subject == tables.AppSubject || planned[c.Subject] != nil || e.config == nil {
			continue
		}
		if _, ok := e.config.Prober(c.Subject); ok {
			continue
		}
		if err := e.settle(ctx, judgement{verdict: over, alert: c.Alert, why: "the prober is not in the configuration any more"}); err != nil {
			return err
		}
	}
	return nil
}
