package xmljson

import "unsafe"

// kind is what a node of the tree is.
type kind uint8

const (
	document kind = iota
	element
	text
	cdata
	comment
	instruction
	declaration
	doctype
	significant // white space under xml:space="preserve"
)

// What is known of an element.
const (
	emptyTag   uint8 = 1 << iota // written <a/>
	array                        // it is always in an array
	sameNames                    // all its children have its local name
	valued                       // it has an attribute that counts as a value
	declaring                    // it declares namespaces
	preserving                   // its white space counts
)

// node is one in the tree. Node 0 is the document; in links 0 is none.
type node struct {
	kind        kind
	flags       uint8
	attributes  uint16 // how many, from first on
	uri         int32  // of an element, in tree.uris
	name        int32  // of an element or instruction, without its prefix, in tree.names
	first       int32  // of its attributes
	child, last int32  // its first child and its last
	next        int32  // its next sibling
	same        int32  // its next sibling with the same key
	children    int32
	value       span
}

// attribute is one of an element; a namespace declaration is one of the namespace xmlnsURI.
type attribute struct {
	uri, name int32
	declares  int32 // of a namespace declaration: the URI
	value     span
}

// span is a text in tree.arena, escaped as JSON has it.
type span struct{ from, to uint32 }

// The namespaces that every document has; none is that of names without one.
const (
	none int32 = iota
	xmlURI
	xmlnsURI
	jsonURI
)

var wellKnown = [...]string{
	none:     "",
	xmlURI:   "http://www.w3.org/XML/1998/namespace",
	xmlnsURI: "http://www.w3.org/2000/xmlns/",
	jsonURI:  "http://james.newtonking.com/projects/json",
}

// tree is a document.
type tree struct {
	nodes      []node
	attributes []attribute
	arena      []byte
	named      int64 // bytes of names, as often as they are kept
	uris       interned
	names      []name
	byName     map[string]int32
}

// What a name or a namespace takes beside its text: its entry here and in the keys, and its place in the
// maps.
const nameBytes = 300

// bytes is about what the tree takes of memory, with the keys that it will have.
func (t *tree) bytes() int64 {
	return int64(len(t.nodes))*int64(unsafe.Sizeof(node{})) + int64(len(t.attributes))*int64(unsafe.Sizeof(attribute{})) + int64(len(t.arena)) +
		int64(len(t.names)+len(t.uris.text))*nameBytes + t.named + t.uris.bytes
}

// name is one without prefix.
type name struct {
	raw     string
	decoded string // _x0020_ and the like resolved, escaped as JSON has it
	// The keys of an element and of an attribute of this name without a prefix, plus one; 0 is not
	// looked up yet.
	key, atKey int32
}

func newTree() tree {
	t := tree{byName: map[string]int32{}, uris: newInterned()}
	t.reset()
	return t
}

// reset makes the tree that of an empty document, and keeps its memory.
func (t *tree) reset() {
	t.nodes = append(t.nodes[:0], node{})
	t.attributes, t.arena, t.named = t.attributes[:0], t.arena[:0], 0
	t.uris.reset()
	for _, uri := range wellKnown {
		t.uris.id([]byte(uri))
	}
	clear(t.names)
	t.names = t.names[:0]
	clear(t.byName)
}

// nameID is the number of a name.
func (t *tree) nameID(raw []byte) int32 {
	if id, ok := t.byName[string(raw)]; ok {
		return id
	}
	id, n := int32(len(t.names)), name{raw: string(raw)}
	n.decoded = n.raw
	if special(raw) {
		n.decoded = string(escape(nil, decodeName(raw)))
	}
	t.byName[n.raw] = id
	t.names = append(t.names, n)
	t.named += int64(3 * len(raw))
	return id
}

// interned numbers texts, from 0.
type interned struct {
	ids   map[string]int32
	text  []string
	bytes int64 // of all texts
}

func newInterned() interned { return interned{ids: map[string]int32{}} }

func (n *interned) reset() {
	clear(n.ids)
	clear(n.text)
	n.text, n.bytes = n.text[:0], 0
}

func (n *interned) id(b []byte) int32 {
	if id, ok := n.ids[string(b)]; ok {
		return id
	}
	id, s := int32(len(n.text)), string(b)
	n.ids[s] = id
	n.text = append(n.text, s)
	n.bytes += int64(len(s))
	return id
}
