package plan

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// ClockGuard is how long before an assignment's start its sessions are admitted: a source
// whose clock is ahead of the target's begins early by the target's clock, and without the guard
// the whole run would be refused. Synchronised clocks in Azure differ by milliseconds.
//
// It is no longer than the shortest lead that a configuration may have, so a session never
// begins before the sweep was planned, and a reflector that was up when the sweep was planned
// never refuses it for having started before the reflector did.
const ClockGuard = time.Second

// Current is what one prober is told: the runs that it makes as a source and the sessions that
// it admits as a target, of every plan whose deadline lies after now. Its order, and so its
// JSON, depends on nothing but the plans, in whatever order they come. Plans of another
// environment, and two plans of one slot that differ, are errors.
//
// There is a session for every authenticated run that is to be made: none for kinds that need no
// reflector, and none for a run whose target was down when the sweep was
// planned, which the source does not make.
func Current(environment, prober string, plans []*Plan, now time.Time) (wire.Current, error) {
	current := wire.Current{
		Version: wire.AssignmentsVersion, Environment: environment, Prober: prober,
		Assignments: []wire.Assignment{}, Sessions: []wire.Session{},
	}
	slots := map[string]*Plan{}
	for _, p := range plans {
		if p.Environment != environment {
			return wire.Current{}, fmt.Errorf("telling prober %q: plan of environment %q among those of %q", prober, p.Environment, environment)
		}
		name := wire.SlotName(p.Slot)
		if other, twice := slots[name]; twice {
			if !same(p, other) {
				return wire.Current{}, fmt.Errorf("telling prober %q: two plans of slot %q differ", prober, name)
			}
			continue
		}
		slots[name] = p
		if !p.Deadline().After(now) {
			continue
		}
		if err := p.tell(&current); err != nil {
			return wire.Current{}, fmt.Errorf("telling prober %q of slot %q: %w", prober, name, err)
		}
	}
	slices.SortFunc(current.Assignments, func(a, b wire.Assignment) int {
		return cmp.Or(a.Start.Compare(b.Start), a.Slot.Compare(b.Slot), strings.Compare(a.Probe, b.Probe), cmp.Compare(a.Part, b.Part))
	})
	slices.SortFunc(current.Sessions, func(a, b wire.Session) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), strings.Compare(a.Source, b.Source), strings.Compare(a.Probe, b.Probe),
			strings.Compare(a.Path, b.Path), strings.Compare(hex.EncodeToString(a.ID[:]), hex.EncodeToString(b.ID[:])))
	})
	return current, nil
}

// same says whether two plans of a slot are one: a plan that was read twice.
func same(a, b *Plan) bool {
	return a == b || (a.Seed == b.Seed && a.ConfigHash == b.ConfigHash && slices.EqualFunc(a.Assignments, b.Assignments,
		func(x, y Assignment) bool {
			return x.ID == y.ID && x.Spec == y.Spec && x.Start.Equal(y.Start) && x.Deadline.Equal(y.Deadline) && slices.Equal(x.Runs, y.Runs)
		}))
}

// tell adds what a plan has for the prober.
func (p *Plan) tell(c *wire.Current) error {
	for i := range p.Assignments {
		a := &p.Assignments[i]
		if a.Source == c.Prober {
			told, err := p.told(a)
			if err != nil {
				return err
			}
			c.Assignments = append(c.Assignments, told)
			continue // no prober is its own target
		}
		for j := range a.Runs {
			r := &a.Runs[j]
			if r.Target != c.Prober || !a.opens(r) {
				continue
			}
			id, key, err := wire.DeriveSession(p.Seed, p.Series(a, r), p.Slot)
			if err != nil {
				return err
			}
			session := wire.Session{
				ID: id, Key: key, Source: a.Source, Path: r.Path, Probe: a.Probe, Kind: a.Spec.Kind,
				RequestBytes: a.Spec.RequestBytes, ResponseBytes: a.Spec.ResponseBytes,
				MaxRequests: a.Spec.Count + a.Spec.Warmup,
				NotBefore:   a.Start.Add(-ClockGuard).UTC(), Deadline: a.Deadline.UTC(),
			}
			if a.Spec.Kind.IsBulk() {
				session.Spec = a.Spec
			}
			c.Sessions = append(c.Sessions, session)
		}
	}
	return nil
}

// opens says whether a run of the assignment opens a session.
func (a *Assignment) opens(r *Run) bool { return a.Spec.Authenticated() && r.Failure == "" }

// told is an assignment as its source reads it.
func (p *Plan) told(a *Assignment) (wire.Assignment, error) {
	out := wire.Assignment{
		ID: a.ID, Slot: p.Slot.UTC(), Probe: a.Probe, Part: a.Part, Spec: a.Spec,
		Start: a.Start.UTC(), LatestStart: a.LatestStart.UTC(), Deadline: a.Deadline.UTC(),
		Runs: make([]wire.AssignedRun, len(a.Runs)),
	}
	for i := range a.Runs {
		r := &a.Runs[i]
		out.Runs[i] = wire.AssignedRun{Target: r.Target, Path: r.Path, Failure: r.Failure, Detail: r.Detail, Address: r.Address, URL: r.URL, Loopback: r.Loopback}
		if !a.opens(r) {
			continue
		}
		var err error
		if out.Runs[i].Session, out.Runs[i].Key, err = wire.DeriveSession(p.Seed, p.Series(a, r), p.Slot); err != nil {
			return wire.Assignment{}, err
		}
	}
	return out, nil
}
