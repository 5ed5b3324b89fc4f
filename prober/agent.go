package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

// currentSource is where the assignments come from. Poll is one attempt; nil says that nothing
// has changed. It is called by one goroutine.
type currentSource interface {
	Poll(ctx context.Context) (*wire.Current, error)
}

// admitter is told which sessions may be opened.
type admitter interface {
	Admit(sessions []wire.Session)
}

// runner makes runs, many at a time.
type runner interface {
	Make(ctx context.Context, r probe.Request) wire.Run
}

// agent looks for assignments and works on them.
type agent struct {
	settings  settings
	now       func() time.Time
	log       *slog.Logger
	metrics   *metrics
	health    *health
	claim     *claim
	current   currentSource
	reflector admitter
	prober    runner
	courier   *courier
	exclusion exclusion

	held    []wire.Assignment    // fetched while the claim did not allow to take them
	taken   map[string]time.Time // by assignment id, with the deadline until which it is remembered
	working sync.WaitGroup
}

// run polls until ctx ends, and then waits for the assignments that are being worked on, which
// end soon.
func (a *agent) run(ctx context.Context) error {
	defer a.working.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		a.health.loopRuns()
		current, err := a.current.Poll(ctx)
		switch {
		case err == nil:
			if failures > 0 {
				a.log.Info("polling works again", "failures", failures)
			}
			failures = 0
			a.health.pollSucceeded()
			a.metrics.lastPoll.Set(float64(a.now().UnixMilli()) / 1000)
		case ctx.Err() != nil:
			return nil
		default:
			failures++
			a.metrics.pollFailures.Inc()
			if failures&(failures-1) == 0 { // 1st, 2nd, 4th …: a long outage does not fill the log
				a.log.Warn("polling failed", "error", err, "failures", failures)
			}
		}
		if current != nil {
			a.exclusion.learn(current)
			a.reflector.Admit(current.Sessions)
			a.held = current.Assignments
		}
		if since, ok := a.claim.free(); ok && a.held != nil {
			a.take(ctx, a.held, since)
			a.held = nil
		}
		// A tenth of jitter keeps sixty probers from polling in step.
		timer.Reset(a.settings.poll - a.settings.poll/20 + rand.N(a.settings.poll/10))
	}
}

// take begins the assignments that are new and start after since.
func (a *agent) take(ctx context.Context, assignments []wire.Assignment, since time.Time) {
	now := a.now()
	for id, deadline := range a.taken {
		if now.After(deadline) {
			delete(a.taken, id)
		}
	}
	for i := range assignments {
		as := &assignments[i]
		if _, known := a.taken[as.ID]; known || now.After(as.Deadline) {
			continue
		}
		a.taken[as.ID] = as.Deadline
		if err := checkAssignment(as); err != nil {
			a.log.Error("leaving an assignment alone", "assignment", as.ID, "error", err)
			continue
		}
		if as.Start.Before(since) {
			// An earlier process may have begun it, and delivered.
			a.log.Info("leaving an assignment alone: it starts before this process did", "assignment", as.ID, "probe", as.Probe, "start", as.Start)
			continue
		}
		a.metrics.assignmentsTaken.Inc()
		a.metrics.assignmentsRunning.Inc()
		a.log.Info("took an assignment", "assignment", as.ID, "slot", wire.SlotName(as.Slot), "probe", as.Probe, "runs", len(as.Runs), "start", as.Start)
		a.working.Go(func() {
			defer a.metrics.assignmentsRunning.Dec()
			a.work(ctx, as)
		})
	}
}

// checkAssignment refuses what no document could be made of. Faults of the spec are not its
// matter: those become runs that failed.
func checkAssignment(as *wire.Assignment) error {
	faults := []error{wire.ValidateAssignmentID(as.ID), wire.ValidateName("probe", as.Probe)}
	if n := len(as.Runs); as.Spec.Kind.IsBulk() && n != 1 {
		faults = append(faults, fmt.Errorf("%d runs: a bulk run is an assignment of its own", n))
	} else if n < 1 || n > wire.MaxRuns {
		faults = append(faults, fmt.Errorf("%d runs: want 1 to %d", n, wire.MaxRuns))
	}
	if n := len(as.Runs) * max(as.Spec.Count, 0); n > wire.MaxSamples {
		faults = append(faults, fmt.Errorf("%d samples: want at most %d", n, wire.MaxSamples))
	}
	if as.LatestStart.Before(as.Start) || as.Deadline.Before(as.LatestStart) {
		faults = append(faults, fmt.Errorf("start %s, latest start %s and deadline %s do not follow each other", as.Start, as.LatestStart, as.Deadline))
	}
	return errors.Join(faults...)
}
