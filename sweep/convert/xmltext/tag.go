package xmltext

import (
	"bytes"
	"unicode/utf8"
)

// startTag reads <name a="b"> or <name/>.
func (r *Reader) startTag(b []byte) (int, error) {
	if len(b) > MaxTagBytes {
		b = b[:MaxTagBytes]
	}
	n, err := r.parseStart(b)
	if err == errShort && len(b) == MaxTagBytes {
		return 0, r.limit("a tag has more than %d bytes", MaxTagBytes)
	}
	return n, err
}

func (r *Reader) parseStart(b []byte) (int, error) {
	if class[b[1]]&isNameStart == 0 && b[1] < utf8.RuneSelf {
		return 0, r.fault(0, "a < that begins no tag: write &lt; in text")
	}
	end, err := r.name(b, 1)
	if err != nil {
		return 0, err
	}
	r.attributes, r.resolved = r.attributes[:0], r.resolved[:0]
	for i := end; ; {
		j := skipSpace(b, i)
		if j == len(b) {
			return 0, errShort
		}
		switch {
		case b[j] == '>':
			return j + 1, r.push(b[1:end], false)
		case b[j] == '/':
			if j+1 == len(b) {
				return 0, errShort
			}
			if b[j+1] != '>' {
				return 0, r.fault(j, "a / in the tag of %s that no > follows", clip(b[1:end]))
			}
			return j + 2, r.push(b[1:end], true)
		case j == i:
			return 0, r.fault(j, "unexpected %q in the tag of %s", firstRune(b[j:]), clip(b[1:end]))
		}
		if i, err = r.attribute(b, j); err != nil {
			return 0, err
		}
	}
}

// attribute reads one that begins at i, and is the place behind it.
func (r *Reader) attribute(b []byte, i int) (int, error) {
	end, err := r.name(b, i)
	if err != nil {
		return 0, err
	}
	name := b[i:end]
	for k := range r.attributes {
		if bytes.Equal(r.attributes[k].Name, name) {
			return 0, r.fault(i, "%s is a duplicate attribute", clip(name))
		}
	}
	if len(r.attributes) == MaxAttributes {
		return 0, r.limit("an element has more than %d attributes", MaxAttributes)
	}
	j := skipSpace(b, end)
	if j == len(b) {
		return 0, errShort
	}
	if b[j] != '=' {
		return 0, r.fault(j, "the attribute %s has no value: = is missing", clip(name))
	}
	if j = skipSpace(b, j+1); j == len(b) {
		return 0, errShort
	}
	if b[j] != '"' && b[j] != '\'' {
		return 0, r.fault(j, "the value of the attribute %s does not stand in quotes", clip(name))
	}
	value, next, err := r.value(b, j)
	if err != nil {
		return 0, err
	}
	r.attributes = append(r.attributes, Attribute{Name: name, Value: value})
	return next, nil
}

// value reads that of an attribute, whose first quote is at i, and is the place behind its last.
func (r *Reader) value(b []byte, i int) ([]byte, int, error) {
	quote := b[i]
	i++
	mark, began, resolved := i, len(r.resolved), false // b[mark:i] is not in r.resolved yet
	for {
		for i < len(b) && class[b[i]]&inValue != 0 {
			i++
		}
		if i == len(b) {
			return nil, 0, errShort
		}
		switch b[i] {
		case quote:
			if !resolved {
				return b[mark:i:i], i + 1, nil
			}
			r.resolved = append(r.resolved, b[mark:i]...)
			return r.resolved[began:len(r.resolved):len(r.resolved)], i + 1, nil
		case '"', '\'':
			i++
		case '<':
			return nil, 0, r.fault(i, "a < in the value of an attribute: write &lt;, or close the quote")
		case '&':
			c, _, next, err := r.reference(b, i)
			if err != nil {
				return nil, 0, err
			}
			r.resolved = append(r.resolved, b[mark:i]...)
			r.resolved = appendRune(r.resolved, c)
			i, mark, resolved = next, next, true
		default:
			next, err := r.char(b, i)
			if err != nil {
				return nil, 0, err
			}
			i = next
		}
	}
}

// push opens an element.
func (r *Reader) push(name []byte, empty bool) error {
	if len(r.open) == 0 {
		if r.rooted {
			return r.fault(0, "there are several root elements: %s is another", clip(name))
		}
		r.rooted, r.owed = true, false
		r.roots++
	}
	if len(r.open) == MaxDepth {
		return r.limit("elements are nested more than %d deep", MaxDepth)
	}
	r.open = append(r.open, element{len(r.names), r.line})
	r.names = append(r.names, name...)
	r.fresh, r.empty = false, empty
	r.token.Kind, r.token.Name, r.token.Attributes, r.token.Empty = Start, name, r.attributes, empty
	return nil
}

// pop closes the innermost element.
func (r *Reader) pop() {
	last := len(r.open) - 1
	at := r.open[last].name
	r.token.Kind, r.token.Name = End, r.names[at:]
	r.names, r.open = r.names[:at], r.open[:last]
	if last == 0 && r.o.Roots {
		r.fresh, r.rooted, r.doctype = true, false, false
	}
}

// endTag reads </name>.
func (r *Reader) endTag(b []byte) (int, error) {
	if len(r.open) > 0 {
		want := r.names[r.open[len(r.open)-1].name:]
		if n := 2 + len(want); len(b) > n && b[n] == '>' && string(b[2:n]) == string(want) {
			r.pop()
			return n + 1, nil
		}
	}
	if len(b) > MaxTagBytes {
		b = b[:MaxTagBytes]
	}
	end, err := r.name(b, 2)
	if err != nil {
		return 0, err
	}
	if len(r.open) == 0 {
		return 0, r.fault(0, "the end tag of %s has no start tag", clip(b[2:end]))
	}
	if e := r.open[len(r.open)-1]; !bytes.Equal(b[2:end], r.names[e.name:]) {
		return 0, r.fault(0, "the start tag of %s in line %d does not match the end tag of %s",
			clip(r.names[e.name:]), e.line, clip(b[2:end]))
	}
	i := skipSpace(b, end)
	switch {
	case i == MaxTagBytes:
		return 0, r.limit("a tag has more than %d bytes", MaxTagBytes)
	case i == len(b):
		return 0, errShort
	case b[i] != '>':
		return 0, r.fault(i, "unexpected %q in the end tag of %s", firstRune(b[i:]), clip(b[2:end]))
	}
	r.pop()
	return i + 1, nil
}
