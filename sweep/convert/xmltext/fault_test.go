package xmltext

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A fault has its place, as line:offset, and a reason that holds what follows.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		`<a/><b/>`:                          "1:4 there are several root elements: \"b\"",
		`<a b="1" b="2"/>`:                  "1:9 \"b\" is a duplicate attribute",
		"<a>\n<b>\n</a>":                    "3:8 the start tag of \"b\" in line 2 does not match the end tag of \"a\"",
		`</a>`:                              "1:0 the end tag of \"a\" has no start tag",
		`<a/></a>`:                          "1:4 the end tag of \"a\" has no start tag",
		`<a></a x>`:                         "1:7 unexpected 'x' in the end tag",
		`<a></a/>`:                          "1:6 unexpected '/' in the end tag",
		`<a>&nbsp;</a>`:                     "1:3 reference to the undeclared entity \"nbsp\"",
		`<a b="&nbsp;"/>`:                   "1:6 reference to the undeclared entity \"nbsp\"",
		`<a>x & y</a>`:                      "1:5 an & that begins no reference: write &amp;",
		`<a>x&y=1</a>`:                      "1:4 the reference to the entity \"y\" does not end with ;",
		`<a>&#;</a>`:                        "1:3 a character reference is",
		`<a>&#xg;</a>`:                      "1:3 a character reference is",
		`<a>&#12</a>`:                       "1:3 a character reference is",
		`<a>&#0;</a>`:                       "1:3 the reference &#0; is to a character",
		`<a>&#xD800;</a>`:                   "1:3 the reference &#xD800; is to a character",
		`<a>&#1114112;</a>`:                 "1:3 the reference &#1114112; is to a character",
		`<a>x]]>y</a>`:                      "1:4 ]]> is not allowed in text",
		`<a>1 <2</a>`:                       "1:5 a < that begins no tag",
		`<a>1 < 2</a>`:                      "1:5 a < that begins no tag",
		`<a b="<"/>`:                        "1:6 a < in the value of an attribute",
		"<a b=\"1>\n<c d=\"2\"/></a>":       "2:9 a < in the value of an attribute",
		`<a b/>`:                            "1:4 the attribute \"b\" has no value",
		`<a b=1/>`:                          "1:5 the value of the attribute \"b\" does not stand in quotes",
		`<a b="1"c="2"/>`:                   "1:8 unexpected 'c' in the tag of \"a\"",
		`<a / >`:                            "1:3 a / in the tag",
		`<a"/>`:                             "1:2 unexpected '\"' in the tag",
		`<a -b="1"/>`:                       "1:3 a name cannot begin with '-'",
		`<a×/>`:                             "1:2 unexpected '×' in the tag",
		`<Loss%>1</Loss%>`:                  "1:5 unexpected '%' in the tag",
		`<a><!-- x -- y --></a>`:            "1:10 -- is not allowed inside a comment",
		`<a><!-- x ---></a>`:                "1:10 -- is not allowed inside a comment",
		`<a><!x></a>`:                       "1:3 <! begins neither",
		`<!doctype html><html/>`:            "1:0 <!doctype is not XML",
		`<![CDATA[x]]><a/>`:                 "1:0 data at the root level: a CDATA section",
		` <?xml version="1.0"?><a/>`:        "1:1 unexpected XML declaration",
		`<a><?xml version="1.0"?></a>`:      "1:3 unexpected XML declaration",
		`<!--c--><?xml version="1.0"?><a/>`: "1:8 unexpected XML declaration",
		`<a/><?xml version="1.0"?>`:         "1:4 unexpected XML declaration",
		`<?XML version="1.0"?><a/>`:         "1:2 \"XML\" cannot be the target",
		`<?xml version="1.1"?><a/>`:         "1:6 XML version \"1.1\" is not read, only 1.0",
		`<?xml encoding="utf-8"?><a/>`:      "1:6 the declaration must begin with the version",
		`<?xml?><a/>`:                       "1:0 the declaration gives no version",
		`<?xml version="1.0" encoding="8bit"?><a/>`:              "1:20 the declaration has version, encoding",
		`<?xml version="1.0" standalone="true"?><a/>`:            "1:20 the declaration has version, encoding",
		`<?xml version="1.0" x="y"?><a/>`:                        "1:20 the declaration has version, encoding",
		`<?xml version="1.0" standalone="no" encoding="a"?><a/>`: "1:36 the declaration has version, encoding",
		`<?xml version="1.0"><a/>`:                               "1:19 unexpected '>' in the declaration",
		`<a><?p+d?></a>`:                                         "1:6 no white space behind the target",
		`<!DOCTYPE a><a/>`:                                       "1:0 a document type declaration: DTDs are refused",
		`abc`:                                                    "1:0 data at the root level: this is not XML",
		`{"a":1}`:                                                "1:0 data at the root level: this is not XML",
		"\ufeff<a/>":                                             "1:0 data at the root level: a byte-order mark",
		"\n <a/>\n tail":                                         "3:8 data at the root level: there is text behind",
		"<a>\x01</a>":                                            "1:3 the control character U+0001",
		"<a b='\x00'/>":                                          "1:6 the control character U+0000",
		"<a><!--\x01--></a>":                                     "1:7 the control character U+0001",
		"<a><![CDATA[\x1b]]></a>":                                "1:12 the control character U+001B",
		"<a>\xe9t\xe9</a>":                                       "1:3 the byte 0xE9 is not UTF-8",
		"<a>\xe2\x82</a>":                                        "1:3 the byte 0xE2 is not UTF-8",
		"<![cdata[x]]>":                                          "1:0 <![cdata[ is not XML",
		"<\xe9/>":                                                "1:1 the byte 0xE9 is not UTF-8",
		"<a>\xed\xa0\x80</a>":                                    "1:3 the byte 0xED is not UTF-8",
		"<a>\ufffe</a>":                                          "1:3 the character U+FFFE",
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			f := fault(t, in, Options{})
			if got := fmt.Sprintf("%d:%d %s", f.Line, f.Offset, f.Text); !strings.HasPrefix(got, want) || f.Cut || f.Limit {
				t.Errorf("%q: got %s (cut %v, limit %v), want %s", text, got, f.Cut, f.Limit, want)
			}
		}
	}
}

func TestBareDoctypeHasNothingButAName(t *testing.T) {
	for _, text := range []string{
		`<!DOCTYPE a SYSTEM "a.dtd"><a/>`, `<!DOCTYPE a []><a/>`,
		`<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`,
	} {
		if f := fault(t, strings.NewReader(text), Options{Doctype: BareDoctype}); f.Offset != 0 || !f.Doctype || !strings.Contains(f.Text, "refused") {
			t.Errorf("%s: got %v, want it refused at its start", text, f)
		}
	}
}

func TestDoctypeIsNotInterpreted(t *testing.T) {
	text := `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`
	if f := fault(t, strings.NewReader(text), Options{Doctype: KeepDoctype}); f.Offset != 33 || f.Doctype || !strings.Contains(f.Text, "undeclared entity \"x\"") {
		t.Errorf("got %v, want the entity undeclared at byte 33", f)
	}
	for _, text := range []string{
		`<!DOCTYPEa><a/>`, `<!DOCTYPE a FOO "x"><a/>`, `<!DOCTYPE a PUBLIC "x"><a/>`, `<!DOCTYPE a SYSTEM"x"><a/>`, `<!DOCTYPE a [] x><a/>`,
		`<!DOCTYPE a><!DOCTYPE a><a/>`, `<a><!DOCTYPE a></a>`, `<a/><!DOCTYPE a>`, "<!DOCTYPE a [\x01]><a/>",
	} {
		if f := fault(t, strings.NewReader(text), Options{Doctype: KeepDoctype}); f.Cut || f.Limit {
			t.Errorf("%s: got %v, want a fault that is neither cut nor limit", text, f)
		}
	}
}

// Wherever a document is cut off, the fault says so, and the tokens before are those of the whole.
func TestEveryCut(t *testing.T) {
	for text, o := range map[string]Options{
		"<?xml version=\"1.0\" encoding='utf-8'?>\n<!-- c --><?p d?><a b=\"&lt;é\" c='&#x41;'>é&amp;<b/> ]] <![CDATA[é]]]]></a>": {},
		"<!DOCTYPE a PUBLIC 'x' \"y\" [<!-- ' --><!ENTITY e '>'>] ><a></a>":                                                      {Doctype: KeepDoctype},
		"<é%>&#0;</é%>": {Lenient: true},
	} {
		whole := told(strings.NewReader(text), o)
		if strings.Contains(whole, "error") {
			t.Fatalf("%q: %s", text, whole)
		}
		for n := range len(text) {
			f := fault(t, strings.NewReader(text[:n]), o)
			if !f.Cut || f.Limit || f.Offset != int64(n) {
				t.Errorf("%q: got %v (cut %v, limit %v), want a cut at %d", text[:n], f, f.Cut, f.Limit, n)
			}
			tokens, _, _ := strings.Cut(told(strings.NewReader(text[:n]), o), "error")
			if !strings.HasPrefix(whole, tokens) {
				t.Errorf("%q: the tokens\n%s are not those of the whole\n%s", text[:n], tokens, whole)
			}
		}
	}
}

func TestCutSaysWhatIsOpen(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "line 1, byte 0: the text is empty: the root element is missing",
		" \n":                       "line 2, byte 2: the text ends before the root element",
		"<a>\n<b>x\n":               "line 3, byte 9: the text ends before the end of the element \"b\" of line 2",
		"<a b=\"1\n":                "line 2, byte 8: the text ends inside a tag",
		"<?xml version=\"1.0\"?>\n": "line 2, byte 22: the text ends before the root element",
	} {
		if f := fault(t, strings.NewReader(text), Options{}); f.Error() != want || !f.Cut {
			t.Errorf("%q: got %v, want %s", text, f, want)
		}
	}
}

func TestReadersErrorIsHandedOn(t *testing.T) {
	broken := errors.New("the wire is broken")
	r := NewReader(io.MultiReader(strings.NewReader("<a><b"), iotest.ErrReader(broken)), Options{})
	if tok, err := r.Next(); err != nil || string(tok.Name) != "a" {
		t.Fatalf("got %v, %v, want the start of a", tok, err)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Fatalf("got %v, want %v", err, broken)
		}
	}
}

// reader never gives a byte.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderThatGivesNothing(t *testing.T) {
	if _, err := NewReader(idle{}, Options{}).Next(); err != io.ErrNoProgress {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}
