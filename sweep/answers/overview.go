package answers

import (
	"slices"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
)

// Overview is what an environment measures, and where: what there is to ask about.
type Overview struct {
	Environment string
	// Paths are those over which a probe measures, in the order in which the configuration names them.
	Paths []string
	// Path and Probe are what an answer is about where nothing else is asked for.
	Path, Probe string
	Probes      []OverviewProbe
	Probers     []OverviewProber
	Endpoints   []config.Endpoint
}

// OverviewProbe is a probe of the configuration.
type OverviewProbe struct {
	Name     string
	Kind     wire.Kind
	Schedule string
	Paths    []string
}

// OverviewProber is a prober, with its region's facts; of a region that the catalog does not have they are zero.
type OverviewProber struct {
	ID     string
	Region catalog.Region
	Paths  []string
}

// OverviewOf lists what a configuration has.
func OverviewOf(c *config.Config) *Overview {
	o := &Overview{Environment: c.Environment, Endpoints: c.Endpoints}
	o.Path, o.Probe = Default(c)
	for i := range c.Probes {
		p := &c.Probes[i]
		o.Probes = append(o.Probes, OverviewProbe{p.Name, p.Spec.Kind, p.Schedule, p.Paths})
		for _, path := range p.Paths {
			if !slices.Contains(o.Paths, path) {
				o.Paths = append(o.Paths, path)
			}
		}
	}
	for _, p := range c.Probers {
		of := OverviewProber{ID: p.ID}
		var known bool
		if of.Region, known = catalog.Lookup(p.Region); !known {
			of.Region.Name = p.Region
		}
		for _, path := range config.Paths() {
			if len(p.Addresses[path]) > 0 {
				of.Paths = append(of.Paths, path)
			}
		}
		o.Probers = append(o.Probers, of)
	}
	return o
}

// roundTripKinds are the kinds of which the first probe stands for "the latency" of a path, best first.
var roundTripKinds = []wire.Kind{wire.KindTCP, wire.KindUDP, wire.KindConnect, wire.KindICMP}

// Default is the path and the probe that stand for an environment's latency: of the kinds that measure a
// bare round trip the first probe, over its first path; where there is none, the configuration's first probe.
func Default(c *config.Config) (path, probe string) {
	return ranked(c, func(k wire.Kind) int { return slices.Index(roundTripKinds, k) }, "")
}

// DefaultProbe is Default's probe among those that measure over a path. ok is false where none does.
func DefaultProbe(c *config.Config, path string) (probe string, ok bool) {
	_, probe = ranked(c, func(k wire.Kind) int { return slices.Index(roundTripKinds, k) }, path)
	return probe, probe != ""
}

// DefaultThroughput is the first probe of kind throughput over a path, or of saturate where none is; empty and not ok
// without either.
func DefaultThroughput(c *config.Config, path string) (probe string, ok bool) {
	kinds := []wire.Kind{wire.KindThroughput, wire.KindSaturate}
	_, probe = ranked(c, func(k wire.Kind) int { return slices.Index(kinds, k) }, path)
	if p := slices.IndexFunc(c.Probes, func(p config.Probe) bool { return p.Name == probe }); p < 0 || !slices.Contains(kinds, c.Probes[p].Spec.Kind) {
		return "", false
	}
	return probe, true
}

// ranked is the first probe of the best rank (the smallest that is not negative), over the path or over its own first one.
func ranked(c *config.Config, rank func(wire.Kind) int, over string) (path, probe string) {
	best := -2
	for i := range c.Probes {
		p := &c.Probes[i]
		if over != "" && !slices.Contains(p.Paths, over) || len(p.Paths) == 0 {
			continue
		}
		r := rank(p.Spec.Kind)
		if best == -2 || r >= 0 && (best < 0 || r < best) {
			best, path, probe = r, p.Paths[0], p.Name
		}
	}
	if over != "" && probe != "" {
		path = over
	}
	return path, probe
}
