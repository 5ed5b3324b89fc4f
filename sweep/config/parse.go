package config

import (
	"slices"
	"time"

	"isochrone/prober/wire"
)

// What the timing is where the file says nothing.
const (
	defaultLead  = 30 * time.Second
	defaultLate  = 3 * time.Minute
	defaultGrace = 2 * time.Minute
)

// The limits of the timing. A prober looks for assignments every five seconds and the app for
// documents every minute, unless all of them run on one machine, where both are set to a second
// or a few.
const (
	minLead       = 10 * time.Second // a target must know of a session before its source begins
	minGrace      = time.Minute      // or runs expire that were measured and delivered
	minOnLoopback = time.Second
	minLate       = time.Second // no machine starts on the nanosecond
	maxLead       = 10 * time.Minute
	maxLate       = 10 * time.Minute
	maxGrace      = 24 * time.Hour
)

// Parse reads a sweep.yaml. If anything is wrong with it, the error is a Faults that holds all
// of it.
func Parse(body []byte) (*Config, error) {
	r := &reader{}
	c := &Config{}
	if root, ok := r.document(body); ok {
		if file, ok := r.mapping("", root, "version", "environment", "loopback", "timing", "budget", "probers", "endpoints", "probes", "alerts", "objectives"); ok {
			r.file(file, c)
		}
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return c, nil
}

func (r *reader) file(s section, c *Config) {
	s.need("version", "environment", "probers", "probes")
	if s.number("version", &c.Version) && s.has("version") && c.Version != Version {
		r.fault(s.lineOf("version"), "version %d: this program reads version %d", c.Version, Version)
		return // another version means other keys
	}
	if environment, ok := s.text("environment"); ok {
		c.Environment = environment
		if err := wire.ValidateEnvironment(environment); err != nil {
			r.fault(s.lineOf("environment"), "%s", err)
		}
	}
	s.flag("loopback", &c.Loopback)
	r.timing(s, c)
	probers, everyProber := r.probers(s, c.Loopback)
	endpoints, everyEndpoint := r.endpoints(s, probers, c.Loopback)
	probes, everyProbe := r.probes(s, endpoints)
	r.budget(s, c)
	r.needsBudget(s, probes)
	for _, p := range probers {
		c.Probers = append(c.Probers, p.Prober)
	}
	for _, e := range endpoints {
		c.Endpoints = append(c.Endpoints, e.Endpoint)
	}
	for _, p := range probes {
		c.Probes = append(c.Probes, p.Probe)
	}
	if everyProber && len(probers) > 0 && everyEndpoint {
		r.agree(c, probers, endpoints, probes, everyProbe && len(probes) > 0)
	}
	r.alerts(s, c)
	r.objectives(s, c, everyProber && everyEndpoint && everyProbe && !slices.ContainsFunc(probes, func(p probeEntry) bool { return !p.whole }))
	if len(r.faults) == 0 {
		r.fits(s, c, probes)
	}
}

func (r *reader) timing(file section, c *Config) {
	c.Timing = Timing{Lead: defaultLead, Late: defaultLate, Grace: defaultGrace}
	n := file.values["timing"]
	if n == nil {
		return
	}
	s, ok := r.mapping("timing", n, "lead", "late", "grace")
	if !ok {
		return
	}
	leadFloor, graceFloor := minLead, minGrace
	if c.Loopback {
		leadFloor, graceFloor = minOnLoopback, minOnLoopback
	}
	for _, t := range []struct {
		key         string
		to          *time.Duration
		least, most time.Duration
		why         string
	}{
		{"lead", &c.Timing.Lead, leadFloor, maxLead, "a target must know of a session before its source begins, and looks for it every 5s unless loopback is true"},
		{"late", &c.Timing.Late, minLate, maxLate, "a run that may not begin late is never made, and one that begins later belongs to another slot"},
		{"grace", &c.Timing.Grace, graceFloor, maxGrace, "a run without a document expires, and the app looks for documents every minute unless loopback is true"},
	} {
		if s.duration(t.key, t.to) && (*t.to < t.least || *t.to > t.most) {
			r.fault(s.lineOf(t.key), "timing.%s %s: want %s to %s: %s", t.key, *t.to, t.least, t.most, t.why)
		}
	}
}
