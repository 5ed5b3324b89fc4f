package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
)

// proberEntry is a prober and where the file says so.
type proberEntry struct {
	Prober
	at   string
	line int
}

// probers reads the section of that name. Whatever could be read of a prober is in the list,
// faulty or not, so that what refers to it is not reported as well; whole is false when a
// prober's id or paths are not known for sure.
func (r *reader) probers(file section, loopback bool) (out []proberEntry, whole bool) {
	whole = true
	ids := map[string]proberEntry{}
	for i, n := range r.entries(file, "probers", MaxProbers) {
		p, ok := r.prober(fmt.Sprintf("probers[%d]", i), n, loopback)
		if whole = whole && ok && p.ID != "" && len(p.Addresses) > 0; !ok {
			continue
		}
		if first, twice := ids[p.ID]; twice {
			r.fault(p.line, "%s.id %s: also the id of %s in line %d; give each an id of its own", p.at, quote(p.ID), first.at, first.line)
			whole = false
		} else if p.ID != "" {
			ids[p.ID] = p
		}
		out = append(out, p)
	}
	return out, whole
}

// entries reads a list of mappings that may not be empty.
func (r *reader) entries(file section, key string, most int) []*yaml.Node {
	n := file.values[key]
	switch {
	case n == nil: // need has reported it
		return nil
	case n.Kind != yaml.SequenceNode:
		r.wrong(key, n, "a list")
		return nil
	case len(n.Content) == 0:
		r.fault(n.Line, "%s: is empty", key)
	case len(n.Content) > most:
		r.fault(n.Line, "%s: has %d entries; want at most %d", key, len(n.Content), most)
		return nil
	}
	return n.Content
}

func (r *reader) prober(at string, n *yaml.Node, loopback bool) (proberEntry, bool) {
	p := proberEntry{at: at, line: n.Line}
	s, ok := r.mapping(at, n, "region", "id", "addresses")
	if !ok {
		return p, false
	}
	s.need("region", "addresses")
	if region, ok := s.text("region"); ok {
		p.Region, p.ID = region, region
		r.region(s, region)
	}
	if id, ok := s.text("id"); ok {
		p.ID, p.line = id, s.lineOf("id")
		if err := wire.ValidateName("id", id); err != nil {
			r.fault(p.line, "%s.%s", at, err)
		} else if _, ok := catalog.Lookup(id); ok && id != p.Region {
			r.fault(p.line, "%s.id %s: is the name of another region than %s; charts would show it as that region", at, quote(id), quote(p.Region))
		}
	}
	if n := s.values["addresses"]; n != nil {
		p.Addresses = r.addresses(s.place("addresses"), n, loopback)
	}
	return p, true
}

func (r *reader) region(s section, name string) {
	region, ok := catalog.Lookup(name)
	if ok && region.OffersCustomers {
		return
	}
	line, at := s.lineOf("region"), s.place("region")
	if ok {
		r.fault(line, "%s %s: is not offered to customers", at, quote(name))
		return
	}
	var known []string
	for _, k := range catalog.Regions() {
		if k.OffersCustomers {
			known = append(known, k.Name)
		}
	}
	// "West Europe" is what the portal shows.
	near, ok := nearest(strings.ToLower(strings.ReplaceAll(name, " ", "")), known)
	if !ok {
		r.fault(line, "%s %s: is not in the catalog; `az account list-locations --output table` names the regions", at, quote(name))
		return
	}
	r.fault(line, "%s %s: is not in the catalog; did you mean %q?", at, quote(name), near)
}

// addresses reads what a prober may register. A path with a faulty entry still counts as one
// that the prober has.
func (r *reader) addresses(at string, n *yaml.Node, loopback bool) map[string][]Allowed {
	out := map[string][]Allowed{}
	s, ok := r.mapping(at, n, Paths()...)
	if !ok {
		return nil
	}
	if len(n.Content) == 0 {
		r.fault(n.Line, "%s: is empty; a prober takes part in the paths that it has addresses for", at)
	}
	for _, path := range Paths() {
		if !s.has(path) {
			continue
		}
		texts, nodes := s.texts(path, "[20.50.0.0/16]")
		out[path] = make([]Allowed, max(len(texts), 1))
		for i, text := range texts {
			a, err := parseAllowed(path, text, loopback)
			if err != nil {
				r.fault(nodes[i].Line, "%s %s: %s", s.place(path), quote(text), err)
			}
			if err == nil && slices.Contains(out[path][:i], a) {
				r.fault(nodes[i].Line, "%s %s: is there twice", s.place(path), quote(text))
			}
			out[path][i] = a
		}
	}
	return out
}
