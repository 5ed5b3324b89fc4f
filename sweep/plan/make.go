package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// Input is all that a plan depends on.
type Input struct {
	Config     *config.Config // from config.Parse
	ConfigHash string         // SHA-256 of the pinned configuration, 64 lower-case hexadecimal digits
	Slot       time.Time      // a whole minute, UTC
	Now        time.Time
	// Seed is drawn anew for every plan. It may be left out of a plan that is only looked at:
	// Encode refuses to store one without.
	Seed wire.Key
	// Targets is what is known of the probers, by id, and of the endpoints, by name. A prober that
	// is not in it is down as a target; as a source it gets its assignments all the same, for it may
	// come back in time. An http run needs nothing that is known here.
	Targets map[string]Target
	// Spent is what other slots of the same month planned to send by bulk runs, in bytes.
	Spent int64
	// BulkUntil is when the bulk runs of other slots that are planned already are over; zero where there are
	// none. A configuration keeps its own slots apart; these may have been planned from another.
	BulkUntil time.Time
}

// Target is what is known of a prober or an endpoint.
type Target struct {
	// Down: it can be measured on no path, and Reason says why in a sentence of its own.
	Down   bool
	Reason string
	// Assignments is the version of assignments that the app writes for the prober: one that
	// its registration lists. Unless it is wire.AssignmentsVersion the prober cannot learn of
	// sessions, and is down as the target of every authenticated kind.
	Assignments int
	// Addresses are where it is reached, by path, as the configuration permits. On a path that is
	// absent it is down.
	Addresses map[string]Address
	// Refused says, by path, why an address that it registered, or an endpoint's, is not among
	// Addresses.
	Refused map[string]string
}

// connectMargin is what a run's deadline leaves for everything that is neither a sample nor a
// sample's timeout: the connection's set-up beyond one timeout, and clocks that differ.
const connectMargin = 5 * time.Second

// Make plans the sweep of a slot: the runs of every probe that is due, whether their target
// can be measured or not. The same input gives the same plan. A slot at which nothing is due
// gives a plan without assignments.
//
// Bulk runs are assignments of their own, in rounds (config.Timetable); their part is their number
// within source and probe, in the order of time. What exceeds the budget, or finds no time any more, is
// planned with a failure.
//
// Assignments come in the order of source, probe and part, the runs of each in the order of
// target and path. Where the runs of a source and probe exceed what a document may hold
// (wire.MaxRuns, wire.MaxSamples), they are split into parts, numbered from 0.
func Make(in Input) (*Plan, error) {
	if err := in.validate(); err != nil {
		return nil, fmt.Errorf("planning slot %q: %w", wire.SlotName(in.Slot), err)
	}
	p := &Plan{
		Version: Version, Environment: in.Config.Environment, Slot: in.Slot.UTC(),
		Seed: in.Seed, ConfigHash: in.ConfigHash, Assignments: []Assignment{},
	}
	bulk := false
	for _, probe := range Due(in.Config, in.Slot) {
		if probe.Spec.Kind.IsBulk() {
			bulk = true
			continue
		}
		if err := in.assign(p, &probe); err != nil {
			return nil, fmt.Errorf("planning probe %q at slot %q: %w", probe.Name, wire.SlotName(in.Slot), err)
		}
	}
	if bulk {
		if err := in.assignBulk(p); err != nil {
			return nil, fmt.Errorf("planning slot %q: %w", wire.SlotName(in.Slot), err)
		}
	}
	slices.SortFunc(p.Assignments, func(a, b Assignment) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Probe, b.Probe), cmp.Compare(a.Part, b.Part))
	})
	return p, nil
}

var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (in Input) validate() error {
	switch {
	case in.Config == nil:
		return errors.New("there is no configuration")
	case !hashForm.MatchString(in.ConfigHash):
		return fmt.Errorf("configuration hash %q: want 64 lower-case hexadecimal digits", in.ConfigHash)
	case !in.Slot.Equal(wire.Slot(in.Slot)) || in.Slot.Year() < 2000:
		return fmt.Errorf("slot %s: want a whole minute", in.Slot)
	case in.Now.Year() < 2000:
		return fmt.Errorf("now is %s", in.Now)
	}
	return wire.ValidateEnvironment(in.Config.Environment)
}

// Due lists the probes that are due at a slot, in the configuration's order.
func Due(c *config.Config, slot time.Time) []config.Probe {
	var due []config.Probe
	for i := range c.Probes {
		if c.Probes[i].Due(slot) {
			due = append(due, c.Probes[i])
		}
	}
	return due
}

// assign adds the assignments of a probe that is due.
func (in Input) assign(p *Plan, probe *config.Probe) error {
	pairs := in.Config.Pairs(probe) // in the order of source, target, path
	perPart := min(wire.MaxRuns, max(wire.MaxSamples/max(probe.Spec.Count, 1), 1))
	for len(pairs) > 0 {
		source := pairs[0].Source
		n := 0
		for n < len(pairs) && pairs[n].Source == source {
			n++
		}
		part := 0
		for mine := range slices.Chunk(pairs[:n], perPart) {
			a := in.assignment(p, probe, source, part)
			for _, pair := range mine {
				run, err := in.run(probe, pair)
				if err != nil {
					return err
				}
				a.Runs = append(a.Runs, run)
			}
			p.Assignments = append(p.Assignments, a)
			part++
		}
		pairs = pairs[n:]
	}
	return nil
}

// assignment is an assignment without its runs. All of them begin at once: a prober paces its
// own sends.
func (in Input) assignment(p *Plan, probe *config.Probe, source string, part int) Assignment {
	t := in.Config.Timing
	start := in.begin().Add(t.Lead)
	latest := in.latest(start)
	deadline := latest.Add(probe.Spec.Span() + probe.Spec.Timeout + connectMargin)
	return Assignment{
		ID:     wire.AssignmentID(p.Environment, p.Slot, source, probe.Name, part),
		Source: source, Probe: probe.Name, Part: part, Spec: probe.Spec,
		Start: start, LatestStart: latest, Deadline: deadline, Expires: deadline.Add(t.Grace),
	}
}

// latest is how late a latency run may begin that is to begin at start. Where there are bulk probes it is
// no later for a sweep that was planned late: the rounds of other slots lie where the runs of this one
// would be over if it had been planned at its slot (config.Timetable). One that comes after all of that
// begins at once or not at all.
func (in Input) latest(start time.Time) time.Time {
	t := in.Config.Timing
	latest := start.Add(t.Late)
	if !slices.ContainsFunc(in.Config.Probes, func(p config.Probe) bool { return p.Spec.Kind.IsBulk() }) {
		return latest
	}
	bound := in.Slot.Add(t.Lead + t.Late).UTC()
	if soon := start.Add(config.BulkGuard); soon.After(bound) {
		bound = soon
	}
	if bound.Before(latest) {
		return bound
	}
	return latest
}

// begin is the slot, or now where that is later: to the millisecond, and without the monotonic
// reading, so that the stored plan is the plan.
func (in Input) begin() time.Time {
	begin := in.Slot
	if in.Now.After(begin) {
		begin = in.Now
	}
	return begin.UTC().Truncate(time.Millisecond)
}

func (in Input) run(probe *config.Probe, pair config.Pair) (Run, error) {
	run, kind := Run{Target: pair.Target, Path: pair.Path}, probe.Spec.Kind
	var reason string
	if probe.Spec.AsksURL() {
		endpoint, _ := in.Config.Endpoint(pair.Target)
		run.URL, run.Loopback = endpoint.URL, in.Config.Loopback
	} else if reason = in.down(probe, pair); reason == "" {
		run.Address, reason = in.Targets[pair.Target].Addresses[pair.Path].of(kind)
	}
	if reason != "" {
		run.Failure, run.Detail = wire.FailureTargetDown, wire.CutDetail(reason)
		return run, nil
	}
	if err := errors.Join(validateAddress(probe.Spec, run.Address), validateURL(probe.Spec, run.URL)); err != nil {
		return run, fmt.Errorf("target %q over %q: %w", pair.Target, pair.Path, err)
	}
	return run, nil
}

// down says why the target of a pair cannot be measured; it is empty for one that can.
func (in Input) down(probe *config.Probe, pair config.Pair) string {
	target, known := in.Targets[pair.Target]
	_, reached := target.Addresses[pair.Path]
	_, endpoint := in.Config.Endpoint(pair.Target)
	switch {
	case !known && endpoint:
		return "the endpoint's address is not known"
	case !known:
		return "the target never registered"
	case target.Down:
		return cmp.Or(target.Reason, "the target is down")
	case probe.Spec.Authenticated() && target.Assignments != wire.AssignmentsVersion:
		return fmt.Sprintf("the target reads no assignment version that this app writes: it writes version %d", wire.AssignmentsVersion)
	case reached:
		return ""
	}
	return cmp.Or(target.Refused[pair.Path], fmt.Sprintf("the target registered no address on path %q", pair.Path))
}
