// Package xmljson turns XML into JSON the way that json(xml(…)) of Logic Apps and Json.NET's
// XmlNodeConverter do it, so that what is written against one can be read from the other.
//
// A document becomes a tree in a few slices, because neither an array nor the place of a key is known
// before the parent's last child. Keys are found when the tree is written: they hang on the namespaces
// that the converter has in scope then, which are not always those of the text.
package xmljson

import (
	"io"
	"sync"

	"isochrone/sweep/convert/xmltext"
)

// The limits of one document, beside those of xmltext.
const (
	// MaxTreeBytes is what its tree may take of memory, unless Options say otherwise. XML that is
	// written to be read takes three times its text; of nothing but empty elements, ten times.
	MaxTreeBytes  = 1 << 30
	MaxNamespaces = 1024 // declarations in scope at once
	// MaxPrefixBytes is what a declared prefix may have: it comes to stand in front of keys whose
	// element has none.
	MaxPrefixBytes = 100
)

// Options are for what the rules leave to the caller.
type Options struct {
	// Doctype keeps a document type declaration as !DOCTYPE; otherwise it is refused. Nothing in it
	// is ever interpreted.
	Doctype bool
	// Arrays are the names of elements, with their prefixes as they are written, that are always
	// arrays. It does what json:Array="true" does, but that an empty element stays null or "".
	Arrays []string
	// Indent writes one member a line, indented with it; empty: all in one line.
	Indent string
	// MaxTree is the most bytes that the tree may take, up to MaxTreeBytes, which 0 stands for too.
	MaxTree int64
	// Size is how many bytes the text has, if that is known: memory is taken by it.
	Size int64
}

// Convert reads one XML document, UTF-8 without a byte-order mark, and writes it as JSON, without a
// newline behind it. The error is an *xmltext.Fault when the text is at fault; any other is in's or
// out's own. Nothing is written before the whole document has been read.
func Convert(out io.Writer, in io.Reader, o Options) error {
	c := converters.Get().(*converter)
	err := c.convert(out, in, o)
	if cap(c.arena) <= keptBytes && max(cap(c.nodes), cap(c.attributes)) <= keptNodes {
		converters.Put(c)
	}
	return err
}

// What a converter may have grown to and still be kept: those of small documents are worth it, those
// of large ones would hold their memory.
const (
	keptBytes = 1 << 20
	keptNodes = 1 << 15
)

// converter is the memory of one conversion.
type converter struct {
	builder
	writer writer
}

var converters = sync.Pool{New: func() any {
	c := &converter{builder: builder{tree: newTree(), scope: newScope(), arrays: map[string]bool{}}}
	c.writer = writer{tree: &c.tree, keys: newKeys(&c.tree)}
	return c
}}

func (c *converter) convert(out io.Writer, in io.Reader, o Options) error {
	c.reset(o)
	xo := xmltext.Options{MaxText: int(c.most / 8)} // which is there several times while it is read
	if o.Doctype {
		xo.Doctype = xmltext.KeepDoctype
	}
	r := xmltext.NewReader(in, xo)
	for {
		t, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = c.take(t)
		}
		if err != nil {
			return err
		}
	}
	return c.writer.document(out, o.Indent)
}
