package xmltext

import "bytes"

// documentType reads <!DOCTYPE …>. What stands in it is passed over, never interpreted.
func (r *Reader) documentType(b []byte) (int, error) {
	switch {
	case r.o.Doctype == RefuseDoctype:
		return 0, r.refused("a document type declaration: DTDs are refused")
	case len(r.open) > 0 || r.rooted || r.doctype:
		return 0, r.fault(0, "a document type declaration stands once, in front of the root element")
	}
	all := len(b)
	b = b[:min(all, MaxTagBytes)]
	end, err := r.parseDoctype(b)
	if err == errShort && len(b) == MaxTagBytes {
		return 0, r.limit("the document type declaration has more than %d bytes", MaxTagBytes)
	}
	if err == nil {
		err = r.chars(b, 0, end)
	}
	if err != nil {
		return 0, err
	}
	r.found(Doctype, bytes.TrimSpace(b[len("<!DOCTYPE"):end]))
	r.token.Attributes, r.doctype, r.owed = r.attributes, true, true
	return end + 1, nil
}

// refused is the fault of a declaration that the options do not allow.
func (r *Reader) refused(why string) *Fault {
	f := r.fault(0, "%s", why)
	f.Doctype = true
	return f
}

// parseDoctype gathers the parts as attributes, and is the place of the last >.
func (r *Reader) parseDoctype(b []byte) (int, error) {
	r.attributes = r.attributes[:0]
	i := skipSpace(b, len("<!DOCTYPE"))
	if i == len(b) {
		return 0, errShort
	}
	if i == len("<!DOCTYPE") {
		return 0, r.fault(i, "no white space behind <!DOCTYPE")
	}
	end, err := r.name(b, i)
	if err != nil {
		return 0, err
	}
	r.part("name", b[i:end])
	i = skipSpace(b, end)
	if i < len(b) && b[i] != '>' && r.o.Doctype == BareDoctype {
		return 0, r.refused("a document type declaration with more than a name: DTDs and external identifiers are refused")
	}
	if i, err = r.external(b, i, end); err != nil {
		return 0, err
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == '[' {
		last, err := r.subset(b, i+1)
		if err != nil {
			return 0, err
		}
		r.part("internalSubset", b[i+1:last])
		i = skipSpace(b, last+1)
	}
	switch {
	case i == len(b):
		return 0, errShort
	case b[i] != '>':
		return 0, r.fault(i, "unexpected %q in the document type declaration", firstRune(b[i:]))
	}
	return i, nil
}

// part remembers one of a document type declaration.
func (r *Reader) part(name string, value []byte) {
	r.attributes = append(r.attributes, Attribute{Name: []byte(name), Value: value})
}

// external reads PUBLIC "…" "…" or SYSTEM "…", if it stands at i, and is the place behind it.
func (r *Reader) external(b []byte, i, behind int) (int, error) {
	if i == len(b) || b[i] == '[' || b[i] == '>' {
		return i, nil
	}
	end, err := r.name(b, i)
	if err != nil {
		return 0, err
	}
	word := string(b[i:end])
	if i == behind || word != "PUBLIC" && word != "SYSTEM" {
		return 0, r.fault(i, "the document type declaration has neither PUBLIC nor SYSTEM behind its name")
	}
	i = end
	if word == "PUBLIC" {
		if i, err = r.literal(b, i, "public"); err != nil {
			return 0, err
		}
	}
	return r.literal(b, i, "system")
}

// literal reads a quoted text behind white space, and is the place behind it.
func (r *Reader) literal(b []byte, i int, part string) (int, error) {
	at := skipSpace(b, i)
	if at == len(b) {
		return 0, errShort
	}
	if at == i || b[at] != '"' && b[at] != '\'' {
		return 0, r.fault(at, "the %s identifier of the document type declaration does not stand in quotes behind white space", part)
	}
	n := bytes.IndexByte(b[at+1:], b[at])
	if n < 0 {
		return 0, errShort
	}
	r.part(part, b[at+1:at+1+n])
	return at + n + 2, nil
}

// subset is the place of the ] that ends the internal subset that begins at i.
func (r *Reader) subset(b []byte, i int) (int, error) {
	for i < len(b) {
		switch {
		case b[i] == ']':
			return i, nil
		case b[i] != '<':
			i++
			continue
		}
		mark := ""
		switch rest := b[i:]; {
		case len(rest) < 4:
			return 0, errShort
		case bytes.HasPrefix(rest, []byte("<!--")):
			mark, i = "-->", i+4
		case rest[1] == '?':
			mark, i = "?>", i+2
		}
		if mark == "" {
			i = pastDeclaration(b, i)
			continue
		}
		n := bytes.Index(b[i:], []byte(mark))
		if n < 0 {
			return 0, errShort
		}
		i += n + len(mark)
	}
	return 0, errShort
}

// pastDeclaration is the place behind a declaration of the subset, whose > may stand in its quotes.
func pastDeclaration(b []byte, i int) int {
	var quote byte
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return i
}
