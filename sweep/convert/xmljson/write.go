package xmljson

import "io"

// flushAt is how much output is gathered before it is written.
const flushAt = 32 << 10

// writer writes the tree. It goes as deep as xmltext lets elements nest.
type writer struct {
	tree   *tree
	keys   keys
	out    io.Writer
	buf    []byte
	err    error
	indent string
	depth  int
	fresh  bool // nothing stands in the innermost object or array yet

	members []member // of the objects that are being written, the innermost last
	marks   []mark   // by key
	stamp   uint32
}

// member is one key of an object with what belongs to it.
type member struct {
	key         int32
	first, last int32 // nodes; or -1 and the number of an attribute
	count       int32
	lost        bool // it is not written: a later one has the same key
}

// mark says which member a key has in the object with the stamp.
type mark struct {
	stamp  uint32
	member int32
}

// document writes the whole of it.
func (w *writer) document(out io.Writer, indent string) error {
	w.out, w.indent, w.err = out, indent, nil
	w.buf, w.depth, w.members, w.marks, w.stamp = w.buf[:0], 0, w.members[:0], w.marks[:0], 0
	w.keys.reset()
	w.object(0)
	w.flush()
	w.out = nil
	return w.err
}

func (w *writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

// object writes a node's attributes and children as an object.
func (w *writer) object(id int32) {
	w.begin('{')
	base := len(w.members)
	n := &w.tree.nodes[id]
	for i := n.first; i < n.first+int32(n.attributes); i++ {
		if a := &w.tree.attributes[i]; !hiddenAttribute(w.tree, a) {
			w.members = append(w.members, member{key: w.keys.ofAttribute(a), first: -1, last: i})
		}
	}
	w.group(id)
	w.settle(base)
	for i := base; i < len(w.members); i++ {
		switch m := w.members[i]; {
		case m.lost:
		case m.first < 0:
			w.key(m.key)
			w.text(w.tree.attributes[m.last].value)
		default:
			w.key(m.key)
			w.values(m)
		}
	}
	w.members = w.members[:base]
	w.end('}')
}

// hiddenAttribute tells those that steer the conversion alone.
func hiddenAttribute(t *tree, a *attribute) bool {
	return a.uri == xmlnsURI && a.declares == jsonURI || a.uri == jsonURI && t.names[a.name].raw == "Array"
}

// group appends a member for each key that the children of a node have, in the order of the first.
func (w *writer) group(id int32) {
	w.stamp++
	nodes := w.tree.nodes
	for c := nodes[id].child; c != 0; c = nodes[c].next {
		key := w.keys.ofNode(&nodes[c])
		if m := w.mark(key); m.stamp != w.stamp {
			*m = mark{w.stamp, int32(len(w.members))}
			w.members = append(w.members, member{key: key, first: c, last: c, count: 1})
		} else {
			into := &w.members[m.member]
			nodes[into.last].same = c
			into.last = c
			into.count++
		}
	}
}

func (w *writer) mark(key int32) *mark {
	for int(key) >= len(w.marks) {
		w.marks = append(w.marks, mark{})
	}
	return &w.marks[key]
}

// inArray says whether a member is written as an array.
func (w *writer) inArray(m *member) bool {
	return m.count > 1 || w.tree.nodes[m.first].flags&array != 0
}

// settle gives the members of an object their final keys, and finds those that are not written. A lone
// child's key is the one that its own declarations give it. Of equal keys the last one wins.
func (w *writer) settle(base int) {
	w.stamp++
	for i := base; i < len(w.members); i++ {
		m := &w.members[i]
		if m.first >= 0 && !w.inArray(m) {
			n := &w.tree.nodes[m.first]
			if n.kind == comment { // a lone one is a comment of JSON, which has no value
				m.lost = true
				continue
			}
			if n.flags&declaring != 0 {
				before := w.keys.push(n)
				m.key = w.keys.ofNode(n)
				w.keys.pop(before)
			}
		}
		k := w.mark(m.key)
		if k.stamp == w.stamp {
			w.members[k.member].lost = true
		}
		*k = mark{w.stamp, int32(i)}
	}
}

// values writes the values of a member, in an array where it must be.
func (w *writer) values(m member) {
	if !w.inArray(&m) {
		w.value(m.first)
		return
	}
	w.begin('[')
	for c := m.first; ; c = w.tree.nodes[c].same {
		w.item(c)
		if c == m.last {
			break
		}
	}
	w.end(']')
}

// item writes a node inside an array: nothing for a comment; for an array element that holds nothing but
// elements of its name those, without a level for itself.
func (w *writer) item(id int32) {
	n := &w.tree.nodes[id]
	switch {
	case n.kind == comment:
	case n.flags&(array|sameNames) == array|sameNames && n.children > 0:
		base := len(w.members)
		w.group(id)
		for i := base; i < len(w.members); i++ {
			if m := w.members[i]; w.inArray(&m) {
				w.separate()
				w.values(m)
			} else {
				w.item(m.first)
			}
		}
		w.members = w.members[:base]
	default:
		w.separate()
		w.value(id)
	}
}

// value writes a node's own.
func (w *writer) value(id int32) {
	n := &w.tree.nodes[id]
	switch n.kind {
	case declaration, doctype:
		w.object(id)
		return
	case element:
	default:
		w.text(n.value)
		return
	}
	switch {
	case n.flags&valued == 0 && n.children == 1 && w.tree.nodes[n.child].kind == text:
		w.text(w.tree.nodes[n.child].value)
	case n.children == 0 && n.attributes == 0 && n.flags&emptyTag != 0:
		w.buf = append(w.buf, "null"...)
	case n.children == 0 && n.attributes == 0:
		w.buf = append(w.buf, `""`...)
	default:
		before := w.keys.push(n)
		w.object(id)
		w.keys.pop(before)
	}
}

func (w *writer) text(s span) {
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, w.tree.arena[s.from:s.to]...)
	w.buf = append(w.buf, '"')
	if len(w.buf) >= flushAt {
		w.flush()
	}
}

func (w *writer) key(id int32) {
	w.separate()
	w.buf = append(w.buf, w.keys.text[id]...)
	w.buf = append(w.buf, ':')
	if w.indent != "" {
		w.buf = append(w.buf, ' ')
	}
}

// separate writes what stands in front of a member or an item.
func (w *writer) separate() {
	if !w.fresh {
		w.buf = append(w.buf, ',')
	}
	w.fresh = false
	w.line()
}

func (w *writer) line() {
	if w.indent == "" {
		return
	}
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, w.indent...)
	}
	if len(w.buf) >= flushAt {
		w.flush()
	}
}

func (w *writer) begin(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.depth++
	w.fresh = true
}

func (w *writer) end(bracket byte) {
	w.depth--
	if !w.fresh {
		w.line()
	}
	w.buf = append(w.buf, bracket)
	w.fresh = false
	if len(w.buf) >= flushAt {
		w.flush()
	}
}
