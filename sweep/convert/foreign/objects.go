package foreign

import (
	"bufio"
	"fmt"
	"io"
)

// maxObjectBytes bounds one object of a text that is read object by object.
const maxObjectBytes = 1 << 20

// jsonObjects takes the objects out of a text one by one, in constant memory, whether they are an
// array's or stand one on a line.
type jsonObjects struct {
	in     *bufio.Reader
	line   int   // of the next byte, from 1
	offset int64 // of the next byte
	column int   // of the next byte, from 0
	arrays int   // arrays around the objects that are not ended
	object []byte
	// Where the object begins.
	beginLine, beginColumn int
	beginOffset            int64
}

func newJSONObjects(in io.Reader) *jsonObjects {
	return &jsonObjects{in: bufio.NewReaderSize(in, 64<<10), line: 1}
}

func (o *jsonObjects) byte() (byte, error) {
	c, err := o.in.ReadByte()
	if err != nil {
		return 0, err
	}
	o.offset++
	o.column++
	if c == '\n' {
		o.line, o.column = o.line+1, 0
	}
	return c, nil
}

// fault is a Fault where the object begins.
func (o *jsonObjects) fault(reason string) *Fault {
	return &Fault{Line: o.beginLine, Offset: o.beginOffset, Reason: reason}
}

// next gives the text of the next object, which is good until the next call. The error is io.EOF, a
// *Fault for a part that is left out (the next call goes on behind it), or in's own.
func (o *jsonObjects) next() ([]byte, error) {
	for {
		o.beginLine, o.beginColumn, o.beginOffset = o.line, o.column, o.offset
		c, err := o.byte()
		if err == io.EOF && o.arrays > 0 {
			o.arrays = 0
			return nil, o.fault("the array is not ended: results may be missing")
		}
		if err != nil {
			return nil, err
		}
		switch c {
		case '{':
			return o.rest()
		case '[':
			o.arrays++
		case ']':
			o.arrays = max(o.arrays-1, 0)
		case ' ', '\t', '\r', '\n', ',':
		default:
			if err := o.skipJunk(); err != nil && err != io.EOF {
				return nil, err
			}
			return nil, o.fault(fmt.Sprintf("%q stands where an object should", c))
		}
	}
}

// skipJunk goes to the end of the line, or to the next object.
func (o *jsonObjects) skipJunk() error {
	for {
		next, err := o.in.Peek(1)
		if err != nil {
			return err
		}
		if next[0] == '{' || next[0] == '\n' {
			return nil
		}
		if _, err := o.byte(); err != nil {
			return err
		}
	}
}

// rest reads an object to its end. A brace that begins a line like the object itself begins the next
// one: this one was cut off.
func (o *jsonObjects) rest() ([]byte, error) {
	o.object = append(o.object[:0], '{')
	depth, quoted, escaped, long := 1, false, false, false
	for depth > 0 {
		if o.column == 0 && o.beginColumn == 0 {
			if next, err := o.in.Peek(1); err == nil && next[0] == '{' {
				return nil, o.fault("the result is cut off")
			}
		}
		c, err := o.byte()
		if err == io.EOF {
			o.arrays = 0 // its missing end need not be told as well
			return nil, o.fault("it ends inside a result")
		}
		if err != nil {
			return nil, err
		}
		if long = long || len(o.object) >= maxObjectBytes; !long {
			o.object = append(o.object, c)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	if long {
		return nil, o.fault("a result of more than 1 MiB")
	}
	return o.object, nil
}
