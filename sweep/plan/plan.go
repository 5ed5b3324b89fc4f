// Package plan turns a slot, a configuration and what is known of the probers into the runs that
// are due, and a plan into what each prober is told. It does no input or output and reads no
// clock.
package plan

import (
	"slices"
	"time"

	"isochrone/prober/wire"
)

// Version of the plan blob.
const Version = 1

// Plan is everything that a sweep will do, fixed when the sweep is planned. It is stored once
// and never changed; whoever lost the race to store it goes on from the winner's.
type Plan struct {
	Version     int       `json:"version"`
	Environment string    `json:"environment"`
	Slot        time.Time `json:"slot"`
	// Seed is what the session keys are derived from. Only the app may read a plan.
	Seed wire.Key `json:"seed"`
	// ConfigHash is the SHA-256, in hexadecimal, of the configuration that was pinned.
	ConfigHash  string       `json:"config_sha256"`
	Assignments []Assignment `json:"assignments"`
}

// Assignment is the runs of one probe that one source makes.
type Assignment struct {
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Probe       string    `json:"probe"`
	Part        int       `json:"part"`
	Spec        wire.Spec `json:"spec"`
	Start       time.Time `json:"start"`
	LatestStart time.Time `json:"latest_start"`
	Deadline    time.Time `json:"deadline"`
	// Expires is when the app stops waiting for the document.
	Expires time.Time `json:"expires"`
	Runs    []Run     `json:"runs"`
}

// Run is one planned run.
type Run struct {
	Target string `json:"target"`
	Path   string `json:"path"`
	// Address is the target's numeric host:port on the path, as resolved when the sweep was
	// planned; for icmp its numeric host alone. Empty exactly when Failure or URL is set.
	Address string `json:"address,omitempty"`
	// URL is what a run of http, or of load to a URL, asks for; its source resolves the host.
	URL string `json:"url,omitempty"`
	// Loopback lets the source of an http run connect to its own loopback addresses: the
	// configuration's Loopback when the sweep was planned.
	Loopback bool `json:"loopback,omitempty"`
	// Failure is target_down when the target cannot be measured, budget when the run's bytes exceed what
	// the sweep or the month may send, and canceled when there was no time for a bulk run any more.
	Failure wire.Failure `json:"failure,omitempty"`
	// Detail says why it cannot, for people: at most wire.MaxDetailBytes, and only with a Failure.
	Detail string `json:"detail,omitempty"`
}

// Series is the series that a run of an assignment belongs to.
func (p *Plan) Series(a *Assignment, r *Run) wire.Series {
	return wire.Series{Environment: p.Environment, Source: a.Source, Target: r.Target, Path: r.Path, Probe: a.Probe}
}

// Assignment finds an assignment by its id.
func (p *Plan) Assignment(id string) (*Assignment, bool) {
	for i := range p.Assignments {
		if p.Assignments[i].ID == id {
			return &p.Assignments[i], true
		}
	}
	return nil, false
}

// Runs is the number of runs planned.
func (p *Plan) Runs() int {
	n := 0
	for i := range p.Assignments {
		n += len(p.Assignments[i].Runs)
	}
	return n
}

// BulkBytes is what the plan's bulk runs may send: the sum of the budgets of those that are to be made.
func (p *Plan) BulkBytes() (sum int64) {
	for i := range p.Assignments {
		a := &p.Assignments[i]
		for j := range a.Runs {
			if a.Runs[j].Failure == "" {
				sum += a.Spec.Bulk.MaxBytes // zero for other kinds
			}
		}
	}
	return sum
}

// BulkUntil is when the plan's bulk runs that are to be made are over; zero where there are none.
func (p *Plan) BulkUntil() (last time.Time) {
	for i := range p.Assignments {
		a := &p.Assignments[i]
		made := a.Spec.Kind.IsBulk() && slices.ContainsFunc(a.Runs, func(r Run) bool { return r.Failure == "" })
		if made && a.Deadline.After(last) {
			last = a.Deadline
		}
	}
	return last
}

// Deadline is when the last assignment ends.
func (p *Plan) Deadline() (last time.Time) {
	for i := range p.Assignments {
		if d := p.Assignments[i].Deadline; d.After(last) {
			last = d
		}
	}
	return last
}
