package xmltext

import (
	"bytes"
	"strings"
)

// markup reads what begins with <!.
func (r *Reader) markup(b []byte) (int, error) {
	is := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case is("<!--"):
		return r.comment(b)
	case is("<![CDATA["):
		return r.cdata(b)
	case is("<!DOCTYPE"):
		return r.documentType(b)
	}
	for _, s := range [...]string{"<!--", "<![CDATA[", "<!doctype"} {
		if start := string(b[:min(len(b), len(s))]); strings.EqualFold(start, s[:len(start)]) {
			if len(start) < len(s) {
				return 0, errShort
			}
			return 0, r.fault(0, "%s is not XML: is this an HTML page?", start)
		}
	}
	return 0, r.fault(0, "<! begins neither a comment, <!--, nor a CDATA section, <![CDATA[")
}

// until is the place of the mark that ends what begins at i, most bytes on at the most.
func (r *Reader) until(b []byte, i int, mark string, most int, what string) (int, error) {
	n := bytes.Index(b[i:min(len(b), i+most+len(mark))], []byte(mark))
	end := i + n
	if n < 0 {
		end = min(len(b), i+most)
	}
	if err := r.chars(b, i, end); err != nil {
		return 0, err
	}
	if n < 0 && len(b) >= i+most+len(mark) {
		return 0, r.limit("%s has more than %d bytes", what, most)
	}
	if n < 0 {
		return 0, errShort
	}
	return end, nil
}

func (r *Reader) comment(b []byte) (int, error) {
	end, err := r.until(b, 4, "--", MaxTagBytes, "a comment")
	if err != nil {
		return 0, err
	}
	if end+2 == len(b) {
		return 0, errShort
	}
	if b[end+2] != '>' {
		return 0, r.fault(end, "-- is not allowed inside a comment")
	}
	r.found(Comment, b[4:end])
	return end + 3, nil
}

func (r *Reader) cdata(b []byte) (int, error) {
	if len(r.open) == 0 {
		return 0, r.fault(0, "data at the root level: a CDATA section outside the root element")
	}
	end, err := r.until(b, 9, "]]>", r.maxText, "a CDATA section")
	if err != nil {
		return 0, err
	}
	r.found(CDATA, b[9:end])
	return end + 3, nil
}

// instruction reads <?target data?>, or the declaration.
func (r *Reader) instruction(b []byte) (int, error) {
	end, err := r.name(b, 2)
	if err != nil {
		return 0, err
	}
	target := b[2:end]
	if string(target) == "xml" {
		return r.declaration(b, end)
	}
	if bytes.EqualFold(target, []byte("xml")) {
		return 0, r.fault(2, "%s cannot be the target of an instruction; the declaration is written <?xml …?>", clip(target))
	}
	data := skipSpace(b, end)
	last, err := r.until(b, data, "?>", MaxTagBytes, "an instruction")
	if err != nil {
		return 0, err
	}
	if data == end && last != end {
		return 0, r.fault(end, "no white space behind the target %s of an instruction", clip(target))
	}
	r.found(Instruction, b[data:last])
	r.token.Name = target
	return last + 2, nil
}

// found is a token that is a text, and nothing behind which a declaration may stand.
func (r *Reader) found(k Kind, text []byte) {
	r.token.Kind, r.token.Text, r.fresh = k, text, false
}

// declaration reads <?xml version="1.0" encoding="…" standalone="…"?>; its name ends at i.
func (r *Reader) declaration(b []byte, i int) (int, error) {
	if !r.fresh {
		return 0, r.fault(0, "unexpected XML declaration: it must be the very first of the text, without white space in front")
	}
	if len(b) > MaxTagBytes {
		return r.declared(b[:MaxTagBytes], i, len(b))
	}
	return r.declared(b, i, len(b))
}

func (r *Reader) declared(b []byte, i, all int) (int, error) {
	r.attributes, r.resolved = r.attributes[:0], r.resolved[:0]
	for {
		j := skipSpace(b, i)
		if j+1 >= len(b) {
			if all > len(b) {
				return 0, r.limit("the declaration has more than %d bytes", MaxTagBytes)
			}
			return 0, errShort
		}
		if b[j] == '?' {
			if b[j+1] != '>' {
				return 0, r.fault(j, "a ? in the declaration that no > follows")
			}
			if len(r.attributes) == 0 {
				return 0, r.fault(0, "the declaration gives no version")
			}
			r.found(Declaration, nil)
			r.token.Attributes, r.owed = r.attributes, true
			return j + 2, nil
		}
		if j == i {
			return 0, r.fault(j, "unexpected %q in the declaration", firstRune(b[j:]))
		}
		next, err := r.attribute(b, j)
		if err == nil {
			err = r.pseudo(j)
		}
		if err != nil {
			return 0, err
		}
		i = next
	}
}

// pseudo checks the last attribute of the declaration, which stands at i.
func (r *Reader) pseudo(i int) error {
	n := len(r.attributes)
	name, value := string(r.attributes[n-1].Name), string(r.attributes[n-1].Value)
	switch {
	case n == 1 && name != "version":
		return r.fault(i, "the declaration must begin with the version")
	case n == 1 && value != "1.0":
		return r.fault(i, "XML version %.20q is not read, only 1.0", value)
	case n == 1:
	case name == "encoding" && n == 2 && isEncodingName(value):
	case name == "standalone" && (value == "yes" || value == "no"):
	default:
		return r.fault(i, "the declaration has version, encoding and standalone=\"yes\" or \"no\", in this order; not %.40q", name+"="+value)
	}
	if n == 3 && string(r.attributes[1].Name) != "encoding" {
		return r.fault(i, "the declaration has nothing behind standalone")
	}
	return nil
}

// isEncodingName tells the names of production 81.
func isEncodingName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return s != ""
}
