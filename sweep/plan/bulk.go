package plan

import (
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// What a bulk run's detail says that is not to be made.
const (
	noTime    = "there was no time for it any more before the next slot with bulk runs: the sweep was planned late, or an earlier one's bulk runs took until then"
	sweepUsed = "the run may send %s, and of the %s that a sweep may send (budget.sweep) %s are planned already"
	monthUsed = "the run may send %s, and of the %s that a month may send (budget.month) %s are planned already"
)

// assignBulk adds the runs of the bulk probes that are due, an assignment each. The budget goes to the runs
// in the order of time, and within a round in that of source and target: one that does not fit is left
// out, and a smaller one behind it may still fit.
func (in Input) assignBulk(p *Plan) error {
	type series struct{ source, probe string }
	parts := map[series]int{}
	var planned int64
	for _, round := range in.Config.Timetable(in.Slot, in.bulkBegin()) {
		for _, pair := range round.Pairs {
			run, err := in.run(round.Probe, pair)
			if err != nil {
				return fmt.Errorf("probe %q: %w", round.Probe.Name, err)
			}
			fail := func(f wire.Failure, detail string) {
				run = Run{Target: run.Target, Path: run.Path, Failure: f, Detail: wire.CutDetail(detail)}
			}
			most := round.Probe.Spec.Bulk.MaxBytes
			budget := in.Config.Budget
			switch {
			case run.Failure != "":
			case round.Start.IsZero():
				fail(wire.FailureCanceled, noTime)
			case planned+most > budget.Sweep:
				fail(wire.FailureBudget, used(sweepUsed, most, budget.Sweep, planned))
			case in.Spent+planned+most > budget.Month:
				fail(wire.FailureBudget, used(monthUsed, most, budget.Month, in.Spent+planned))
			default:
				planned += most
			}
			key := series{pair.Source, round.Probe.Name}
			a := in.bulkAssignment(p, &round, pair.Source, parts[key])
			parts[key]++
			a.Runs = []Run{run}
			p.Assignments = append(p.Assignments, a)
		}
	}
	return nil
}

// bulkBegin is begin, or later, so that the first round begins the guard after the bulk runs of other
// slots are over.
func (in Input) bulkBegin() time.Time {
	begin := in.begin()
	if free := in.BulkUntil.Add(config.BulkGuard - in.Config.Timing.Lead); free.After(begin) {
		return free.UTC()
	}
	return begin
}

func used(form string, most, budget, planned int64) string {
	return fmt.Sprintf(form, config.FormatBytes(most), config.FormatBytes(budget), config.FormatBytes(planned))
}

// bulkAssignment is a bulk run's assignment without the run. It begins with its round or not at all:
// later it would run into the next.
func (in Input) bulkAssignment(p *Plan, round *config.Round, source string, part int) Assignment {
	t, probe, start := in.Config.Timing, round.Probe, round.Start
	if start.IsZero() {
		start = in.begin().Add(t.Lead) // when its failure is written down
	}
	deadline := start.Add(config.BulkTime(probe.Spec))
	return Assignment{
		ID:     wire.AssignmentID(p.Environment, p.Slot, source, probe.Name, part),
		Source: source, Probe: probe.Name, Part: part, Spec: probe.Spec,
		Start: start, LatestStart: start.Add(config.BulkGuard), Deadline: deadline, Expires: deadline.Add(t.Grace),
	}
}
