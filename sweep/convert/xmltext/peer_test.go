package xmltext

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
)

// events writes what a text holds in the words that encoding/xml has for it too: runs of text and CDATA
// as one text, line ends as a newline.
type events struct {
	lines []string
	text  []byte
}

func (e *events) add(format string, a ...any) {
	if len(e.text) > 0 {
		s := strings.ReplaceAll(strings.ReplaceAll(string(e.text), "\r\n", "\n"), "\r", "\n")
		e.lines = append(e.lines, fmt.Sprintf("text %q", s))
		e.text = nil
	}
	e.lines = append(e.lines, fmt.Sprintf(format, a...))
}

// ours are the events that Reader tells.
func ours(text []byte) ([]string, error) {
	var e events
	r := NewReader(bytes.NewReader(text), Options{Doctype: KeepDoctype})
	for {
		t, err := r.Next()
		if err != nil {
			return e.lines, err
		}
		switch t.Kind {
		case Start:
			e.add("<%s", t.Name)
			for _, a := range t.Attributes {
				e.add("%s=%q", a.Name, a.Value)
			}
		case End:
			e.add("/%s", t.Name)
		case Text, CDATA:
			e.text = append(e.text, t.Text...)
		case Comment:
			e.add("comment %q", t.Text)
		case Instruction:
			e.add("?%s %q", t.Name, t.Text)
		case Declaration:
			e.add("declaration")
		case Doctype:
			e.add("doctype")
		}
	}
}

// theirs are those that encoding/xml tells; white space outside the root it tells is left out.
func theirs(text []byte) ([]string, error) {
	var e events
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth := 0
	for {
		t, err := d.RawToken()
		if err != nil {
			return e.lines, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			e.add("<%s", joined(t.Name))
			for _, a := range t.Attr {
				e.add("%s=%q", joined(a.Name), a.Value)
			}
		case xml.EndElement:
			depth--
			e.add("/%s", joined(t.Name))
		case xml.CharData:
			if depth > 0 {
				e.text = append(e.text, t...)
			}
		case xml.Comment:
			e.add("comment %q", []byte(t))
		case xml.ProcInst:
			if t.Target == "xml" {
				e.add("declaration")
			} else {
				e.add("?%s %q", t.Target, t.Inst)
			}
		case xml.Directive:
			e.add("doctype")
		}
	}
}

func joined(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// agrees checks a text that is read here: encoding/xml reads the same. It is narrower in names (those of
// the fourth edition, no second colon), counts markup in a subset, and makes line ends alike in attributes
// and comments too; such texts are left out.
func agrees(t *testing.T, text []byte) {
	got, err := ours(text)
	if err != io.EOF || bytes.ContainsAny(text, "\r") || bytes.Contains(text, []byte("<!DOCTYPE")) {
		return
	}
	want, err := theirs(text)
	if err != io.EOF {
		if e := err.Error(); strings.Contains(e, "name") || strings.Contains(e, "expected") {
			return
		}
		t.Fatalf("%q is read here; encoding/xml says %v", text, err)
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Fatalf("%q\ngot:\n%s\nencoding/xml:\n%s", text, a, b)
	}
}

// random is a document of n elements at most, well-formed, from the bytes of a seed.
type random struct {
	seed uint64
	b    strings.Builder
}

func (r *random) pick(choices ...string) string {
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	return choices[(r.seed>>33)%uint64(len(choices))]
}

func (r *random) element(depth int) {
	name := r.pick("a", "b-1", "p:c", "_é", "ü.x", "日本")
	r.b.WriteString("<" + name)
	for _, a := range []string{"x", "p:y", "xmlns", "ß"} {
		if r.pick("", "", "y") != "" {
			q := r.pick(`"`, `'`)
			r.b.WriteString(r.pick(" ", "\n ") + a + r.pick("=", " = ") + q + r.pick("", "1", "&lt;&#65;", "a>b", "€ &quot;") + q)
		}
	}
	if r.pick("", "", "y") != "" {
		r.b.WriteString(r.pick("/>", " />"))
		return
	}
	r.b.WriteString(r.pick(">", " >", "\n>"))
	for depth < 8 && r.pick("", "y", "y", "y") != "" {
		r.b.WriteString(r.pick("", "", " ", "\n\t", "text", "&amp;", "x&#x20AC;y", "]] >", "é日\U0001F600", "<![CDATA[<&]]>", "<![CDATA[]]>", "<!-- - c -->", "<?p d?>"))
		if r.pick("", "y") != "" {
			r.element(depth + 1)
		}
	}
	r.b.WriteString("</" + name + r.pick(">", " >"))
}

func TestTheSameAsEncodingXML(t *testing.T) {
	for seed := range uint64(1000) {
		r := random{seed: seed}
		r.b.WriteString(r.pick("", "<?xml version=\"1.0\"?>\n", "<!--c-->", "<?p?> "))
		r.element(0)
		r.b.WriteString(r.pick("", "\n", "<!-- end -->"))
		text := []byte(r.b.String())
		if _, err := ours(text); err != io.EOF {
			t.Fatalf("%s\nis refused: %v", text, err)
		}
		if _, err := theirs(text); err != io.EOF {
			t.Fatalf("%s\nencoding/xml refuses it: %v", text, err)
		}
		agrees(t, text)
	}
}
