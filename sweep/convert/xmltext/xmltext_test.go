package xmltext

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// told writes the tokens of a text, one a line, and its error as the last line.
func told(in io.Reader, o Options) string {
	var b strings.Builder
	r := NewReader(in, o)
	for {
		t, err := r.Next()
		if err != nil {
			if err != io.EOF {
				fmt.Fprintf(&b, "error %v", err)
			}
			return b.String()
		}
		fmt.Fprintf(&b, "%d:%d ", t.Line, t.Offset)
		switch t.Kind {
		case Start:
			fmt.Fprintf(&b, "<%s", t.Name)
			if t.Empty {
				b.WriteString("/")
			}
		case End:
			fmt.Fprintf(&b, "/%s", t.Name)
		case Text:
			fmt.Fprintf(&b, "text %q", t.Text)
			if t.Blank {
				b.WriteString(" blank")
			}
		case CDATA:
			fmt.Fprintf(&b, "cdata %q", t.Text)
		case Comment:
			fmt.Fprintf(&b, "comment %q", t.Text)
		case Instruction:
			fmt.Fprintf(&b, "?%s %q", t.Name, t.Text)
		case Declaration:
			b.WriteString("declaration")
		case Doctype:
			fmt.Fprintf(&b, "doctype %q", t.Text)
		}
		for _, a := range t.Attributes {
			fmt.Fprintf(&b, " %s=%q", a.Name, a.Value)
		}
		b.WriteString("\n")
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		o    Options
		want string
	}{
		{`<a/>`, Options{}, "1:0 <a/\n1:4 /a\n"},
		{`<a></a >`, Options{}, "1:0 <a\n1:3 /a\n"},
		{"<a b = '1'\n c=\"x 'y'\" />", Options{}, "1:0 <a/ b=\"1\" c=\"x 'y'\"\n2:24 /a\n"},
		{"<a>\n <b>x</b>\r\n</a>\n", Options{}, "1:0 <a\n1:3 text \"\\n \" blank\n2:5 <b\n2:8 text \"x\"\n2:9 /b\n2:13 text \"\\r\\n\" blank\n3:15 /a\n"},
		{`<a b="&lt;&#x41;&amp;">&gt;1&#10;&apos;&quot;z</a>`, Options{}, "1:0 <a b=\"<A&\"\n1:23 text \">1\\n'\\\"z\"\n1:46 /a\n"},
		{`<a><![CDATA[<b>]] >]]]></a>`, Options{}, "1:0 <a\n1:3 cdata \"<b>]] >]\"\n1:23 /a\n"},
		{`<a><![CDATA[]]></a>`, Options{}, "1:0 <a\n1:3 cdata \"\"\n1:15 /a\n"},
		{`<!-- - - --><?p  d ?><a><?q?></a><!---->`, Options{}, "1:0 comment \" - - \"\n1:12 ?p \"d \"\n1:21 <a\n1:24 ?q \"\"\n1:29 /a\n1:33 comment \"\"\n"},
		{`<?xml version='1.0' encoding="utf-8" standalone='yes' ?><a/>`, Options{}, "1:0 declaration version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"\n1:56 <a/\n1:60 /a\n"},
		{`<?xml version="1.0" standalone="no"?><?xml-stylesheet href="a"?><a/>`, Options{}, "1:0 declaration version=\"1.0\" standalone=\"no\"\n1:37 ?xml-stylesheet \"href=\\\"a\\\"\"\n1:64 <a/\n1:68 /a\n"},
		{`<ä:é-1·.x ü="€"/>`, Options{}, "1:0 <ä:é-1·.x/ ü=\"€\"\n1:23 /ä:é-1·.x\n"},
		{`<a>]] ]> > ] "'</a>`, Options{}, "1:0 <a\n1:3 text \"]] ]> > ] \\\"'\"\n1:15 /a\n"},

		// What is blank, as XmlDocument sees it.
		{`<a>&#32;</a>`, Options{}, "1:0 <a\n1:3 text \" \"\n1:8 /a\n"},
		{`<a> &#x20; </a>`, Options{}, "1:0 <a\n1:3 text \"   \" blank\n1:11 /a\n"},
		{`<a> &#x41;</a>`, Options{}, "1:0 <a\n1:3 text \" A\"\n1:10 /a\n"},

		{`<!DOCTYPE nmaprun ><nmaprun/>`, Options{Doctype: BareDoctype}, "1:0 doctype \"nmaprun\" name=\"nmaprun\"\n1:19 <nmaprun/\n1:29 /nmaprun\n"},
		{`<!DOCTYPE a PUBLIC "-//X//Y" 'a.dtd'><a/>`, Options{Doctype: KeepDoctype}, "1:0 doctype \"a PUBLIC \\\"-//X//Y\\\" 'a.dtd'\" name=\"a\" public=\"-//X//Y\" system=\"a.dtd\"\n1:37 <a/\n1:41 /a\n"},
		{`<!DOCTYPE a [<!ENTITY e "]>"><!-- ' ]> --><?p ]>?>%p; ]><a/>`, Options{Doctype: KeepDoctype}, "1:0 doctype \"a [<!ENTITY e \\\"]>\\\"><!-- ' ]> --><?p ]>?>%p; ]\" name=\"a\" internalSubset=\"<!ENTITY e \\\"]>\\\"><!-- ' ]> --><?p ]>?>%p; \"\n1:56 <a/\n1:60 /a\n"},

		{"<a/>\n<b/>", Options{Roots: true}, "1:0 <a/\n1:4 /a\n2:5 <b/\n2:9 /b\n"},
		{"<?xml version=\"1.0\"?><a/>\n<?xml version=\"1.0\"?><!DOCTYPE b><b/>", Options{Roots: true, Doctype: BareDoctype}, "1:0 declaration version=\"1.0\"\n1:21 <a/\n1:25 /a\n2:26 declaration version=\"1.0\"\n2:47 doctype \"b\" name=\"b\"\n2:59 <b/\n2:63 /b\n"},

		{`<Loss%> 40.0%</Loss%>`, Options{Lenient: true}, "1:0 <Loss%\n1:7 text \" 40.0%\"\n1:13 /Loss%\n"},
		{`<a b="&#x0;">&#1;&#xFFFF;&#99999999999;</a>`, Options{Lenient: true}, "1:0 <a b=\"\ufffd\"\n1:13 text \"\ufffd\ufffd\ufffd\"\n1:39 /a\n"},
	} {
		if got := told(strings.NewReader(c.text), c.o); got != c.want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
}

// fault is that of a text, which must have one.
func fault(t *testing.T, in io.Reader, o Options) *Fault {
	t.Helper()
	r := NewReader(in, o)
	for {
		_, err := r.Next()
		if err == nil {
			continue
		}
		var f *Fault
		if !errors.As(err, &f) {
			t.Errorf("got the error %v, want a fault", err)
			return &Fault{}
		}
		if _, again := r.Next(); again != err {
			t.Errorf("the next call says %v, want the same fault", again)
		}
		return f
	}
}
