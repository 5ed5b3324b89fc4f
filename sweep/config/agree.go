package config

import (
	"slices"
	"strings"
)

// agree checks what only probers and probes together show: that every word of a probe is about
// some pair, and every prober in some pair. What is not would be left out of every sweep
// without a sign. all is false when there are more probes than could be read.
func (r *reader) agree(c *Config, probers []proberEntry, probes []probeEntry, all bool) {
	ids := make([]string, 0, len(probers))
	for _, p := range probers {
		ids = append(ids, p.ID)
	}
	used := map[string]bool{}
	for i := range probes {
		p := &probes[i]
		known := r.proberNames(p.at+".from", p.From, p.fromLines, ids)
		known = r.proberNames(p.at+".to", p.To, p.toLines, ids) && known
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
}

// proberNames reports the names of probers that are none.
func (r *reader) proberNames(at string, names []string, lines []int, ids []string) (ok bool) {
	ok = true
	for i, name := range names {
		if !slices.Contains(ids, name) {
			r.fault(lines[i], "%s %s: is the id of no prober; %s", at, quote(name), suggest(name, ids))
			ok = false
		}
	}
	return ok
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
			p.at, quote(path), who(c, p.From, path), who(c, p.To, path))
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
		if !slices.ContainsFunc(pairs, func(q Pair) bool { return q.Target == id }) {
			r.fault(p.toLines[i], "%s.to %s: has no source: it shares none of the paths %s with one; leave it out, or add addresses", p.at, quote(id), list(p.Paths))
		}
	}
	return len(r.faults) == before
}

// who lists the probers among ids that have a path.
func who(c *Config, ids []string, path string) string {
	var out []string
	for _, p := range c.Probers {
		if named(ids, p.ID) && p.has(path) {
			out = append(out, quote(p.ID))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
