package xmljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"isochrone/sweep/convert/xmltext"
)

// holds checks what must be true of any text: it is refused with a place and nothing is written, or it
// becomes JSON, the same whether indented or not, and the same as the slow reference says.
func holds(t *testing.T, text []byte) {
	for _, o := range []Options{{}, {Doctype: true, Arrays: []string{"a", "p:b", "i"}}} {
		got, err := converted(string(text), o)
		if err != nil {
			f, ok := errors.AsType[*xmltext.Fault](err)
			if !ok || f.Text == "" || f.Offset < 0 || f.Offset > int64(len(text)) || f.Line < 1 || got != "" {
				t.Fatalf("refused with %#v, written %q", err, got)
			}
			continue
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%s is not JSON", got)
		}
		o.Indent = "\t"
		indented, err := converted(string(text), o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(indented)); err != nil || b.String() != got {
			t.Fatalf("indented it is %s, %v; in one line %s", indented, err, got)
		}
		if want, ok := reference(text); ok && len(o.Arrays) == 0 && got != want {
			t.Fatalf("got  %s\nthe reference says %s", got, want)
		}
	}
}

func seeds(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, p := range pairs(t) {
		all = append(all, []byte(p.xml))
	}
	for _, name := range []string{"testdata/jmeter.jtl", "testdata/ntttcp.xml", "../testdata/v1.xml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	for _, s := range []string{
		"<r xmlns:p='u' xmlns:q='u'><p:a xmlns='u'/><a/><q:b p:k='1'>x<!--c--><!--d--></q:b></r>", "<_xD83D__xDE00_ _x0040_='&#x20;'>&#32;</_xD83D__xDE00_>",
		`<r xmlns:j="` + wellKnown[jsonURI] + `"><i j:Array="1" xmlns:p="u"><i><p:x/></i><?i d?></i></r>`, "<a xml:space='preserve'> <b xml:space='default'> </b></a>",
	} {
		all = append(all, []byte(s))
	}
	return all
}

func TestFuzzConvertHasItsSeeds(t *testing.T) {
	converts, compared := 0, 0
	for _, b := range seeds(t) {
		holds(t, b)
		if _, err := converted(string(b), Options{}); err == nil {
			converts++
		}
		if _, ok := reference(b); ok {
			compared++
		}
	}
	if n := len(seeds(t)); n != 81 || converts != 79 || compared != 79 {
		t.Errorf("%d seeds, %d of them become JSON, %d the reference knows; want 81, 79, 79", n, converts, compared)
	}
}

func FuzzConvert(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(holds)
}

// random is a document of a seed, with what the rules have trouble with.
type random struct {
	seed uint64
	b    strings.Builder
}

func (r *random) pick(choices ...string) string {
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	return choices[(r.seed>>33)%uint64(len(choices))]
}

func (r *random) element(depth int) {
	name := r.pick("a", "a", "i", "p:a", "q:i", "j:a", "_x0040_k", "a_x0062_")
	r.b.WriteString("<" + name)
	for _, a := range []string{"k", "p:k", "xmlns", "xmlns:p", "xmlns:q", "j:Array", "j:id", "xml:space"} {
		if r.pick("", "", "", "", "", "y") == "" {
			continue
		}
		value := r.pick("u", "v", "w")
		switch a {
		case "j:Array":
			value = r.pick("true", "1", "false")
		case "xml:space":
			value = r.pick("preserve", "default")
		}
		r.b.WriteString(" " + a + `="` + value + `"`)
	}
	if r.pick("", "", "y") != "" {
		r.b.WriteString("/>")
		return
	}
	r.b.WriteString(">")
	for depth < 6 && r.pick("", "y", "y", "y") != "" {
		r.b.WriteString(r.pick("", "", "", " ", "x", "&#32;", "&#x20;", "<![CDATA[c]]>", "<!--c-->", "<?p d?>", "<?i d?>"))
		if r.pick("", "y", "y") != "" {
			r.element(depth + 1)
		}
	}
	r.b.WriteString("</" + name + ">")
}

func TestTheSameAsTheReference(t *testing.T) {
	for seed := range uint64(1500) {
		r := random{seed: seed}
		r.b.WriteString(`<r xmlns:p="u" xmlns:q="v" xmlns:j="` + wellKnown[jsonURI] + `">`)
		r.element(0)
		r.element(0)
		r.b.WriteString("</r>")
		text := r.b.String()
		got, err := converted(text, Options{})
		want, ok := reference([]byte(text))
		if err != nil || !ok || got != want {
			t.Fatalf("%s\ngot  %s, %v\nwant %s, %v", text, got, err, want, ok)
		}
	}
}
