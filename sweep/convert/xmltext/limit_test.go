package xmltext

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d=''", i)
	}
	return b.String()
}

// At a limit a text is read, one byte beyond it is not.
func TestLimits(t *testing.T) {
	const maxText = 300_000 // what a text may really have takes too long
	if r := NewReader(nil, Options{}); r.maxText != MaxTextBytes {
		t.Errorf("a text may have %d bytes, want %d", r.maxText, MaxTextBytes)
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		at, beyond string
		o          Options
	}{
		"depth": {
			at:     strings.Repeat("<a>", MaxDepth) + strings.Repeat("</a>", MaxDepth),
			beyond: strings.Repeat("<a>", MaxDepth) + "<a/>" + strings.Repeat("</a>", MaxDepth),
		},
		"attributes":  {at: "<a" + attributes(MaxAttributes) + "/>", beyond: "<a" + attributes(MaxAttributes+1) + "/>"},
		"name":        {at: "<" + long(MaxNameBytes) + "/>", beyond: "<" + long(MaxNameBytes+1) + "/>"},
		"tag":         {at: "<a b='" + long(MaxTagBytes-9) + "'/>", beyond: "<a b='" + long(MaxTagBytes-8) + "'/>"},
		"end tag":     {at: "<a></a" + strings.Repeat(" ", MaxTagBytes-4) + ">", beyond: "<a></a" + strings.Repeat(" ", MaxTagBytes-3) + ">"},
		"comment":     {at: "<a><!--" + long(MaxTagBytes) + "--></a>", beyond: "<a><!--" + long(MaxTagBytes+1) + "--></a>"},
		"instruction": {at: "<a><?p " + long(MaxTagBytes) + "?></a>", beyond: "<a><?p " + long(MaxTagBytes+1) + "?></a>"},
		"declaration": {
			at:     "<?xml version='1.0'" + strings.Repeat(" ", MaxTagBytes-21) + "?><a/>",
			beyond: "<?xml version='1.0'" + strings.Repeat(" ", MaxTagBytes-20) + "?><a/>",
		},
		"doctype": {
			at:     "<!DOCTYPE a SYSTEM '" + long(MaxTagBytes-22) + "'><a/>",
			beyond: "<!DOCTYPE a SYSTEM '" + long(MaxTagBytes-21) + "'><a/>", o: Options{Doctype: KeepDoctype},
		},
		"text":      {at: "<a>" + long(maxText) + "</a>", beyond: "<a>" + long(maxText+1) + "</a>"},
		"CDATA":     {at: "<a><![CDATA[" + long(maxText) + "]]></a>", beyond: "<a><![CDATA[" + long(maxText+1) + "]]></a>"},
		"reference": {at: "<a>&#" + strings.Repeat("0", MaxNameBytes-4) + "65;</a>", beyond: "<a>&#" + strings.Repeat("0", MaxNameBytes) + "65;</a>"},
	} {
		at, beyond := NewReader(strings.NewReader(c.at), c.o), NewReader(strings.NewReader(c.beyond), c.o)
		at.maxText, beyond.maxText = maxText, maxText
		if got := lastError(at); got != io.EOF {
			t.Errorf("%s: got %v at the limit, want it read", name, got)
		}
		f, ok := lastError(beyond).(*Fault)
		if !ok || !f.Limit || f.Cut {
			t.Errorf("%s: got %v beyond the limit, want a limit", name, f)
		}
	}
}

// end is the error that a text ends with.
func end(in io.Reader, o Options) error { return lastError(NewReader(in, o)) }

func lastError(r *Reader) error {
	for {
		if _, err := r.Next(); err != nil {
			return err
		}
	}
}

// A text of any size is read in the memory that its largest token needs.
func TestMemoryDoesNotGrow(t *testing.T) {
	sample := "<s t=\"12\" lb=\"a &amp; b\"><r>text &lt; text</r><![CDATA[x]]><!-- c --></s>\n"
	in := io.MultiReader(strings.NewReader("<a>\n"), &repeated{text: sample, left: 40_000}, strings.NewReader("</a>"))
	r := NewReader(in, Options{})
	tokens := 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tokens++
	}
	if want := 3 + 40_000*8; tokens != want {
		t.Errorf("got %d tokens, want %d", tokens, want)
	}
	if len(r.buf) != usualBuffer || cap(r.resolved) > 1<<10 || cap(r.names) > 1<<10 {
		t.Errorf("the buffer has %d bytes, want %d; %d of resolved text, %d of names", len(r.buf), usualBuffer, cap(r.resolved), cap(r.names))
	}
}

// repeated gives a text again and again.
type repeated struct {
	text string
	left int
	rest string
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.text
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Reading tokens allocates nothing once the buffers are there.
func TestNextDoesNotAllocate(t *testing.T) {
	in := io.MultiReader(strings.NewReader("<a>"), &repeated{text: "<s t=\"1\" u='&#65;'>x&amp;y<b/><![CDATA[]]></s>\n", left: 1 << 20})
	r := NewReader(in, Options{})
	next := func() {
		for range 100 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	next()
	if got := testing.AllocsPerRun(1000, next); got != 0 {
		t.Errorf("100 tokens allocate %v times, want 0", got)
	}
}

func BenchmarkNext(b *testing.B) {
	sample := "<sample t=\"12\" lt=\"3\" ts=\"1167500000000\" s=\"true\" lb=\"home\" rc=\"200\">\n  <url>http://192.0.2.1/a?b=1&amp;c=2</url>\n</sample>\n"
	text := "<results>\n" + strings.Repeat(sample, 10_000) + "</results>"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := end(strings.NewReader(text), Options{}); err != io.EOF {
			b.Fatal(err)
		}
	}
}
