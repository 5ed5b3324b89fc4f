// Package jsontext reads JSON that other programs wrote, as it comes: a text that was cut off gives
// what stands in front of the cut, every value knows where it stands, and a number is its digits.
//
// A text is hostile until it has been read. It is parsed once, into a flat list of entries of a few
// bytes each, in bounded depth and number; nothing else is built from it but what the caller asks
// for. What encoding/json decides silently is an error here, at the place where it matters: of two
// members of one name neither is taken, and a number that does not fit is not rounded.
package jsontext

import (
	"bytes"
	"fmt"
)

// The limits of one text.
const (
	MaxDepth = 100
	// MaxValues counts values, and the names of members too. The densest that a tool writes has one in
	// about ten bytes: so many are in the longest document there may be, and take 32 MiB.
	MaxValues = 2 << 20
)

// Fault says what is wrong with a text, and where.
type Fault struct {
	Offset int64 // bytes in front of the place
	Line   int   // from 1
	Text   string
	// Cut says that the text ends too early: all in front of the place may be trusted.
	Cut bool
	// Limit says that a limit was reached: what is behind the place was not looked at.
	Limit bool
}

// Error gives line, offset and reason.
func (f *Fault) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", f.Line, f.Offset, f.Text)
}

// Kind is what a value is.
type Kind uint8

// The kinds of values.
const (
	Absent Kind = iota // no such value
	Null
	Truth
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "true or false", "a number", "a string", "an array", "an object"}

// String says what a value of the kind is, for people.
func (k Kind) String() string { return kindNames[k] }

// entry is one value, or the name of a member in front of its value. Those inside an array or
// object follow it; next is the entry behind all of them.
type entry struct {
	kind       Kind
	name       bool
	escaped    bool // a string or name with a backslash in it
	cut        bool // an array or object that the text does not end
	start, end uint32
	next       uint32
}

// Text is a parsed text.
type Text struct {
	body    []byte
	entries []entry
	lines   []uint32 // where each line begins, as far as was asked for
	counted int      // bytes in which lines were counted
}

// Options are for texts that are not quite JSON.
type Options struct {
	// NaN takes a bare nan, NaN, inf, Infinity and their negatives, as printf writes them, for null.
	NaN bool
	// Trailing allows anything behind the value; Rest tells where it begins.
	Trailing bool
}

// Parse reads one value. With a fault comes what stands in front of it, as far as it went: arrays and
// objects that are not ended hold what they have, and Root is Absent when not even that is there.
// The body must not be changed while the Text is in use.
func Parse(body []byte, o Options) (*Text, *Fault) {
	p := &parser{t: &Text{body: body}, o: o}
	err := p.text()
	return p.t, err
}

// Root is the whole value.
func (t *Text) Root() Value {
	if len(t.entries) == 0 {
		return Value{}
	}
	return Value{t, 0}
}

// Rest is what follows the root value, blanks left out.
func (t *Text) Rest() []byte {
	if len(t.entries) == 0 {
		return nil
	}
	return bytes.TrimLeft(t.body[t.entries[0].end:], " \t\r\n")
}
