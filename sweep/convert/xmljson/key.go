package xmljson

// The keys that are the same in every document. They are numbered in this order.
const (
	keyText int32 = iota
	keyCDATA
	keyComment
	keySignificant
	keyDeclaration
	keyDoctype
)

var fixedKeys = [...]string{
	keyText: `"#text"`, keyCDATA: `"#cdata-section"`, keyComment: `"#comment"`, keySignificant: `"#significant-whitespace"`,
	keyDeclaration: `"?xml"`, keyDoctype: `"!DOCTYPE"`,
}

// keys numbers the keys of members, and knows the namespaces that are in scope while writing.
type keys struct {
	tree     *tree
	interned       // of the quoted text
	scope    scope // what the converter's namespace manager holds, prefixes decoded and escaped
	named    map[qualified]int32
	scratch  []byte
}

// qualified is what a key with a prefix is made of. The sign is that of the kind of node.
type qualified struct {
	sign   byte
	prefix string
	name   int32
}

func newKeys(t *tree) keys {
	k := keys{tree: t, scope: newScope(), interned: newInterned(), named: map[qualified]int32{}}
	k.reset()
	return k
}

// reset forgets all keys but the fixed ones.
func (k *keys) reset() {
	k.interned.reset()
	k.scope.reset()
	clear(k.named)
	for _, text := range fixedKeys {
		k.id([]byte(text))
	}
}

// ofNode is a node's key with what is in scope now.
func (k *keys) ofNode(n *node) int32 {
	switch n.kind {
	case element:
		return k.ofName(0, n.uri, n.name)
	case text:
		return keyText
	case cdata:
		return keyCDATA
	case comment:
		return keyComment
	case significant:
		return keySignificant
	case declaration:
		return keyDeclaration
	case doctype:
		return keyDoctype
	}
	return k.ofName('?', none, n.name)
}

// ofAttribute is an attribute's key with what is in scope now.
func (k *keys) ofAttribute(a *attribute) int32 { return k.ofName('@', a.uri, a.name) }

// ofName puts a key together: the sign, the prefix that the namespace is found by, the name.
func (k *keys) ofName(sign byte, uri, id int32) int32 {
	n := &k.tree.names[id]
	if uri == jsonURI {
		return k.make(qualified{sign: '$', name: id}, n.raw)
	}
	prefix := k.prefix(uri)
	if uri == xmlnsURI && n.raw == "xmlns" {
		prefix = ""
	}
	if prefix != "" || sign == '?' {
		return k.make(qualified{sign, prefix, id}, n.decoded)
	}
	known := &n.key
	if sign == '@' {
		known = &n.atKey
	}
	if *known == 0 {
		*known = 1 + k.put(qualified{sign: sign, name: id}, n.decoded)
	}
	return *known - 1
}

func (k *keys) make(q qualified, name string) int32 {
	id, ok := k.named[q]
	if !ok {
		id = k.put(q, name)
		k.named[q] = id
	}
	return id
}

func (k *keys) put(q qualified, name string) int32 {
	b := append(k.scratch[:0], '"')
	if q.sign != 0 {
		b = append(b, q.sign)
	}
	if q.prefix != "" {
		b = append(append(b, q.prefix...), ':')
	}
	b = append(append(b, name...), '"')
	k.scratch = b
	return k.id(b)
}

// prefix is the one by which XmlNamespaceManager.LookupPrefix finds a namespace: that of the declaration
// that came last and is hidden by none for the same prefix.
func (k *keys) prefix(uri int32) string {
	switch uri {
	case none:
		return ""
	case xmlURI:
		return "xml"
	case xmlnsURI:
		return "xmlns"
	}
	return k.scope.prefix(uri)
}

// push takes an element's declarations into scope, and is how many there were before.
func (k *keys) push(n *node) int {
	before := k.scope.len()
	if n.flags&declaring == 0 {
		return before
	}
	for i := range k.tree.attributes[n.first : int(n.first)+int(n.attributes)] {
		a := &k.tree.attributes[int(n.first)+i]
		if a.uri != xmlnsURI {
			continue
		}
		prefix := ""
		if id := &k.tree.names[a.name]; id.raw != "xmlns" {
			prefix = id.decoded
		}
		k.scope.push(prefix, a.declares)
	}
	return before
}

// pop takes out of scope what push took in.
func (k *keys) pop(before int) { k.scope.pop(before) }
