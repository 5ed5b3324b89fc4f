package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// silent is after how long without an hour the alert of a series is over: nobody measures it any more.
const silent = 7 * 24 * time.Hour

// Finish does what does not wait for new hours, after all sources were watched: it tells what somebody was cut
// off from telling, judges coverage and objectives, and ends what ends by itself. A fault of one part keeps no
// other back.
func (e *Evaluator) Finish(ctx context.Context) error {
	if err := e.begin(ctx); err != nil {
		return fmt.Errorf("looking for alerts: %w", err)
	}
	var faults []error
	for _, part := range []func(context.Context) error{e.resume, e.endChanges, e.endSwitchedOff, e.endSilent, e.coverage, e.objectives} {
		if err := part(ctx); err != nil {
			faults = append(faults, fmt.Errorf("looking for alerts: %w", err))
		}
	}
	return errors.Join(faults...)
}

// endSwitchedOff ends the alerts of kinds that were switched off.
func (e *Evaluator) endSwitchedOff(ctx context.Context) error {
	off := map[tables.AlertKind]bool{tables.AlertDeviation: e.alerts.Deviation.Off, tables.AlertChange: e.alerts.Change.Off,
		tables.AlertCoverage: e.alerts.Coverage.Off, tables.AlertObjective: e.alerts.Objective.Off}
	for _, c := range e.lasting() {
		if off[c.Kind] {
			if err := e.settle(ctx, judgement{verdict: over, alert: c.Alert, why: "alerts of this kind were switched off"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// endSilent ends the deviations of series that nobody measures any more.
func (e *Evaluator) endSilent(ctx context.Context) error {
	for _, c := range e.lasting() {
		if c.Kind != tables.AlertDeviation || c.Raised.After(e.Now().Add(-silent)) {
			continue
		}
		series, ok := c.Series()
		if !ok {
			continue
		}
		heard, err := e.heard(ctx, series)
		if err != nil {
			return err
		}
		if heard {
			continue
		}
		if err := e.settle(ctx, judgement{verdict: over, alert: c.Alert, why: fmt.Sprintf("nothing was measured for %d days", silent/(24*time.Hour))}); err != nil {
			return err
		}
	}
	return nil
}

// heard says whether a series has an hour with round trips that is not long ago.
func (e *Evaluator) heard(ctx context.Context, is wire.Series) (bool, error) {
	now := e.Now().UTC()
	for h, err := range e.Rows.Hours(ctx, tables.HourQuery{Source: is.Source, Target: is.Target, Path: is.Path, Probe: is.Probe, Since: now.Add(-silent), Until: now, Columns: tables.Levels}) {
		if err != nil {
			return false, err
		}
		if h.RTT.P50US != nil {
			return true, nil
		}
	}
	return false, nil
}
