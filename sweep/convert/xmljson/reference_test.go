package xmljson

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// reference converts a text slowly and simply: encoding/xml reads it into a tree of pointers, which is
// written by the rules one by one. ok is false for what encoding/xml cannot tell or does not read; what
// it reads must be well-formed.
func reference(text []byte) (string, bool) {
	if bytes.ContainsAny(text, "\r") || bytes.Contains(text, []byte("<!DOCTYPE")) {
		return "", false
	}
	root, err := parse(text)
	if err != nil {
		return "", false
	}
	m := manager{{"xml", wellKnown[xmlURI]}, {"xmlns", wellKnown[xmlnsURI]}}
	return m.object(root), true
}

// thing is a node of the reference's tree. Its kind is that of the tree.
type thing struct {
	kind       kind
	uri, local string
	attributes []*thing // in value: theirs
	children   []*thing
	value      string
	empty      bool
	preserve   bool
	scope      map[string]string
}

var aroundBlank = regexp.MustCompile(`^(?:[ \t\n]|&#x0*(?:20|9|[aAdD]);)*$`)

func parse(body []byte) (*thing, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	root := &thing{kind: document, scope: map[string]string{"": "", "xml": wellKnown[xmlURI], "xmlns": wellKnown[xmlnsURI]}}
	open := []*thing{root}
	for {
		from := d.InputOffset()
		t, err := d.RawToken()
		if err != nil && len(body) == int(d.InputOffset()) && len(open) == 1 {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		raw, in := body[from:d.InputOffset()], open[len(open)-1]
		switch t := t.(type) {
		case xml.StartElement:
			e := start(in, t)
			e.empty = bytes.HasSuffix(raw, []byte("/>"))
			in.children = append(in.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			c := &thing{kind: kindOfRun(raw), value: string(t)}
			if c.kind == text && aroundBlank.Match(raw) {
				if c.kind = significant; !in.preserve {
					continue
				}
			}
			in.children = append(in.children, c)
		case xml.Comment:
			in.children = append(in.children, &thing{kind: comment})
		case xml.ProcInst:
			c := &thing{kind: instruction, local: t.Target, value: string(t.Inst)}
			if t.Target == "xml" {
				c.kind = declaration
			}
			in.children = append(in.children, c)
		default:
			return nil, fmt.Errorf("a %T", t)
		}
	}
}

func kindOfRun(raw []byte) kind {
	if bytes.HasPrefix(raw, []byte("<![CDATA[")) {
		return cdata
	}
	return text
}

func start(in *thing, t xml.StartElement) *thing {
	e := &thing{kind: element, local: t.Name.Local, preserve: in.preserve, scope: map[string]string{}}
	for prefix, uri := range in.scope {
		e.scope[prefix] = uri
	}
	for _, a := range t.Attr {
		c := &thing{local: a.Name.Local, value: a.Value}
		switch {
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			e.scope[""] = a.Value
			c.uri = wellKnown[xmlnsURI]
		case a.Name.Space == "xmlns":
			e.scope[a.Name.Local] = a.Value
			c.uri = wellKnown[xmlnsURI]
		case a.Name.Space == "xml" && a.Name.Local == "space":
			e.preserve = a.Value == "preserve"
		}
		e.attributes = append(e.attributes, c)
	}
	e.uri = e.scope[t.Name.Space]
	for i, a := range t.Attr {
		if c := e.attributes[i]; c.uri == "" && a.Name.Space != "" {
			c.uri = e.scope[a.Name.Space]
		}
	}
	return e
}

// manager is the namespace declarations in scope of the converter.
type manager [][2]string

func (m manager) lookup(uri string) string {
	for i := len(m) - 1; i >= 0 && uri != ""; i-- {
		if m[i][1] == uri && !slices.ContainsFunc(m[i+1:], func(d [2]string) bool { return d[0] == m[i][0] }) {
			return m[i][0]
		}
	}
	return ""
}

var escapes = regexp.MustCompile(`_[xX](?:[0-9a-fA-F]{8}|[0-9a-fA-F]{4})_`)

func decoded(s string) string {
	var out []uint16
	for s != "" {
		at := escapes.FindStringIndex(s)
		if at == nil {
			return string(utf16.Decode(append(out, utf16.Encode([]rune(s))...)))
		}
		out = append(out, utf16.Encode([]rune(s[:at[0]]))...)
		v, _ := strconv.ParseUint(s[at[0]+2:at[1]-1], 16, 32)
		switch {
		case v < 0x10000:
			out = append(out, uint16(v))
		case v < 0x110000:
			out = append(out, utf16.Encode([]rune{rune(v)})...)
		default:
			out = append(out, utf16.Encode([]rune(s[at[0]:at[1]]))...)
		}
		s = s[at[1]:]
	}
	return string(utf16.Decode(out))
}

func (m manager) key(t *thing, sign string) string {
	switch t.kind {
	case text:
		return "#text"
	case cdata:
		return "#cdata-section"
	case comment:
		return "#comment"
	case significant:
		return "#significant-whitespace"
	case declaration:
		return "?xml"
	case instruction:
		return "?" + decoded(t.local)
	}
	if t.uri == wellKnown[jsonURI] {
		return "$" + t.local
	}
	if p := m.lookup(t.uri); p != "" && !(t.uri == wellKnown[xmlnsURI] && t.local == "xmlns") {
		return sign + p + ":" + decoded(t.local)
	}
	return sign + decoded(t.local)
}

func (t *thing) inArray() bool {
	for _, a := range t.attributes {
		if a.uri == wellKnown[jsonURI] && a.local == "Array" {
			return strings.TrimSpace(a.value) == "true" || strings.TrimSpace(a.value) == "1"
		}
	}
	return false
}

func quoted(s string) string { return `"` + string(escape(nil, []byte(s))) + `"` }

// object writes attributes and groups; of two equal keys the earlier goes.
func (m manager) object(t *thing) string {
	var names, values []string
	put := func(name, value string) {
		if i := slices.Index(names, name); i >= 0 {
			names, values = slices.Delete(names, i, i+1), slices.Delete(values, i, i+1)
		}
		names, values = append(names, name), append(values, value)
	}
	for _, a := range t.attributes {
		steers := a.uri == wellKnown[xmlnsURI] && a.value == wellKnown[jsonURI] || a.uri == wellKnown[jsonURI] && a.local == "Array"
		if !steers {
			put(m.key(a, "@"), quoted(a.value))
		}
	}
	for _, group := range m.groups(t) {
		switch first := group[0]; {
		case len(group) > 1 || first.inArray():
			put(m.key(first, ""), m.list(group))
		case first.kind != comment:
			put(m.with(first).key(first, ""), m.value(first))
		}
	}
	for i := range names {
		names[i] = quoted(names[i]) + ":" + values[i]
	}
	return "{" + strings.Join(names, ",") + "}"
}

func (m manager) groups(t *thing) (all [][]*thing) {
	at := map[string]int{}
	for _, c := range t.children {
		k := m.key(c, "")
		i, ok := at[k]
		if !ok {
			i, at[k] = len(all), len(all)
			all = append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}

func (m manager) list(group []*thing) string {
	var items []string
	for _, t := range group {
		items = append(items, m.items(t)...)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// items are the values that stand in an array for one node.
func (m manager) items(t *thing) (items []string) {
	if t.kind == comment {
		return nil
	}
	if t.inArray() && len(t.children) > 0 && !slices.ContainsFunc(t.children, func(c *thing) bool { return c.local != t.local }) {
		for _, group := range m.groups(t) {
			if len(group) > 1 || group[0].inArray() {
				items = append(items, m.list(group))
			} else {
				items = append(items, m.items(group[0])...)
			}
		}
		return items
	}
	return []string{m.value(t)}
}

// with is the manager inside an element.
func (m manager) with(t *thing) manager {
	m = slices.Clone(m)
	for _, a := range t.attributes {
		if a.uri == wellKnown[xmlnsURI] && a.local == "xmlns" {
			m = append(m, [2]string{"", a.value})
		} else if a.uri == wellKnown[xmlnsURI] {
			m = append(m, [2]string{decoded(a.local), a.value})
		}
	}
	return m
}

var pseudoAttribute = regexp.MustCompile(`([a-z]+)\s*=\s*["']([^"']*)["']`)

func (m manager) value(t *thing) string {
	if t.kind == declaration {
		d := &thing{}
		for _, a := range pseudoAttribute.FindAllStringSubmatch(t.value, -1) {
			d.attributes = append(d.attributes, &thing{local: a[1], value: a[2]})
		}
		return m.object(d)
	}
	if t.kind != element {
		return quoted(t.value)
	}
	counts := func(a *thing) bool {
		return a.uri != wellKnown[jsonURI] && !(a.uri == wellKnown[xmlnsURI] && a.value == wellKnown[jsonURI])
	}
	switch {
	case len(t.children) == 1 && t.children[0].kind == text && !slices.ContainsFunc(t.attributes, counts):
		return quoted(t.children[0].value)
	case len(t.children)+len(t.attributes) == 0 && t.empty:
		return "null"
	case len(t.children)+len(t.attributes) == 0:
		return `""`
	}
	return m.with(t).object(t)
}
