package plan

import (
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// window is when the latency assignments begin, and how late they may: all of them alike.
func window(t *testing.T, p *Plan) (start, latest time.Time) {
	t.Helper()
	for i := range p.Assignments {
		a := &p.Assignments[i]
		if a.Spec.Kind.IsBulk() {
			continue
		}
		if !start.IsZero() && (!a.Start.Equal(start) || !a.LatestStart.Equal(latest)) {
			t.Fatalf("%s begins %s to %s, another %s to %s", a.Probe, a.Start, a.LatestStart, start, latest)
		}
		start, latest = a.Start, a.LatestStart
		if a.Deadline.Before(a.LatestStart.Add(a.Spec.Span())) {
			t.Errorf("%s is cut", a.Probe)
		}
	}
	return start, latest
}

// The rounds of another slot lie where a latency slot's runs are over if it was planned in time. Planned
// late, they are over all the same; only what comes after all of that is on its own, and at once.
func TestLatencyRunsThatArePlannedLateKeepClearOfRounds(t *testing.T) {
	in := bulkInput(t)
	timing := in.Config.Timing
	for _, c := range []struct{ late, start, latest time.Duration }{
		{0, timing.Lead, timing.Lead + timing.Late},
		{timing.Late / 2, timing.Late/2 + timing.Lead, timing.Lead + timing.Late},
		{timing.Late, timing.Late + timing.Lead, timing.Lead + timing.Late + config.BulkGuard},
		{timing.Late + time.Minute, timing.Late + time.Minute + timing.Lead, timing.Late + time.Minute + timing.Lead + config.BulkGuard},
	} {
		in.Now = slot.Add(c.late)
		if start, latest := window(t, mustMake(t, in)); !start.Equal(slot.Add(c.start)) || !latest.Equal(slot.Add(c.latest)) {
			t.Errorf("planned %s late: %s to %s, want %s to %s", c.late, start.Sub(slot), latest.Sub(slot), c.start, c.latest)
		}
	}

	// Without bulk probes nothing lies behind.
	alone := *in.Config
	alone.Probes = nil
	for _, p := range in.Config.Probes {
		if !p.Spec.Kind.IsBulk() {
			alone.Probes = append(alone.Probes, p)
		}
	}
	in.Config, in.Now = &alone, slot.Add(timing.Late)
	if _, latest := window(t, mustMake(t, in)); !latest.Equal(slot.Add(2*timing.Late + timing.Lead)) {
		t.Errorf("without bulk probes: %s", latest.Sub(slot))
	}
}

// A bulk sweep whose configuration knew nothing of this slot may still be under way.
func TestRoundsWaitForTheBulkRunsOfOtherSlots(t *testing.T) {
	in := bulkInput(t)
	first := func(p *Plan) (first time.Time) {
		for i := range p.Assignments {
			if a := &p.Assignments[i]; a.Spec.Kind.IsBulk() && (first.IsZero() || a.Start.Before(first)) {
				first = a.Start
			}
		}
		return first
	}
	alone := mustMake(t, in)
	in.BulkUntil = first(alone).Add(-config.BulkGuard - time.Hour)
	if got := first(mustMake(t, in)); !got.Equal(first(alone)) {
		t.Errorf("runs that are long over put the first round off from %s to %s", first(alone), got)
	}
	in.BulkUntil = first(alone).Add(time.Minute)
	p := mustMake(t, in)
	if got := first(p); got.Before(in.BulkUntil.Add(config.BulkGuard)) {
		t.Errorf("the first round begins at %s, and others are under way until %s", got, in.BulkUntil)
	}
	if start, _ := window(t, p); !start.Equal(slot.Add(time.Millisecond + in.Config.Timing.Lead)) {
		t.Errorf("latency runs wait as well: they begin at %s", start)
	}
	in.BulkUntil = slot.Add(24 * time.Hour)
	for _, a := range mustMake(t, in).Assignments {
		if a.Spec.Kind.IsBulk() && a.Runs[0].Failure == "" {
			t.Errorf("%s from %s begins at %s, when the next slot's are about to", a.Probe, a.Source, a.Start)
		}
	}
	if end := alone.BulkUntil(); end.Before(first(alone)) || end.After(alone.Deadline()) {
		t.Errorf("the plan's own bulk runs are over at %s", end)
	}
	for i := range alone.Assignments {
		alone.Assignments[i].Runs[0].Failure = wire.FailureBudget
	}
	if end := alone.BulkUntil(); !end.IsZero() {
		t.Errorf("none of them is made, and they are over at %s", end)
	}
}
