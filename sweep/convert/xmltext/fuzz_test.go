package xmltext

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// fuzzOptions are the ways in which texts are read.
var fuzzOptions = []Options{{}, {Doctype: BareDoctype, Roots: true, Lenient: true}, {Doctype: KeepDoctype}, {Roots: true}}

// holds checks what must be true of any text: it is read to its end or has a fault with a place inside it,
// and how its bytes arrive changes nothing.
func holds(t *testing.T, text []byte) {
	for _, o := range fuzzOptions {
		r := NewReader(bytes.NewReader(text), o)
		depth, last := 0, int64(0)
		for {
			tok, err := r.Next()
			if err != nil {
				var f *Fault
				if err != io.EOF && (!errors.As(err, &f) || f.Text == "" || f.Offset < 0 || f.Offset > int64(len(text)) ||
					f.Line != 1+bytes.Count(text[:f.Offset], []byte{'\n'}) || f.Cut && f.Offset != int64(len(text))) {
					t.Fatalf("%+v: ended with %#v", o, err)
				}
				if err == io.EOF && depth != 0 {
					t.Fatalf("%+v: ended with %d elements open", o, depth)
				}
				break
			}
			if tok.Offset < last || tok.Line != 1+bytes.Count(text[:tok.Offset], []byte{'\n'}) {
				t.Fatalf("%+v: a token at line %d, byte %d, behind byte %d", o, tok.Line, tok.Offset, last)
			}
			last = tok.Offset
			switch tok.Kind {
			case Start:
				depth++
			case End:
				depth--
			}
		}
		whole := told(bytes.NewReader(text), o)
		for name, in := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(bytes.NewReader(text)), "with the end": iotest.DataErrReader(bytes.NewReader(text)),
		} {
			if len(text) > 1<<14 && name == "byte by byte" {
				continue
			}
			if got := told(in, o); got != whole {
				t.Fatalf("%+v, %s:\n%s\nat once:\n%s", o, name, got, whole)
			}
		}
	}
	agrees(t, text)
}

func seeds(t testing.TB) [][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.[jx]*")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	for _, s := range []string{
		"", "<a/>", "<a><b/>x</a>", "<a b='1' b=\"2\"/>", "<a>&#x0;</a>", "<a/><?xml version='1.0'?><b/>", "\ufeff<a/>", "<a>]]></a>", "<a><!-- -- --></a>",
		"<!DOCTYPE a PUBLIC 'x' \"y\" [<!-- ' --><!ENTITY e '>'><?p?>] ><a>&e;</a>", "<?xml version='1.0' encoding='x' standalone='no'?><a/>",
		"<a><![CDATA[]]]]></a>", "<é%>\r\n\t</é%>", "<a b='<'/>", "<a>\xe2\x82</a>", "<!doctype html><p>", "<?p d?><a></b>", "<a\n b = '&amp;&#65;'>&lt;</a\n>", strings.Repeat("<a>", 501),
	} {
		all = append(all, []byte(s))
	}
	return all
}

func TestFuzzTextHasItsSeeds(t *testing.T) {
	read := 0
	for _, b := range seeds(t) {
		holds(t, b)
		if end(bytes.NewReader(b), Options{Doctype: KeepDoctype}) == io.EOF {
			read++
		}
	}
	if n := len(seeds(t)); n != 23 || read != 9 {
		t.Errorf("%d seeds, of which %d are XML; want 23 and 9", n, read)
	}
}

func FuzzText(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(holds)
}
