package xmljson

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"isochrone/sweep/convert/xmltext"
)

// sayJ stands for the json namespace in a test's text.
var sayJ = strings.NewReplacer(`"J"`, `"`+wellKnown[jsonURI]+`"`)

func TestRules(t *testing.T) {
	for name, c := range map[string]struct{ xml, json string }{
		// Text.
		"line ends are kept, as XmlDocument does":     {"<a b='x\r\ny\tz'>1\r\n2\r3</a>", `{"a":{"@b":"x\r\ny\tz","#text":"1\r\n2\r3"}}`},
		"a decimal reference to a blank is text":      {"<a>&#32;</a>", `{"a":" "}`},
		"a hexadecimal one is not":                    {"<a>&#x20;</a>", `{"a":""}`},
		"text around a reference is one run":          {"<a>x &amp;&#x20; y</a>", `{"a":"x &  y"}`},
		"what JSON text escapes":                      {"<a>\"\\\t\n\u0085\u2028\u2029</a>", `{"a":"\"\\\t\n\u0085\u2028\u2029"}`},
		"what it does not":                            {"<a>&lt;&gt;&amp;'/\u007f\u0080\u00a0\u00c2âé\u2027\u202a€\U0001F600</a>", "{\"a\":\"<>&'/\u007f\u0080\u00a0\u00c2âé\u2027\u202a€\U0001F600\"}"},
		"blank CDATA is kept":                         {"<a>\n<![CDATA[ ]]>\n</a>", `{"a":{"#cdata-section":" "}}`},
		"significant blanks end where default begins": {`<a xml:space="preserve"> <b xml:space="default"> <c/></b><d> </d></a>`, `{"a":{"@xml:space":"preserve","#significant-whitespace":" ","b":{"@xml:space":"default","c":null},"d":{"#significant-whitespace":" "}}}`},

		// Names.
		"malformed escapes stay":                      {"<_x_ _x00g0_='1' x0021_='2' _x021_='3'><_x0021/></_x_>", `{"_x_":{"@_x00g0_":"1","@x0021_":"2","@_x021_":"3","_x0021":null}}`},
		"either case":                                 {"<a_x005F_b><_X005f_c/></a_x005F_b>", `{"a_b":{"_c":null}}`},
		"a decoded underscore begins nothing":         {"<_x005F_x0021_/>", `{"_x0021_":null}`},
		"a pair of units is a character":              {"<_xD83D__xDE00_/>", "{\"\U0001F600\":null}"},
		"eight digits are one too":                    {"<_x0001F600_/>", "{\"\U0001F600\":null}"},
		"one unit alone is none":                      {"<_xD83D_a/>", "{\"\ufffda\":null}"},
		"what is decoded is escaped":                  {"<_x0022__x0001_/>", `{"\"\u0001":null}`},
		"a decoded name is grouped":                   {"<r><a_x0062_/><ab>1</ab></r>", `{"r":{"ab":[null,"1"]}}`},
		"names of the json namespace are not decoded": {`<r xmlns:json="J"><json:a_x0021_/></r>`, `{"r":{"$a_x0021_":null}}`},
		"of equal keys the last wins, at its place":   {`<a id="1" b="2"><_x0040_id>3</_x0040_id></a>`, `{"a":{"@b":"2","@id":"3"}}`},
		"instructions' names are decoded":             {"<a><?p_x0021_ d?></a>", `{"a":{"?p!":"d"}}`},

		// Namespaces.
		"the last declaration wins":                 {`<a xmlns:p="u" xmlns="u" p:k="1"/>`, `{"a":{"@xmlns:p":"u","@xmlns":"u","@k":"1"}}`},
		"a hidden declaration does not":             {`<p:a xmlns:p="u" xmlns:q="u"><b xmlns:q="v"><p:c/></b></p:a>`, `{"q:a":{"@xmlns:p":"u","@xmlns:q":"u","b":{"@xmlns:q":"v","p:c":null}}}`},
		"it comes back behind its element":          {`<q:a xmlns:q="u"><q:b xmlns:q="v"/><q:c/></q:a>`, `{"q:a":{"@xmlns:q":"u","q:b":{"@xmlns:q":"v"},"q:c":null}}`},
		"a lone child may take a brother's key":     {`<r xmlns:p="u"><p:a xmlns="u"/><a>1</a></r>`, `{"r":{"@xmlns:p":"u","a":"1"}}`},
		"the prefix xml need not be declared":       {`<a xmlns:xml="http://www.w3.org/XML/1998/namespace" xml:id="x"/>`, `{"a":{"@xmlns:xml":"http://www.w3.org/XML/1998/namespace","@xml:id":"x"}}`},
		"elements of equal names, other namespaces": {`<r xmlns:p="u" xmlns:q="v"><p:a/><q:a/><a/></r>`, `{"r":{"@xmlns:p":"u","@xmlns:q":"v","p:a":null,"q:a":null,"a":null}}`},
		"xmlnsx is an attribute":                    {`<a xmlnsx="u"/>`, `{"a":{"@xmlnsx":"u"}}`},

		// The json namespace.
		"as the default namespace":                    {`<values xmlns="J">1</values>`, `{"$values":"1"}`},
		"true with blanks, 1 and 0":                   {`<r xmlns:j="J"><a j:Array=" true "/><b j:Array="1"/><c j:Array="0"/></r>`, `{"r":{"a":[{}],"b":[{}],"c":{}}}`},
		"other attributes of it":                      {`<r xmlns:j="J" j:id="1" j:x_x0021_="2"><a/></r>`, `{"r":{"$id":"1","$x_x0021_":"2","a":null}}`},
		"arrays of arrays of arrays":                  {`<r xmlns:j="J"><i j:Array="true"><i j:Array="true"><i>1</i><i>2</i></i></i></r>`, `{"r":{"i":[[["1","2"]]]}}`},
		"several nested arrays":                       {`<r xmlns:j="J"><i j:Array="1"><i>1</i></i><i j:Array="1"><i>2</i><i>3</i></i></r>`, `{"r":{"i":["1",["2","3"]]}}`},
		"an unwrapped array's prefixes are forgotten": {`<r xmlns:j="J"><i j:Array="1" xmlns:p="u"><i><p:x/></i><i><p:x/></i></i></r>`, `{"r":{"i":[[{"x":null},{"x":null}]]}}`},
		"blanks do not stop the unwrapping":           {"<r xmlns:j=\"J\">\n<i j:Array='1'>\n<i>1</i>\n<i>2</i>\n</i>\n</r>", `{"r":{"i":[["1","2"]]}}`},

		// The document.
		"in front of and behind the root": {"<!--c--><?p 1?><a/><?p 2?><!--d-->", `{"#comment":[],"?p":["1","2"],"a":null}`},
		"comments in an array's element":  {"<r><i><!--c--></i><i>x</i></r>", `{"r":{"i":[{},"x"]}}`},
	} {
		got, err := converted(sayJ.Replace(c.xml), Options{})
		if err != nil || got != c.json {
			t.Errorf("%s: %s\ngot  %s, %v\nwant %s", name, c.xml, got, err, c.json)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: %s is not JSON", name, got)
		}
	}
}

func TestArraysByName(t *testing.T) {
	for _, c := range []struct {
		xml, json string
		arrays    []string
	}{
		{"<r><i>1</i><j>2</j></r>", `{"r":{"i":["1"],"j":"2"}}`, []string{"i"}},
		{"<r><i>1</i><i>2</i></r>", `{"r":{"i":["1","2"]}}`, []string{"i"}},
		{"<r><i/><k></k></r>", `{"r":{"i":[null],"k":[""]}}`, []string{"i", "k"}},
		{"<r><i k='1'/></r>", `{"r":{"i":[{"@k":"1"}]}}`, []string{"i"}},
		{"<r><a><i/></a><b><i/></b></r>", `{"r":{"a":{"i":[null]},"b":{"i":[null]}}}`, []string{"i"}},
		{"<r><i><i>1</i></i></r>", `{"r":{"i":[["1"]]}}`, []string{"i"}},
		{"<r><a>1</a></r>", `{"r":[{"a":"1"}]}`, []string{"r"}},
		{"<r xmlns:p='u'><p:i/><i/></r>", `{"r":{"@xmlns:p":"u","p:i":[null],"i":null}}`, []string{"p:i"}},
		{"<r><I/></r>", `{"r":{"I":null}}`, []string{"i", "@I", ""}},
	} {
		if got, err := converted(c.xml, Options{Arrays: c.arrays}); err != nil || got != c.json {
			t.Errorf("%s with %q: got %s, %v, want %s", c.xml, c.arrays, got, err, c.json)
		}
	}
}

func TestIndent(t *testing.T) {
	text := `<r xmlns:j="J"><a/><b>1</b><b k="2"><c/></b><d j:Array="1"/><!--x--><!--y--></r>`
	want := `{
  "r": {
    "a": null,
    "b": [
      "1",
      {
        "@k": "2",
        "c": null
      }
    ],
    "d": [
      {}
    ],
    "#comment": []
  }
}`
	if got, err := converted(sayJ.Replace(text), Options{Indent: "  "}); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestDoctypeKeepsWhatIsNotEmpty(t *testing.T) {
	text, want := `<!DOCTYPE a PUBLIC "" 'x"y' [ ]><a/>`, `{"!DOCTYPE":{"@name":"a","@system":"x\"y","@internalSubset":" "},"a":null}`
	if got, err := converted(text, Options{Doctype: true}); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// As deep as xmltext lets elements nest, and no deeper.
func TestDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("<a b=''>", n) + strings.Repeat("</a>", n) }
	got, err := converted(nested(xmltext.MaxDepth), Options{})
	if err != nil || strings.Count(got, "{") != xmltext.MaxDepth+1 || !json.Valid([]byte(got)) {
		t.Errorf("got %.100s, %v, want %d levels", got, err, xmltext.MaxDepth)
	}
	if f, ok := errors.AsType[*xmltext.Fault](func() error { _, err := converted(nested(xmltext.MaxDepth+1), Options{}); return err }()); !ok || !f.Limit {
		t.Errorf("got %v, want a limit", f)
	}
}

// Faults that are those of namespaces have the place of their tag.
func TestFaultsOfNamespaces(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i%200 == 0 {
				b.WriteString("<a")
			}
			b.WriteString(" xmlns:p" + string(rune('a'+i/200)) + strings.Repeat("x", i%200%90) + string(rune('a'+i%200/90)) + "='u'")
			if i%200 == 199 || i == n-1 {
				b.WriteString(">")
			}
		}
		return b.String() + strings.Repeat("</a>", (n+199)/200)
	}
	long := strings.Repeat("p", MaxPrefixBytes)
	for text, want := range map[string]string{
		"<a>\n<p:b/></a>":                              `line 2, byte 4: "p" is an undeclared prefix`,
		"<a>\n<b p:c=''/></a>":                         `line 2, byte 4: "p" is an undeclared prefix`,
		"<a><b xmlns:p='u'/><p:c/></a>":                `line 1, byte 19: "p" is an undeclared prefix`,
		"<a xmlns:p='u' xmlns:q='u' p:k='1' q:k='2'/>": `line 1, byte 0: "q:k" is a duplicate attribute`,
		"<a:b:c xmlns:a='u'/>":                         `line 1, byte 0: "a:b:c" is no name with a prefix`,
		"<:a/>":                                        `line 1, byte 0: ":a" is no name with a prefix`,
		"<a b:=''/>":                                   `line 1, byte 0: "b:" is no name with a prefix`,
		"<a xmlns:=''/>":                               `line 1, byte 0: "xmlns:" is no name with a prefix`,
		"<a xmlns:p=''/>":                              `line 1, byte 0: the prefix "p" is declared without a namespace`,
		"<a xmlns:xml='u'/>":                           `line 1, byte 0: "xmlns:xml" declares what is reserved`,
		"<a xmlns:xmlns='u'/>":                         `line 1, byte 0: "xmlns:xmlns" declares what is reserved`,
		"<a xmlns='http://www.w3.org/2000/xmlns/'/>":   `line 1, byte 0: "xmlns" declares what is reserved`,
		"<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>": `line 1, byte 0: "xmlns:p" declares what is reserved`,
		"<xmlns:a/>": `line 1, byte 0: "xmlns" is an undeclared prefix`,
		"<a xmlns:j='" + wellKnown[jsonURI] + "' j:Array='TRUE'/>": `line 1, byte 0: the string "TRUE" is not a valid Boolean value`,
		many(MaxNamespaces + 1):        "more than 1024 namespace declarations are in scope",
		"<a xmlns:" + long + "p='u'/>": "a prefix has more than 100 bytes",
	} {
		got, err := converted(text, Options{})
		if f, ok := errors.AsType[*xmltext.Fault](err); !ok || !strings.Contains(f.Error(), want) || got != "" {
			t.Errorf("%.80s: got %q, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{many(MaxNamespaces), "<a xmlns:" + long + "='u'/>"} {
		if got, err := converted(text, Options{}); err != nil || !json.Valid([]byte(got)) {
			t.Errorf("%.80s: got %.80s, %v, want it converted", text, got, err)
		}
	}
}

// limited takes so many bytes, and then has no more room.
type limited struct{ left int }

var errFull = errors.New("no space left")

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestErrorsOfReaderAndWriter(t *testing.T) {
	text := "<a>" + strings.Repeat("<b>x</b>", 50_000) + "</a>"
	for _, room := range []int{0, 40_000} {
		if err := Convert(&limited{room}, strings.NewReader(text), Options{}); err != errFull {
			t.Errorf("room for %d bytes: got %v, want %v", room, err, errFull)
		}
	}
	if err := Convert(io.Discard, iotest.ErrReader(errFull), Options{}); err != errFull {
		t.Errorf("got %v, want the reader's error", err)
	}
	// A fault at the end: nothing was written before.
	if err := Convert(&limited{0}, strings.NewReader(text+"x"), Options{}); err == nil || err == errFull {
		t.Errorf("got %v, want the fault of the text", err)
	}
}

// Conversions at the same time, and one after a fault, know nothing of each other.
func TestConversionsShareNothing(t *testing.T) {
	all := pairs(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 20 {
				for _, p := range all {
					if _, err := converted("<a b='1'><c>"+p.xml, Options{Arrays: []string{"a", "i", "r"}}); err == nil {
						t.Errorf("%s: cut off and converted", p.xml)
					}
					if got, err := converted(p.xml, Options{Doctype: true}); err != nil || got != p.json {
						t.Errorf("%s: got %s, %v, want %s", p.xml, got, err, p.json)
					}
				}
			}
		})
	}
	wait.Wait()
}
