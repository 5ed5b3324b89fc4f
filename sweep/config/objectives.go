package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// MaxObjectives bounds the objectives of a configuration: each is held against up to four weeks of hours,
// every hour.
const MaxObjectives = 100

// Objective is what a recovery plan asks of the line from one prober to another. What is zero is not asked.
type Objective struct {
	Name     string
	From, To string // prober ids; data goes from From to To
	Path     string
	// Throughput and Latency are the probes whose series are looked at; empty where nothing is asked of
	// them.
	Throughput, Latency string
	// ChangeRate is how fast data changes at From, and MinThroughput what is wanted whatever changes, bit/s.
	ChangeRate, MinThroughput float64
	RPO                       time.Duration // the copy may be behind by so much
	MaxP99                    time.Duration // of the round trip
	Window                    time.Duration // of the hours that throughput is taken from
}

const (
	defaultWindow = 28 * 24 * time.Hour
	minWindow     = 24 * time.Hour
)

// objectives reads the section of that name, which may be absent. What an objective names is held against
// the rest of the file where that could be read.
func (r *reader) objectives(file section, c *Config, whole bool) {
	if !file.has("objectives") {
		return
	}
	names := map[string]int{}
	for i, n := range r.entries(file, "objectives", MaxObjectives) {
		at := fmt.Sprintf("objectives[%d]", i)
		s, ok := r.mapping(at, n, "name", "from", "to", "path", "throughput", "latency", "change_rate", "rpo", "max_p99", "min_throughput", "window")
		if !ok {
			continue
		}
		o := Objective{Window: defaultWindow}
		before := len(r.faults)
		r.objectiveNames(s, &o)
		r.objectiveLimits(s, &o)
		if whole && len(r.faults) == before {
			r.objectiveSeries(s, c, &o)
		}
		if line, twice := names[o.Name]; twice {
			r.fault(s.lineOf("name"), "%s.name %s: also in line %d; give each a name of its own", at, quote(o.Name), line)
		} else if o.Name != "" {
			names[o.Name] = s.lineOf("name")
		}
		c.Objectives = append(c.Objectives, o)
	}
}

func (r *reader) objectiveNames(s section, o *Objective) {
	s.need("name", "from", "to", "path")
	for _, n := range []struct {
		key string
		to  *string
	}{{"name", &o.Name}, {"from", &o.From}, {"to", &o.To}, {"path", &o.Path}, {"throughput", &o.Throughput}, {"latency", &o.Latency}} {
		text, ok := s.text(n.key)
		if !ok {
			continue
		}
		*n.to = text
		if err := wire.ValidateName(n.key, text); err != nil {
			r.fault(s.lineOf(n.key), "%s.%s", s.at, err)
		}
	}
}

// objectiveLimits reads what is asked.
func (r *reader) objectiveLimits(s section, o *Objective) {
	s.rate("change_rate", &o.ChangeRate)
	s.rate("min_throughput", &o.MinThroughput)
	r.span(s, "rpo", &o.RPO, time.Second, 30*24*time.Hour, "the copy may be behind by so much")
	r.span(s, "max_p99", &o.MaxP99, time.Microsecond, wire.MaxTimeout, "a sample that takes longer is lost")
	r.span(s, "window", &o.Window, minWindow, defaultWindow, "throughput is taken from so many hours up to the present")
	asks := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return s.has(key) || s.meant[key] })
	}
	if !asks("change_rate", "max_p99", "min_throughput") {
		r.fault(s.line, "%s: asks for nothing; give it a change_rate, a max_p99 or a min_throughput", s.at)
	}
	if s.has("rpo") && !asks("change_rate") {
		r.fault(s.lineOf("rpo"), "%s: needs a change_rate: how far a copy is behind depends on how fast data changes", s.place("rpo"))
	}
	if s.has("throughput") && !asks("change_rate", "min_throughput") {
		r.fault(s.lineOf("throughput"), "%s: nothing is asked of throughput; give a change_rate or a min_throughput, or leave it out", s.place("throughput"))
	}
	if s.has("latency") && !asks("max_p99", "rpo") {
		r.fault(s.lineOf("latency"), "%s: nothing is asked of latency; give a max_p99 or an rpo, or leave it out", s.place("latency"))
	}
}

// objectiveSeries finds the probes whose series say whether the objective is kept: those that are named, or
// the first of the file that fit.
func (r *reader) objectiveSeries(s section, c *Config, o *Objective) {
	for _, n := range []struct{ key, name string }{{"from", o.From}, {"to", o.To}} {
		if _, ok := c.Prober(n.name); !ok {
			r.fault(s.lineOf(n.key), "%s %s: is the id of no prober; %s", s.place(n.key), quote(n.name), suggest(n.name, c.proberIDs()))
			return
		}
	}
	if !slices.Contains(Paths(), o.Path) {
		r.fault(s.lineOf("path"), "%s %s: is no path; %s", s.place("path"), quote(o.Path), suggest(o.Path, Paths()))
		return
	}
	if o.ChangeRate > 0 || o.MinThroughput > 0 {
		r.objectiveProbe(s, c, o, "throughput", &o.Throughput, func(p *Probe) bool {
			return p.Spec.Kind == wire.KindThroughput && p.Spec.Bulk.Direction != wire.DirectionDown
		})
	}
	if o.MaxP99 > 0 || o.RPO > 0 {
		r.objectiveProbe(s, c, o, "latency", &o.Latency, func(p *Probe) bool { return !p.Spec.Kind.IsBulk() })
	}
}

func (r *reader) objectiveProbe(s section, c *Config, o *Objective, what string, name *string, fits func(*Probe) bool) {
	var there []string
	for i := range c.Probes {
		p := &c.Probes[i]
		if fits(p) && slices.Contains(c.Pairs(p), Pair{o.From, o.To, o.Path}) {
			there = append(there, p.Name)
		}
	}
	switch {
	case len(there) == 0:
		r.fault(s.line, "%s: no probe measures %s from %s to %s over path %s; add one, or leave out what needs it", s.at, what, quote(o.From), quote(o.To), quote(o.Path))
	case *name == "":
		*name = there[0]
	case !slices.Contains(there, *name):
		r.fault(s.lineOf(what), "%s %s: does not measure %s from %s to %s over path %s; there is %s", s.place(what), quote(*name), what, quote(o.From), quote(o.To), quote(o.Path), strings.Join(there, ", "))
	}
}
