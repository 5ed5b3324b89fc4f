package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ends says which link it is.
type ends struct{ from, to, path string }

func (e ends) compare(o ends) int {
	return cmp.Or(strings.Compare(e.from, o.from), strings.Compare(e.to, o.to), strings.Compare(e.path, o.path))
}

// pairs applies the file's entries in their order: a later one has the last word on its keys.
func (f *file) pairs(s section, links map[ends]*Link) {
	n := s.values["pairs"]
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		f.wrong("pairs", n, "a list of {from: …, to: …, and what is different between them}")
		return
	}
	for i, entry := range n.Content {
		at := fmt.Sprintf("pairs[%d]", i)
		if p, ok := f.mapping(at, entry, append([]string{"from", "to", "path", "both"}, linkKeys...)...); ok {
			f.pair(p, links)
		}
	}
}

func (f *file) pair(s section, links map[ends]*Link) {
	from, fromKnown := f.node(s, "from")
	to, toKnown := f.node(s, "to")
	both := false
	s.flag("both", &both)
	path, given := s.text("path")
	// What the entry says is read even if its ends are wrong, so that all is reported at once.
	change := func(l *Link) { f.linkOf(s, l) }
	if !fromKnown || !toKnown || s.has("path") && !given {
		change(&Link{ReorderBy: 1})
		return
	}
	if from == to {
		f.fault(s.lineOf("to"), "%s %q: is the node that it comes from; a node has no link to itself", s.place("to"), to)
		change(&Link{ReorderBy: 1})
		return
	}
	var changed []*Link
	for k, l := range links {
		forward := k.from == from && k.to == to
		back := both && k.from == to && k.to == from
		if (forward || back) && (!given || k.path == path) {
			changed = append(changed, l)
		}
	}
	if len(changed) == 0 {
		f.fault(max(s.lineOf("path"), s.line), "%s: %q and %q share no path%s; leave the entry out, or give both the path", s.at, from, to, quotedAfterBlank(path))
		change(&Link{ReorderBy: 1})
		return
	}
	before := len(f.faults)
	for _, l := range changed {
		change(l)
		if len(f.faults) > before {
			return // once is enough
		}
	}
}

func quotedAfterBlank(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" %q", s)
}

// node reads the name of a node.
func (f *file) node(s section, key string) (string, bool) {
	if !s.has(key) {
		f.fault(s.line, "%s: missing; write the id of a prober", s.place(key))
		return "", false
	}
	name, ok := s.text(key)
	if !ok {
		return "", false
	}
	if !slices.ContainsFunc(f.Nodes, func(n Node) bool { return n.Name == name }) {
		names := make([]string, len(f.Nodes))
		for i, n := range f.Nodes {
			names[i] = n.Name
		}
		f.fault(s.lineOf(key), "%s %q: is the id of no prober; want one of %s", s.place(key), name, list(names))
		return "", false
	}
	return name, true
}
