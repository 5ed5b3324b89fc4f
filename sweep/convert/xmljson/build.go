package xmljson

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	"isochrone/sweep/convert/xmltext"
)

// builder makes the tree of the tokens, and resolves prefixes as the text has them.
type builder struct {
	tree
	arrays map[string]bool
	open   []int32 // the elements that the tokens are in; first the document
	scope  scope
	ends   []int // of an open element: how many declarations were in scope in front of it

	most int64 // bytes that the tree may take
	size int64 // of the text; 0 is not known
	at   int64 // bytes in front of the token
}

// reset makes the builder ready for a document.
func (b *builder) reset(o Options) {
	b.most, b.size = o.MaxTree, o.Size
	if b.most <= 0 || b.most > MaxTreeBytes {
		b.most = MaxTreeBytes
	}
	b.tree.reset()
	b.scope.reset()
	b.open, b.ends = append(b.open[:0], 0), b.ends[:0]
	clear(b.arrays)
	for _, a := range o.Arrays {
		b.arrays[a] = true
	}
}

// take puts a token into the tree.
func (b *builder) take(t *xmltext.Token) error {
	b.at = t.Offset
	if b.bytes() > b.most {
		return &xmltext.Fault{Offset: t.Offset, Line: t.Line, Limit: true, Text: fmt.Sprintf("the document would take more than %d MiB of memory", b.most>>20)}
	}
	switch t.Kind {
	case xmltext.Start:
		return b.start(t)
	case xmltext.End:
		last := len(b.open) - 1
		b.open = b.open[:last]
		b.scope.pop(b.ends[last-1])
		b.ends = b.ends[:last-1]
	case xmltext.Text:
		parent := &b.nodes[b.open[len(b.open)-1]]
		switch {
		case !t.Blank:
			b.add(node{kind: text, value: b.keep(t.Text)})
		case parent.flags&preserving != 0:
			b.add(node{kind: significant, value: b.keep(t.Text)})
		}
	case xmltext.CDATA:
		b.add(node{kind: cdata, value: b.keep(t.Text)})
	case xmltext.Comment:
		b.add(node{kind: comment})
	case xmltext.Instruction:
		b.add(node{kind: instruction, name: b.nameID(t.Name), value: b.keep(t.Text)})
	case xmltext.Declaration:
		b.parts(declaration, t.Attributes)
	case xmltext.Doctype:
		b.parts(doctype, t.Attributes)
	}
	return nil
}

// add makes a node the last child of the innermost open one.
func (b *builder) add(n node) int32 {
	id, parent := int32(len(b.nodes)), &b.nodes[b.open[len(b.open)-1]]
	if parent.child == 0 {
		parent.child = id
	} else {
		b.nodes[parent.last].next = id
	}
	parent.last = id
	parent.children++
	if n.kind != element && n.kind != instruction || n.name != parent.name {
		parent.flags &^= sameNames
	}
	b.nodes = append(room(b, b.nodes, 1), n)
	return id
}

// room is s with room for n more. append would copy a long one many times: here it gets as much as the
// whole text comes to if that goes on as it began: four times as much as there is at the most, and what
// the tree may take.
func room[T any](b *builder, s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s
	}
	want := 2 * len(s)
	if b.size > 0 && b.at > 0 {
		want = int(float64(len(s)) * float64(b.size) / float64(b.at) * 17 / 16)
	}
	var one T
	want = min(want, 4*len(s), int(b.most)/int(unsafe.Sizeof(one)))
	return slices.Grow(s, max(want-len(s), len(s)/4)+n)
}

// keep puts a text into the arena.
func (b *builder) keep(s []byte) span {
	from := len(b.arena)
	b.arena = escape(room(b, b.arena, len(s)), s)
	return span{uint32(from), uint32(len(b.arena))}
}

// parts makes a node with the parts of a declaration as its attributes, without the empty ones.
func (b *builder) parts(k kind, parts []xmltext.Attribute) {
	first := len(b.attributes)
	for _, p := range parts {
		if len(p.Value) > 0 {
			b.attributes = append(b.attributes, attribute{name: b.nameID(p.Name), value: b.keep(p.Value)})
		}
	}
	b.add(node{kind: k, first: int32(first), attributes: uint16(len(b.attributes) - first)})
}

func (b *builder) start(t *xmltext.Token) error {
	fault := func(format string, a ...any) error {
		return &xmltext.Fault{Offset: t.Offset, Line: t.Line, Text: fmt.Sprintf(format, a...)}
	}
	b.ends = append(b.ends, b.scope.len())
	n := node{kind: element, first: int32(len(b.attributes)), attributes: uint16(len(t.Attributes)), flags: sameNames}
	n.flags |= b.nodes[b.open[len(b.open)-1]].flags & preserving
	if t.Empty {
		n.flags |= emptyTag
	}
	if len(b.arrays) > 0 && b.arrays[string(t.Name)] {
		n.flags |= array
	}
	for i := range t.Attributes {
		if err := b.declare(&t.Attributes[i], &n, t); err != nil {
			return err
		}
	}
	prefix, local, ok := split(t.Name)
	if !ok {
		return fault("%.80q is no name with a prefix: it has a colon too much", t.Name)
	}
	if n.uri, ok = b.resolve(prefix); !ok {
		return fault("%.80q is an undeclared prefix", prefix)
	}
	n.name = b.nameID(local)
	for i := range t.Attributes {
		if err := b.attribute(&t.Attributes[i], &n, t); err != nil {
			return err
		}
	}
	b.open = append(b.open, b.add(n))
	return nil
}

// attribute adds one to the element that is being started.
func (b *builder) attribute(a *xmltext.Attribute, n *node, t *xmltext.Token) error {
	fault := func(format string, args ...any) error {
		return &xmltext.Fault{Offset: t.Offset, Line: t.Line, Text: fmt.Sprintf(format, args...)}
	}
	prefix, local, ok := split(a.Name)
	if !ok {
		return fault("%.80q is no name with a prefix: it has a colon too much", a.Name)
	}
	added := attribute{value: b.keep(a.Value), name: b.nameID(local)}
	switch {
	case len(prefix) == 0 && string(local) == "xmlns" || string(prefix) == "xmlns":
		added.uri, added.declares = xmlnsURI, b.uris.id(a.Value)
		if added.declares != jsonURI {
			n.flags |= valued
		}
	case len(prefix) == 0:
		n.flags |= valued
	default:
		if added.uri, ok = b.resolve(prefix); !ok {
			return fault("%.80q is an undeclared prefix", prefix)
		}
		for i := range b.attributes[n.first:] {
			if x := &b.attributes[int(n.first)+i]; x.uri == added.uri && x.name == added.name {
				return fault("%.80q is a duplicate attribute: another prefix stands for the same namespace", a.Name)
			}
		}
		if added.uri != jsonURI {
			n.flags |= valued
		} else if string(local) == "Array" {
			yes, ok := boolean(a.Value)
			if !ok {
				return fault("the string %.80q is not a valid Boolean value of json:Array: write true or false", a.Value)
			}
			if yes {
				n.flags |= array
			}
		}
		if added.uri == xmlURI && string(local) == "space" {
			n.flags &^= preserving
			if string(a.Value) == "preserve" {
				n.flags |= preserving
			}
		}
	}
	b.attributes = append(room(b, b.attributes, 1), added)
	return nil
}

// boolean reads a truth value as XmlConvert.ToBoolean does.
func boolean(s []byte) (value, ok bool) {
	switch string(bytes.Trim(s, " \t\r\n")) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// split parts a name at its colon; ok is false when it has more, or nothing beside it.
func split(name []byte) (prefix, local []byte, ok bool) {
	i := bytes.IndexByte(name, ':')
	if i < 0 {
		return nil, name, true
	}
	prefix, local = name[:i], name[i+1:]
	return prefix, local, i > 0 && len(local) > 0 && bytes.IndexByte(local, ':') < 0
}

// resolve is the namespace that a prefix stands for in the text; the empty one of elements only.
func (b *builder) resolve(prefix []byte) (int32, bool) {
	if uri, ok := b.scope.uri(prefix); ok {
		return uri, true
	}
	switch string(prefix) {
	case "":
		return none, true
	case "xml":
		return xmlURI, true
	}
	return none, false
}

// declare takes an attribute into scope if it is a namespace declaration.
func (b *builder) declare(a *xmltext.Attribute, n *node, t *xmltext.Token) error {
	prefix, ok := bytes.CutPrefix(a.Name, []byte("xmlns"))
	if !ok || len(prefix) > 0 && prefix[0] != ':' || len(prefix) == 1 {
		return nil
	}
	fault := &xmltext.Fault{Offset: t.Offset, Line: t.Line}
	uri := b.uris.id(a.Value)
	if len(prefix) > 0 {
		prefix = prefix[1:]
	}
	switch {
	case len(prefix) > 0 && uri == none:
		fault.Text = fmt.Sprintf("the prefix %.80q is declared without a namespace", prefix)
	case string(prefix) == "xmlns", (string(prefix) == "xml") != (uri == xmlURI), uri == xmlnsURI:
		fault.Text = fmt.Sprintf("%.80q declares what is reserved: xml and xmlns and their namespaces", a.Name)
	case len(prefix) > MaxPrefixBytes:
		fault.Text, fault.Limit = fmt.Sprintf("a prefix has more than %d bytes", MaxPrefixBytes), true
	case b.scope.len() == MaxNamespaces:
		fault.Text, fault.Limit = fmt.Sprintf("more than %d namespace declarations are in scope", MaxNamespaces), true
	default:
		b.scope.push(string(prefix), uri)
		n.flags |= declaring
		return nil
	}
	return fault
}
