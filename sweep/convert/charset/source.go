package charset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// counted counts what was read of the body, and says its error again when it is asked again: those
// who peek swallow it.
type counted struct {
	in  io.Reader
	n   int64
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.in.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// failed is the body's own error, if it has one.
func (c *counted) failed() error {
	if c.err != nil && !errors.Is(c.err, io.EOF) {
		return c.err
	}
	return nil
}

// checked passes UTF-8 on and knows the place: it gives faults their offset, and finds NULs.
type checked struct {
	in     io.Reader
	offset int64
	line   int
	err    error
}

func (c *checked) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	n, err := c.in.Read(p)
	if at := bytes.IndexByte(p[:n], 0); at >= 0 {
		n, err = at, &invalid{why: "a NUL stands in the text", remedy: "send text; if it is UTF-16, begin it with a byte-order mark"}
	}
	c.offset += int64(n)
	c.line += bytes.Count(p[:n], []byte{'\n'})
	c.err = err
	if bad, ok := errors.AsType[*invalid](err); ok {
		c.err = &Fault{Offset: c.offset, Reason: fmt.Sprintf("%s, in line %d", bad.why, c.line), Remedy: bad.remedy}
	} else if fault, ok := errors.AsType[*Fault](err); ok && fault.Offset < 0 {
		placed := *fault
		placed.Offset = c.offset
		c.err = &placed
	}
	return n, c.err
}

// limited stops with a fault behind the most bytes.
type limited struct {
	in         io.Reader
	most, left int64
	err        error
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if l.left > 0 {
		n, err := l.in.Read(p[:min(int64(len(p)), l.left)])
		l.left -= int64(n)
		return n, err
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.in.Read(make([]byte, 1))
	if n > 0 {
		err = &Fault{Offset: l.most, Reason: fmt.Sprintf("it holds more than %d bytes of text", l.most), Remedy: remedySplit, TooLarge: true}
	}
	l.err = err
	return 0, err
}

// held is a text in memory.
type held []byte

// hold reads the rest of a text that is to be undone in memory.
func hold(text io.Reader, name string, most int64) (held, error) {
	b, err := io.ReadAll(io.LimitReader(text, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, &Fault{Offset: most, Reason: fmt.Sprintf("what begins as %s has more than %d bytes", name, most), Remedy: "send the document itself, packed with gzip if it must be small", TooLarge: true, unheld: true}
	}
	return b, nil
}

func (h held) reader() io.Reader { return bytes.NewReader(h) }
