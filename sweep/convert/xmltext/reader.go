package xmltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The buffer begins small, for the many documents that are, and soon has its usual size; a larger token
// makes it larger.
const (
	firstBuffer = 4 << 10
	usualBuffer = 64 << 10
)

// errShort says inside this package that the bytes at hand end before the token does.
var errShort = errors.New("more bytes are needed")

// Reader reads tokens. It is not safe for concurrent use.
type Reader struct {
	in      io.Reader
	o       Options
	maxText int // Options.MaxText

	buf      []byte
	pos, end int   // buf[pos:end] was read and is not consumed
	base     int64 // bytes of the text in front of buf[0]
	line     int   // of buf[pos]
	inErr    error // what the reader ended with
	failed   error // what Next answers from now on

	token      Token
	attributes []Attribute
	resolved   []byte // texts in which references were resolved

	names []byte // of the open elements, one behind the other
	open  []element
	empty bool // the end of an empty element comes next

	roots   int
	fresh   bool // a declaration may stand here
	rooted  bool // this document's root element has begun
	doctype bool // this document has a document type declaration
	owed    bool // a root element must follow
}

// element is an open one: where its name begins in Reader.names, and the line of its tag.
type element struct{ name, line int }

// NewReader reads UTF-8 text without a byte-order mark. What the declaration says of the encoding is
// the caller's to look at.
func NewReader(in io.Reader, o Options) *Reader {
	maxText := MaxTextBytes
	if o.MaxText > 0 {
		maxText = min(maxText, o.MaxText)
	}
	return &Reader{in: in, o: o, maxText: maxText, buf: make([]byte, firstBuffer), line: 1, fresh: true}
}

// Next reads the next token. At the end of a whole document the error is io.EOF; a *Fault is
// something wrong with the text; any other error is the reader's.
func (r *Reader) Next() (*Token, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	for {
		b := r.buf[r.pos:r.end]
		r.token = Token{Offset: r.offset(0), Line: r.line}
		n, err := r.scan(b)
		switch {
		case err == errShort && r.fill(len(b)):
		case err == errShort:
			r.failed = r.cut(b)
			return nil, r.failed
		case err != nil:
			r.failed = err
			return nil, err
		default:
			r.consume(n)
			if r.token.Kind != 0 {
				return &r.token, nil
			}
		}
	}
}

// scan looks at the token at the start of b, and says how many bytes it has. White space outside the
// root element is no token.
func (r *Reader) scan(b []byte) (int, error) {
	if r.empty {
		r.empty = false
		r.pop()
		return 0, nil
	}
	if len(b) == 0 {
		return 0, errShort
	}
	if b[0] != '<' {
		if len(r.open) == 0 {
			return r.outside(b)
		}
		return r.text(b)
	}
	if len(b) < 2 {
		return 0, errShort
	}
	switch b[1] {
	case '/':
		return r.endTag(b)
	case '!':
		return r.markup(b)
	case '?':
		return r.instruction(b)
	}
	return r.startTag(b)
}

// outside skips white space outside the root element.
func (r *Reader) outside(b []byte) (int, error) {
	n := skipSpace(b, 0)
	if n == len(b) || b[n] == '<' {
		if r.roots == 0 {
			r.fresh = false
		}
		return n, nil
	}
	const mark = "\ufeff"
	if start := b[:min(len(b), len(mark))]; r.offset(n) == 0 && strings.HasPrefix(mark, string(start)) {
		if len(start) < len(mark) {
			return 0, errShort
		}
		return 0, r.fault(0, "data at the root level: a byte-order mark, U+FEFF, as text")
	}
	if r.roots == 0 {
		return 0, r.fault(n, "data at the root level: this is not XML, which begins with <")
	}
	return 0, r.fault(n, "data at the root level: there is text behind the root element")
}

// fill reads until there are about twice as many bytes as the had, so that looking at a token again
// from its start takes time in proportion to its size. It says whether there is any more.
func (r *Reader) fill(had int) bool {
	if r.inErr != nil {
		return false
	}
	want := min(max(2*had, 1), r.maxText+MaxTagBytes+usualBuffer)
	if r.pos+want > len(r.buf) {
		into := r.buf
		if want > len(into) || len(into) < usualBuffer {
			into = make([]byte, max(want, min(4*len(into), max(2*len(into), usualBuffer))))
		}
		copy(into, r.buf[r.pos:r.end])
		r.base += int64(r.pos)
		r.buf, r.pos, r.end = into, 0, r.end-r.pos
	}
	for idle := 0; r.end-r.pos < want && r.inErr == nil; {
		n, err := r.in.Read(r.buf[r.end:])
		r.end += n
		r.inErr = err
		if n > 0 {
			idle = 0
		} else if idle++; idle > 100 && err == nil {
			r.inErr = io.ErrNoProgress
		}
	}
	return r.end-r.pos > had
}

// cut is the error of a text that ends with b, which is no whole token.
func (r *Reader) cut(b []byte) error {
	if r.inErr != io.EOF {
		return r.inErr
	}
	f := &Fault{Offset: r.offset(len(b)), Line: r.line + bytes.Count(b, []byte{'\n'}), Cut: true}
	switch {
	case len(r.open) > 0:
		e := r.open[len(r.open)-1]
		f.Text = fmt.Sprintf("the text ends before the end of the element %s of line %d", clip(r.names[e.name:]), e.line)
	case len(b) > 0:
		f.Text = "the text ends inside a tag"
	case r.roots == 0 && f.Offset == 0:
		f.Text = "the text is empty: the root element is missing"
	case r.roots == 0 || r.owed:
		f.Text = "the text ends before the root element"
	default:
		return io.EOF
	}
	return f
}

// consume goes on behind n bytes.
func (r *Reader) consume(n int) {
	r.line += bytes.Count(r.buf[r.pos:r.pos+n], []byte{'\n'})
	r.pos += n
}

// offset is how many bytes of the text are in front of the one i bytes on.
func (r *Reader) offset(i int) int64 { return r.base + int64(r.pos+i) }

// fault is one i bytes on.
func (r *Reader) fault(i int, format string, a ...any) *Fault {
	line := r.line + bytes.Count(r.buf[r.pos:r.pos+i], []byte{'\n'})
	return &Fault{Offset: r.offset(i), Line: line, Text: fmt.Sprintf(format, a...)}
}

// limit is the fault of a token that is larger than it may be.
func (r *Reader) limit(format string, a ...any) *Fault {
	f := r.fault(0, format, a...)
	f.Limit = true
	return f
}

// clip quotes a name, or the start of a long one.
func clip(name []byte) string {
	if len(name) > 60 {
		return fmt.Sprintf("%.60q…", name)
	}
	return fmt.Sprintf("%q", name)
}
