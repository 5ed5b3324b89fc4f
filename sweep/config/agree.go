package config

import (
	"slices"
	"strings"

	"isochrone/prober/wire"
)

// agree checks what only probers, endpoints and probes together show: that every word of a probe
// is about some pair, and every prober and endpoint in some pair. What is not would be left out of
// every sweep without a sign. all is false when there are more probes than could be read.
func (r *reader) agree(c *Config, probers []proberEntry, endpoints []endpointEntry, probes []probeEntry, all bool) {
	used := map[string]bool{}
	for i := range probes {
		p := &probes[i]
		known := r.sourceNames(c, p)
		known = r.targetNames(c, p) && known
		pathsKnown := r.pathNames(c, p)
		if !p.whole || !known || !pathsKnown {
			all = false // then nobody can say who takes part
			continue
		}
		pairs := c.Pairs(&p.Probe)
		for _, pair := range pairs {
			used[pair.Source], used[pair.Target] = true, true
		}
		all = r.pairs(c, p, pairs) && all
	}
	for _, p := range probers {
		if all && !used[p.ID] {
			r.fault(p.line, "%s %s: no probe measures from it or to it; add one for its paths, or leave the prober out", p.at, quote(p.ID))
		}
	}
	for _, e := range endpoints {
		if all && !used[e.Name] {
			r.fault(e.line, "%s %s: no probe measures it; name it in a probe's to, or leave it out", e.at, quote(e.Name))
		}
	}
}

// sourceNames reports the names of sources that are no prober's.
func (r *reader) sourceNames(c *Config, p *probeEntry) (ok bool) {
	ok = true
	for i, name := range p.From {
		if _, prober := c.Prober(name); prober {
			continue
		}
		ok = false
		if _, endpoint := c.Endpoint(name); endpoint {
			r.fault(p.fromLines[i], "%s.from %s: is an endpoint, and endpoints never measure; name probers", p.at, quote(name))
			continue
		}
		r.fault(p.fromLines[i], "%s.from %s: is the id of no prober; %s", p.at, quote(name), suggest(name, c.proberIDs()))
	}
	return ok
}

// targetNames reports the names of targets that are nobody's, and those of targets that the kind
// does not measure.
func (r *reader) targetNames(c *Config, p *probeEntry) (ok bool) {
	before := len(r.faults)
	kind := p.Spec.Kind
	fault := func(i int, format string, args ...any) {
		r.fault(p.toLines[i], "%s.to %s: "+format, append([]any{p.at, quote(p.To[i])}, args...)...)
	}
	for i, name := range p.To {
		_, prober := c.Prober(name)
		endpoint, isEndpoint := c.Endpoint(name)
		switch {
		case prober && kind == wire.KindHTTP:
			fault(i, "is a prober, and kind %q measures endpoints that have a url", kind)
		case prober && p.Spec.AsksURL():
			fault(i, "is a prober, and this probe loads endpoints that have a url: it has a method, or names an endpoint beside it; give probers a probe of their own")
		case prober:
		case isEndpoint && p.Spec.NeedsProber():
			fault(i, "is an endpoint, and kind %q needs a prober at the other end; connect and icmp need none, nor do http and load for a url", kind)
		case isEndpoint && p.Spec.AsksURL() && endpoint.URL == "":
			fault(i, "is an endpoint without a url, and kind %q asks for one; connect measures its address", kind)
		case isEndpoint:
		case len(c.Endpoints) == 0:
			fault(i, "is the id of no prober; %s", suggest(name, c.proberIDs()))
		default:
			fault(i, "is the id of no prober and the name of no endpoint; %s", suggest(name, append(c.proberIDs(), c.endpointNames()...)))
		}
	}
	return len(r.faults) == before
}

func (c *Config) proberIDs() []string {
	ids := make([]string, len(c.Probers))
	for i, p := range c.Probers {
		ids[i] = p.ID
	}
	return ids
}

func (c *Config) endpointNames() []string {
	names := make([]string, len(c.Endpoints))
	for i, e := range c.Endpoints {
		names[i] = e.Name
	}
	return names
}

// pathNames reports the paths of a probe that are none, or that no prober has.
func (r *reader) pathNames(c *Config, p *probeEntry) (ok bool) {
	ok = true
	for i, path := range p.Paths {
		switch {
		case !slices.Contains(Paths(), path):
			r.fault(p.pathLines[i], "%s.paths %s: is no path; %s", p.at, quote(path), suggest(path, Paths()))
			ok = false
		case !slices.ContainsFunc(c.Probers, func(q Prober) bool { return q.has(path) }):
			r.fault(p.pathLines[i], "%s.paths %s: no prober has addresses for it", p.at, quote(path))
			ok = false
		}
	}
	return ok
}

// pairs reports the paths, sources and targets of a probe that are in none of its pairs.
func (r *reader) pairs(c *Config, p *probeEntry, pairs []Pair) (ok bool) {
	before := len(r.faults)
	for i, path := range p.Paths {
		if slices.ContainsFunc(pairs, func(q Pair) bool { return q.Path == path }) {
			continue
		}
		r.fault(p.pathLines[i], "%s.paths %s: yields no pair: a source and another prober as the target must both have addresses for it (sources that do: %s; targets that do: %s)",
			p.at, quote(path), some(sources(c, p, path)), some(targets(c, p, path)))
	}
	if len(pairs) == 0 {
		return false // the paths say it all
	}
	for i, id := range p.From {
		if !slices.ContainsFunc(pairs, func(q Pair) bool { return q.Source == id }) {
			r.fault(p.fromLines[i], "%s.from %s: has no target: it shares none of the paths %s with one; leave it out, or add addresses", p.at, quote(id), list(p.Paths))
		}
	}
	for i, id := range p.To {
		if slices.ContainsFunc(pairs, func(q Pair) bool { return q.Target == id }) {
			continue
		}
		if e, ok := c.Endpoint(id); ok {
			r.fault(p.toLines[i], "%s.to %s: has no source: its path is %s, and the probe has the paths %s and these sources with addresses for it: %s; leave it out, or give it another path",
				p.at, quote(id), quote(e.Path), list(p.Paths), some(sources(c, p, e.Path)))
		} else {
			r.fault(p.toLines[i], "%s.to %s: has no source: it shares none of the paths %s with one; leave it out, or add addresses", p.at, quote(id), list(p.Paths))
		}
	}
	return len(r.faults) == before
}

// sources lists the probers that a probe measures from over a path.
func sources(c *Config, p *probeEntry, path string) (out []string) {
	for _, q := range c.Probers {
		if named(p.From, q.ID) && q.has(path) {
			out = append(out, quote(q.ID))
		}
	}
	return out
}

// targets lists the probers and endpoints that a probe measures over a path.
func targets(c *Config, p *probeEntry, path string) (out []string) {
	for _, q := range c.Probers {
		if named(p.To, q.ID) && q.has(path) {
			out = append(out, quote(q.ID))
		}
	}
	for _, e := range c.Endpoints {
		if slices.Contains(p.To, e.Name) && e.Path == path {
			out = append(out, quote(e.Name))
		}
	}
	return out
}

func some(quoted []string) string {
	if len(quoted) == 0 {
		return "none"
	}
	return strings.Join(quoted, ", ")
}
