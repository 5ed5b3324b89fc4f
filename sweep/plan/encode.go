package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
)

// MaxBytes is the largest stored plan that is read. The design point (60 probers, two paths,
// three kinds) takes about 3 MB.
const MaxBytes = 64 << 20

// Encode writes a plan as the JSON that is stored. A plan that Decode would refuse is refused.
func Encode(p *Plan) ([]byte, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("encoding plan %q: %w", wire.SlotName(p.Slot), err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding plan %q: %w", wire.SlotName(p.Slot), err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("encoding plan %q: %d bytes: want at most %d", wire.SlotName(p.Slot), len(b), MaxBytes)
	}
	return b, nil
}

// Decode reads a stored plan, and checks all that it says of itself: only then may documents be
// matched with it. Fields that it does not know are left alone: whoever rolls the app back must be
// able to go on with what the newer one planned. A plan in which what is known means something
// else has another version, and is refused.
func Decode(body []byte) (*Plan, error) {
	if len(body) > MaxBytes {
		return nil, fmt.Errorf("reading a plan: %d bytes: want at most %d", len(body), MaxBytes)
	}
	// The version comes first: fields of another version may not even have the same types.
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("reading a plan: version %d: this program reads plan version %d", head.Version, Version)
	}
	var p Plan
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("reading plan %q: %w", wire.SlotName(p.Slot), err)
	}
	p.normalise()
	return &p, nil
}

// normalise makes a decoded plan the one that was encoded: times in UTC, lists that are there.
func (p *Plan) normalise() {
	p.Slot = p.Slot.UTC()
	if p.Assignments == nil {
		p.Assignments = []Assignment{}
	}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		for _, t := range []*time.Time{&a.Start, &a.LatestStart, &a.Deadline, &a.Expires} {
			*t = t.UTC()
		}
	}
}

// runKey is what every run of a plan must be alone with.
type runKey struct{ source, probe, target, path string }

func (p *Plan) validate() error {
	if p.Version != Version {
		return fmt.Errorf("version %d: this program reads plan version %d", p.Version, Version)
	}
	if err := wire.ValidateEnvironment(cut(p.Environment)); err != nil {
		return err
	}
	if !p.Slot.Equal(wire.Slot(p.Slot)) || !sane(p.Slot) {
		return fmt.Errorf("slot %s: want a whole minute", p.Slot)
	}
	if p.Seed.IsZero() {
		return errors.New("the seed is zero or absent: session keys would be known to everyone")
	}
	if !hashForm.MatchString(p.ConfigHash) {
		return fmt.Errorf("configuration hash %q: want 64 lower-case hexadecimal digits", cut(p.ConfigHash))
	}
	ids, runs := map[string]bool{}, map[runKey]bool{}
	for i := range p.Assignments {
		a := &p.Assignments[i]
		if err := p.validateAssignment(a); err != nil {
			return fmt.Errorf("assignments[%d]: %w", i, err)
		}
		if ids[a.ID] {
			return fmt.Errorf("assignments[%d]: id %s is there twice", i, a.ID)
		}
		ids[a.ID] = true
		for j := range a.Runs {
			r := &a.Runs[j]
			key := runKey{a.Source, a.Probe, r.Target, r.Path}
			if err := p.validateRun(a, r); err != nil {
				return fmt.Errorf("assignments[%d].runs[%d]: %w", i, j, err)
			}
			if runs[key] {
				return fmt.Errorf("assignments[%d].runs[%d]: %q over %q is there twice", i, j, r.Target, r.Path)
			}
			runs[key] = true
		}
	}
	return nil
}

func (p *Plan) validateAssignment(a *Assignment) error {
	if a.Part < 0 {
		return fmt.Errorf("part %d is negative", a.Part)
	}
	if err := wire.ValidateName("source", cut(a.Source)); err != nil {
		return err
	}
	if err := wire.ValidateName("probe", cut(a.Probe)); err != nil {
		return err
	}
	if want := wire.AssignmentID(p.Environment, p.Slot, a.Source, a.Probe, a.Part); a.ID != want {
		return fmt.Errorf("id %q: part %d of %q from %q has id %s", cut(a.ID), a.Part, a.Probe, a.Source, want)
	}
	if err := a.Spec.Validate(); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	times := []time.Time{p.Slot, a.Start, a.LatestStart, a.Deadline, a.Expires}
	if !slices.IsSortedFunc(times, time.Time.Compare) || !sane(a.Expires) {
		return fmt.Errorf("slot %s, start %s, latest start %s, deadline %s and expiry %s do not follow each other",
			p.Slot, a.Start, a.LatestStart, a.Deadline, a.Expires)
	}
	if a.Spec.ClosedLoop() {
		return errors.New("spec: interval 0s: no sweep has a closed loop")
	}
	if a.Spec.Kind.IsBulk() && len(a.Runs) != 1 {
		return fmt.Errorf("%d runs: a bulk run is an assignment of its own", len(a.Runs))
	}
	if a.LatestStart.Add(a.Spec.Span()).After(a.Deadline) {
		return fmt.Errorf("deadline %s cuts a run of %s that begins at %s", a.Deadline, a.Spec.Span(), a.LatestStart)
	}
	if len(a.Runs) < 1 || len(a.Runs) > wire.MaxRuns || len(a.Runs)*a.Spec.Count > wire.MaxSamples {
		return fmt.Errorf("%d runs of %d samples: want 1 to %d runs, and at most %d samples", len(a.Runs), a.Spec.Count, wire.MaxRuns, wire.MaxSamples)
	}
	return nil
}

func (p *Plan) validateRun(a *Assignment, r *Run) error {
	if err := wire.ValidateName("target", cut(r.Target)); err != nil {
		return err
	}
	if err := wire.ValidateName("path", cut(r.Path)); err != nil {
		return err
	}
	switch {
	case r.Target == a.Source:
		return fmt.Errorf("target %q is its own source", r.Target)
	case len(r.Detail) > wire.MaxDetailBytes:
		return fmt.Errorf("detail of %d bytes: want at most %d", len(r.Detail), wire.MaxDetailBytes)
	case r.Detail != "" && r.Failure == "":
		return fmt.Errorf("detail %q without a failure", cut(r.Detail))
	case slices.Contains(plannedFailures(a.Spec.Kind), r.Failure) && r.Address == "" && r.URL == "":
		return nil
	case r.Failure != "" && r.URL != "":
		return fmt.Errorf("failure %q with a URL: want %q without one, or a URL alone", cut(string(r.Failure)), wire.FailureTargetDown)
	case r.Failure != "":
		return fmt.Errorf("failure %q with address %q: want %q without one, or an address alone", cut(string(r.Failure)), cut(r.Address), wire.FailureTargetDown)
	}
	return errors.Join(validateAddress(a.Spec, r.Address), validateURL(a.Spec, r.URL))
}

// plannedFailures are the failures that a run may be planned with.
func plannedFailures(kind wire.Kind) []wire.Failure {
	if kind.IsBulk() {
		return []wire.Failure{wire.FailureTargetDown, wire.FailureBudget, wire.FailureCanceled}
	}
	return []wire.Failure{wire.FailureTargetDown}
}

func sane(t time.Time) bool { return t.Year() >= 2000 && t.Year() <= 9999 }

// cut keeps what a hostile plan says out of messages, all but its beginning.
func cut(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most]
	}
	return s
}

// Read decodes what is stored as the plan of a slot. Unlike storage's, its errors are final: what
// is stored there never changes.
func Read(body []byte, environment string, slot time.Time) (*Plan, error) {
	p, err := Decode(body)
	if err != nil {
		return nil, err
	}
	if p.Environment != environment || !p.Slot.Equal(slot) {
		return nil, fmt.Errorf("it says environment %q and slot %q; the app's environment is %q", p.Environment, wire.SlotName(p.Slot), environment)
	}
	return p, nil
}
