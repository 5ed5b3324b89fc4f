package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"isochrone/prober/wire"
)

// MaxSpan is the longest that a run may take, warm-up and the last timeout included. A
// document's offsets reach a day at most, and a run may begin late.
const MaxSpan = 12 * time.Hour

// probeEntry is a probe and where the file says so.
type probeEntry struct {
	Probe
	at           string
	line         int
	scheduleLine int
	// The lines of the entries of Paths, From and To.
	pathLines, fromLines, toLines []int
	// whole is false when Paths, From or To is not all that the file means.
	whole bool
}

// probes reads the section of that name, with what each probe means by itself.
// whole is false when an entry could not be read at all.
func (r *reader) probes(file section, endpoints []endpointEntry) (out []probeEntry, whole bool) {
	whole = true
	names := map[string]probeEntry{}
	for i, n := range r.entries(file, "probes", MaxProbes) {
		p, ok := r.probe(fmt.Sprintf("probes[%d]", i), n, endpoints)
		if !ok {
			whole = false
			continue
		}
		if first, twice := names[p.Name]; twice {
			r.fault(p.line, "%s.name %s: also the name of %s in line %d; give each a name of its own", p.at, quote(p.Name), first.at, first.line)
		} else if p.Name != "" {
			names[p.Name] = p
		}
		out = append(out, p)
	}
	return out, whole
}

func (r *reader) probe(at string, n *yaml.Node, endpoints []endpointEntry) (probeEntry, bool) {
	p := probeEntry{at: at, line: n.Line}
	s, ok := r.mapping(at, n, append([]string{"name", "kind", "schedule", "rotate", "paths", "from", "to", "timeout"}, append(latencyKeys(), bulkKeys()...)...)...)
	if !ok {
		return p, false
	}
	p.scheduleLine = s.lineOf("schedule")
	s.need("name", "kind", "schedule", "paths")
	if name, ok := s.text("name"); ok {
		p.Name, p.line = name, s.lineOf("name")
		if strings.HasPrefix(name, wire.ForeignPrefix) {
			r.fault(p.line, "%s.name %s: names that begin with %q are those of foreign documents", at, quote(name), wire.ForeignPrefix)
		} else if err := wire.ValidateName("name", name); err != nil {
			r.fault(p.line, "%s.%s", at, err)
		}
	}
	before := len(r.faults)
	p.Paths, p.pathLines = r.names(s, "paths", "[public]")
	p.From, p.fromLines = r.names(s, "from", "[westeurope], or leave it out for all")
	p.To, p.toLines = r.names(s, "to", "[westeurope], or leave it out for all")
	p.whole = len(r.faults) == before && len(p.Paths) > 0

	var specOK bool
	if kind, _ := s.text("kind"); wire.Kind(kind).IsBulk() {
		p.Spec, specOK = r.bulk(s, wire.Kind(kind), slices.ContainsFunc(endpoints, func(e endpointEntry) bool { return slices.Contains(p.To, e.Name) }))
	} else {
		s.need("count", "interval")
		p.Spec, specOK = r.spec(s)
	}
	if p.Spec.AsksURL() && !s.has("to") && !s.meant["to"] {
		r.fault(s.line, "%s.to: missing; kind %q measures the endpoints that it names", at, p.Spec.Kind)
		p.whole = false
	}
	r.schedule(s, &p, specOK)
	return p, true
}

// names reads a list of names, each of which may be there once.
func (r *reader) names(s section, key, example string) (names []string, lines []int) {
	texts, nodes := s.texts(key, example)
	for i, text := range texts {
		if slices.Contains(names, text) {
			r.fault(nodes[i].Line, "%s %s: is there twice", s.place(key), quote(text))
			continue
		}
		names, lines = append(names, text), append(lines, nodes[i].Line)
	}
	return names, lines
}

// schedule reads when the probe is due. A run that is not over when the next of its series is
// due would measure it: both would wait for each other's packets, run after run.
func (r *reader) schedule(s section, p *probeEntry, specOK bool) {
	text, ok := s.text("schedule")
	if !ok {
		return
	}
	p.Schedule = text
	cron, err := parseSchedule(text)
	if err != nil {
		r.fault(s.lineOf("schedule"), "%s.schedule %s: %s", s.at, quote(text), err)
		return
	}
	p.Cron = cron
	s.flag("rotate", &p.Rotate)
	if p.Rotate {
		if err := rotates(cron); err != nil {
			r.fault(s.lineOf("rotate"), "%s.rotate true: %s; leave it out, or change the schedule", s.at, err)
			return
		}
	}
	if !specOK || p.Spec.Kind.IsBulk() { // fits looks at all that bulk runs take
		return
	}
	const form = "2006-01-02T15:04Z"
	if first, second, found := tooClose(cron, p.Spec.Span()); found {
		r.fault(s.lineOf("schedule"), "%s.schedule %s: a run takes up to %s, and is due at %s and again %s later; take fewer samples, a shorter interval, or a rarer schedule",
			s.at, quote(text), p.Spec.Span(), first.Format(form), second.Sub(first))
	}
}
