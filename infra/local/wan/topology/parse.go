package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"isochrone/sweep/catalog"
)

// Version of wan.yaml that this program reads.
const Version = 1

// MaxBytes is the largest wan.yaml that is read.
const MaxBytes = 1 << 20

// MaxStretch bounds what a distance is stretched by; the largest that is published is 4.94.
const MaxStretch = 20

// Member is a node before it has addresses.
type Member struct {
	Name   string // the prober's id
	Region string // in sweep/catalog
	Paths  []string
}

// Parse reads a wan.yaml for a network of the members given, who get addresses in their order
// (see Address). If anything is wrong with the file, the error is a Faults that holds all of it.
func Parse(body []byte, members []Member) (*Topology, error) {
	r := &reader{}
	f := file{reader: r, Topology: Topology{Subnets: DefaultSubnets()}, members: members, stretch: MedianStretch}
	if root, ok := r.document(body); ok {
		if s, ok := r.mapping("", root, "version", "seed", "delays", "stretch", "subnets", "default", "pairs"); ok {
			f.read(s)
		}
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("making a network of the members: %w", err)
	}
	return &f.Topology, nil
}

// file is a wan.yaml while it is read.
type file struct {
	*reader
	Topology
	members []Member
	stretch float64
}

func (f *file) read(s section) {
	if !s.has("version") {
		f.fault(s.line, "version: missing; write version: %d", Version)
	}
	var version int64
	if s.whole("version", &version, 0, 1<<31) && s.has("version") && version != Version {
		f.fault(s.lineOf("version"), "version %d: this program reads version %d", version, Version)
		return // another version means other keys
	}
	var seed int64
	s.whole("seed", &seed, 0, 1<<62)
	f.Seed = uint64(seed)
	s.fraction("stretch", &f.stretch, 1, MaxStretch)
	f.subnets(s)
	f.addNodes()
	f.link("default", s.values["default"], &f.Default)
	links := f.delays(s)
	f.pairs(s, links)
	keys := slices.SortedFunc(maps.Keys(links), ends.compare)
	for _, k := range keys {
		f.Links = append(f.Links, Between{From: k.from, To: k.to, Path: k.path, Link: *links[k]})
	}
}

func (f *file) subnets(s section) {
	n := s.values["subnets"]
	if n == nil {
		return
	}
	paths := slices.Sorted(maps.Keys(f.Subnets))
	sub, ok := f.mapping("subnets", n, paths...)
	if !ok {
		return
	}
	wrong := map[string]bool{}
	for _, path := range paths {
		text, ok := sub.text(path)
		if !ok {
			wrong[path] = sub.has(path)
			continue
		}
		wrong[path] = true
		p, err := netip.ParsePrefix(text)
		if err != nil {
			f.fault(sub.lineOf(path), "subnets.%s %q: want an IPv4 prefix such as %s", path, text, f.Subnets[path])
			continue
		}
		if err := validateSubnet(p); err != nil {
			f.fault(sub.lineOf(path), "subnets.%s %q: %s", path, text, err)
			continue
		}
		f.Subnets[path], wrong[path] = p, false
	}
	for i, path := range paths {
		for _, before := range paths[:i] {
			if !wrong[path] && !wrong[before] && f.Subnets[path].Overlaps(f.Subnets[before]) {
				f.fault(max(sub.lineOf(path), sub.lineOf(before)), "subnets: %s of %s overlaps %s of %s: give each its own", f.Subnets[path], path, f.Subnets[before], before)
			}
		}
	}
}

func (f *file) addNodes() {
	for i, m := range f.members {
		n := Node{Name: m.Name, Region: m.Region, Addresses: map[string]netip.Addr{}}
		for _, path := range m.Paths {
			if subnet, ok := f.Subnets[path]; ok {
				n.Addresses[path] = Address(subnet, i)
			}
		}
		f.Nodes = append(f.Nodes, n)
	}
}

// delays makes every link of the network, like the default except for what `delays` says.
func (f *file) delays(s section) map[ends]*Link {
	var between func(a, b catalog.Region, stretch float64) time.Duration
	how, given := s.text("delays")
	switch {
	case !s.has("delays"):
		f.fault(s.line, `delays: missing; write published, distance or none`)
	case !given: // reported
	case how == "published":
		between = published
	case how == "distance":
		between = byDistance
	case how != "none":
		f.fault(s.lineOf("delays"), `delays %q: want published, distance or none`, how)
	}
	regions := map[string]catalog.Region{}
	for _, n := range f.Nodes {
		r, ok := catalog.Lookup(n.Region)
		if !ok && between != nil {
			f.fault(s.lineOf("delays"), "delays %q: the catalog has no region %q, which is that of %q; write delays: none, with a delay in default or pairs", how, n.Region, n.Name)
		}
		regions[n.Name] = r
	}
	links := map[ends]*Link{}
	for _, a := range f.Nodes {
		for _, b := range f.Nodes {
			for path := range a.Addresses {
				if a.Name == b.Name || !b.Addresses[path].IsValid() {
					continue
				}
				l := f.Default
				if between != nil {
					l.Delay = between(regions[a.Name], regions[b.Name], f.stretch)
				}
				links[ends{a.Name, b.Name, path}] = &l
			}
		}
	}
	return links
}

var linkKeys = []string{"delay", "jitter", "loss", "duplicate", "reorder", "reorder_by", "rate", "queue"}

// link reads what a section says of a link.
func (f *file) link(at string, n *yaml.Node, to *Link) {
	if n == nil {
		return
	}
	if s, ok := f.mapping(at, n, linkKeys...); ok {
		f.linkOf(s, to)
	}
}

func (f *file) linkOf(s section, to *Link) {
	s.duration("delay", &to.Delay, MaxDelay)
	s.duration("jitter", &to.Jitter, MaxDelay)
	s.fraction("loss", &to.Loss, 0, 1)
	s.fraction("duplicate", &to.Duplicate, 0, 1)
	reorderRead := s.fraction("reorder", &to.Reorder, 0, 1)
	byRead := s.duration("reorder_by", &to.ReorderBy, MaxDelay)
	s.quantity("rate", &to.Rate, MinRate, MaxRate, "bits/s")
	s.quantity("queue", &to.Queue, MTU, MaxQueue, "bytes")
	if reorderRead && byRead && to.Reorder > 0 && to.ReorderBy == 0 {
		f.fault(s.lineOf("reorder"), "%s %g: needs reorder_by, how much later a reordered packet leaves, such as 5ms", s.place("reorder"), to.Reorder)
	}
}
