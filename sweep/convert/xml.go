package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"isochrone/prober/wire"
)

// readXML checks the whole text before it builds anything from it.
func readXML(text []byte) (*wire.Document, error) {
	if err := checkMarkup(text); err != nil {
		return nil, err
	}
	c := &xmlChecker{decoder: newXMLDecoder(text)}
	if err := c.document(xmlShape()); err != nil {
		return nil, err
	}
	d := new(wire.Document)
	if err := newXMLDecoder(text).Decode(d); err != nil {
		return nil, &Refusal{Stage: StageRead, Text: "the XML does not fit a document: " + err.Error(), Offset: NoOffset, Remedy: remedyFormat}
	}
	d.XMLName = xml.Name{} // it says that the text was XML, which must make no difference
	return d, nil
}

var errCharset = errors.New("the XML declaration names an encoding other than UTF-8")

func newXMLDecoder(text []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") { // a part of UTF-8, which the text was checked to be
			return in, nil
		}
		return nil, errCharset
	}
	return d
}

// xmlChecker reads an XML text's tokens once, along a shape. It keeps the text of the one value
// that it is in.
type xmlChecker struct {
	decoder *xml.Decoder
	place   place
	entries int // of all columns so far
}

func (c *xmlChecker) refuse(remedy, format string, args ...any) error {
	return &Refusal{Stage: StageRead, Text: fmt.Sprintf(format, args...), Where: c.place.String(), Offset: c.decoder.InputOffset(), Remedy: remedy}
}

// token is the next token that matters; nil at the end of the text.
func (c *xmlChecker) token() (xml.Token, error) {
	for {
		t, err := c.decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, errCharset):
			return nil, c.refuse("send it as UTF-8", "%v", errCharset)
		case err != nil && strings.Contains(err.Error(), "unexpected EOF"):
			return nil, c.refuse(remedyAgain, "the XML ends inside an element")
		case err != nil:
			return nil, c.refuse("send well-formed XML", "%v", err)
		}
		switch t.(type) {
		case xml.StartElement, xml.EndElement, xml.CharData:
			return t, nil
		}
	}
}

func (c *xmlChecker) document(s *shape) error {
	for seen := false; ; {
		t, err := c.token()
		switch t := t.(type) {
		case nil:
			if err == nil && !seen {
				err = c.refuse(remedyAgain, "the XML holds no element")
			}
			return err
		case xml.CharData:
			if len(bytes.Trim(t, blanks)) > 0 {
				return c.refuse("send one document a body", "text outside the document")
			}
		case xml.StartElement:
			if seen {
				return c.refuse("send one document a body", "a second document follows the first")
			}
			seen = true
			if t.Name.Local != xmlRoot || t.Name.Space != "" {
				return &Refusal{Stage: StageRecognise, Text: fmt.Sprintf("the root element is <%s>", cut(t.Name.Local)),
					Offset: c.decoder.InputOffset(), Remedy: "send a document whose root element is <" + xmlRoot + ">"}
			}
			if err := c.element(s, t); err != nil {
				return err
			}
		}
	}
}

// element reads the rest of an element whose start was just read.
func (c *xmlChecker) element(s *shape, start xml.StartElement) error {
	seen := make(map[string]int, len(s.members))
	if err := c.attributes(s, start.Attr, seen); err != nil {
		return err
	}
	if s.kind != kindObject {
		return c.leaf(s)
	}
	for {
		t, err := c.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			if len(bytes.Trim(t, blanks)) > 0 {
				return c.refuse(remedyFormat, "text %s where only elements may stand", quote(string(bytes.Trim(t, blanks))))
			}
		case xml.StartElement:
			if err := c.member(s, t, seen); err != nil {
				return err
			}
		case xml.EndElement:
			for _, name := range s.required {
				if seen[name] == 0 {
					return c.refuse(remedyFormat, "%q is missing", name)
				}
			}
			return nil
		}
	}
}

func (c *xmlChecker) member(s *shape, start xml.StartElement, seen map[string]int) error {
	name := start.Name.Local
	m, ok := s.members[name]
	switch {
	case !ok || m.attribute || start.Name.Space != "":
		return c.refuse(remedyFormat, "a document has no element <%s> here", cut(name))
	case !m.repeated && seen[name] > 0:
		return c.refuse("keep one of them", "<%s> stands here twice", name)
	case m.repeated && seen[name] == m.most:
		return c.refuse(remedyMost(m.most), "more than %d elements <%s>", m.most, name)
	}
	if m.repeated { // named as in JSON: runs[2], not runs.run[2]
		c.place.index(seen[name])
	} else {
		c.place.enter(name)
	}
	seen[name]++
	if err := c.element(m.shape, start); err != nil {
		return err
	}
	c.place.leave()
	return nil
}

func (c *xmlChecker) attributes(s *shape, attributes []xml.Attr, seen map[string]int) error {
	for _, a := range attributes {
		m, ok := s.members[a.Name.Local]
		switch {
		case !ok || !m.attribute || a.Name.Space != "":
			return c.refuse(remedyFormat, "a document has no attribute %s here", quote(a.Name.Local))
		case seen[a.Name.Local] > 0:
			return c.refuse("keep one of them", "attribute %q stands here twice", a.Name.Local)
		}
		seen[a.Name.Local]++
		if err := checkLeaf(m.shape, a.Value); err != nil {
			return c.refuse(remedyFormat, "attribute %q: %v", a.Name.Local, err)
		}
	}
	return nil
}

// leaf reads an element that holds text alone.
func (c *xmlChecker) leaf(s *shape) error {
	var text []byte
	for {
		t, err := c.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			if limit := s.textLimit(); len(text)+len(t) > limit {
				return c.refuse(remedyFormat, "a text of %d bytes or more; at most %d are allowed here", len(text)+len(t), limit)
			}
			text = append(text, t...)
		case xml.StartElement:
			return c.refuse(remedyFormat, "an element <%s> where only text may stand", cut(t.Name.Local))
		case xml.EndElement:
			switch s.kind {
			case kindColumn:
				return c.column(text, isShortInteger, checkInteger)
			case kindFailures:
				return c.column(text, isNull, checkFailure)
			case kindInteger, kindNumber, kindTruth:
				text = bytes.Trim(text, blanks)
			}
			if err := checkLeaf(s, string(text)); err != nil {
				return c.refuse(remedyFormat, "%v", err)
			}
			return nil
		}
	}
}

func isNull(entry []byte) bool { return string(entry) == "-" }

// column checks the entries of a list separated by blanks, null or what plainly or check accepts.
func (c *xmlChecker) column(text []byte, plainly func([]byte) bool, check func(string) error) error {
	n := 0
	for entry := range bytes.FieldsSeq(text) {
		if c.entries++; n == wire.MaxSamples || c.entries > maxEntries {
			return c.refuse(remedySplit, "a document holds at most %d samples", wire.MaxSamples)
		}
		if !plainly(entry) && !isNull(entry) {
			if err := check(string(entry)); err != nil {
				c.place.index(n)
				return c.refuse(remedyFormat, "%v", err)
			}
		}
		n++
	}
	return nil
}

// cut shortens a name that a refusal repeats.
func cut(name string) string { return strings.Trim(quote(name), `"`) }
