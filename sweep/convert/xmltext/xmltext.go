// Package xmltext reads XML token by token, from a stream, in memory that does not grow with it.
//
// encoding/xml cannot tell what the rules of Json.NET rest on: <a/> from <a></a>, CDATA from text,
// the prefixes and the order of declarations as they were written. It gathers all attributes of a tag
// before anyone can count them, and is too slow for a gigabyte. So this is a reader of its own:
// well-formedness is checked (XML 1.0, fifth edition), everything is bounded, DTDs are never
// interpreted, and no entity but the five of XML and character references is known.
package xmltext

import "fmt"

// The limits of one text.
const (
	MaxDepth      = 500
	MaxAttributes = 256       // of one element
	MaxTagBytes   = 256 << 10 // of one tag, declaration, instruction or comment
	MaxTextBytes  = 32 << 20  // of one run of text or CDATA section
	MaxNameBytes  = 4 << 10   // of one name
)

// Kind is what a token is.
type Kind uint8

// The kinds of tokens.
const (
	Start Kind = iota + 1 // of an element; Empty tells <a/> from <a>
	End                   // of an element; after an empty one too
	Text                  // a run of text, references resolved, line ends as they are written
	CDATA
	Comment
	Instruction // Name is its target, Text its data
	Declaration // <?xml …?>: Attributes are version, encoding, standalone as given
	// Doctype: Text is all between <!DOCTYPE and >, trimmed; Attributes are name, public, system and
	// internalSubset, those that are there.
	Doctype
)

// Attribute is one attribute or namespace declaration of a tag, as it was written.
type Attribute struct {
	Name  []byte // with its prefix
	Value []byte // references resolved
}

// Token is one token. Its slices are good until the next call of Next.
type Token struct {
	Kind       Kind
	Name       []byte // of an element, with its prefix, or of an instruction
	Attributes []Attribute
	Empty      bool   // a Start written <a/>
	Text       []byte // of Text, CDATA, Comment, Instruction, Doctype
	// Blank says of Text that it is white space alone, as it is written: character references
	// other than decimal ones to white space count as white space (see the rules of Json.NET).
	Blank  bool
	Offset int64 // bytes in front of the token
	Line   int   // from 1
}

// Attribute is the value of the attribute of a name, and whether there is one.
func (t *Token) Attribute(name string) (value []byte, ok bool) {
	for i := range t.Attributes {
		if string(t.Attributes[i].Name) == name {
			return t.Attributes[i].Value, true
		}
	}
	return nil, false
}

// Doctypes says what becomes of a document type declaration.
type Doctypes uint8

// What becomes of a document type declaration.
const (
	// RefuseDoctype: it is a fault.
	RefuseDoctype Doctypes = iota
	// BareDoctype: one that is a name alone, as nmap writes, is a token; one with an external
	// identifier or declarations of its own is a fault.
	BareDoctype
	// KeepDoctype: it is a token, whatever it holds; nothing in it is ever interpreted.
	KeepDoctype
)

// Options are for texts that are not quite XML.
type Options struct {
	Doctype Doctypes
	// Roots allows several root elements, one behind the other: some tools append to their file.
	Roots bool
	// MaxText is the most bytes of one run of text or CDATA section, up to MaxTextBytes, which 0 stands
	// for too.
	MaxText int
	// Lenient takes what tools are known to write: names with a percent sign (mtr), and references
	// to characters that XML 1.0 has not (JMeter), which become U+FFFD.
	Lenient bool
}

// Fault says what is wrong with a text, and where.
type Fault struct {
	Offset int64 // bytes in front of the place
	Line   int   // from 1
	Text   string
	// Cut says that the text ends too early: all tokens before may be trusted.
	Cut bool
	// Limit says that a limit was reached.
	Limit bool
	// Doctype says that the options refuse a document type declaration.
	Doctype bool
}

// Error gives line, offset and reason.
func (f *Fault) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", f.Line, f.Offset, f.Text)
}
