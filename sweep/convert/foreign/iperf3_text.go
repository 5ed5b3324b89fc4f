package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"

	"isochrone/sweep/convert/jsontext"
)

// iperf3Member is the most text that one member of a document, or one interval, may have. A member of
// which nothing is read may have any length.
const iperf3Member = 4 << 20

// iperf3Begins is how a document begins, or a line of a stream: what is told from an object inside one.
var iperf3Begins = regexp.MustCompile(`^\{\s*"(start"\s*:\s*\{|event"\s*:\s*")`)

// iperf3Text takes a text apart into objects that follow each other, and those into their members, in
// memory that does not grow with the text. iperf3 writes all intervals of a run as one array: its
// values are handed over one by one.
type iperf3Text struct {
	in     *bufio.Reader
	offset int64
	line   int
	buffer []byte
}

// iperf3Part is a member of an object, or one value of its intervals.
type iperf3Part struct {
	name         string
	raw          []byte // good until the next part
	offset       int64
	line         int
	cut, tooLong bool
}

// What ends an object too early.
var (
	errIperf3Cut    = errors.New("the text ends inside it")
	errIperf3Begins = errors.New("another document begins inside it")
	errIperf3Broken = errors.New("it is not JSON from here on")
)

// next reads the next object and hands its parts over. Whole is false where the object does not end;
// broken says why. The error is io.EOF at the end of the text, or the reader's own.
func (t *iperf3Text) next(take func(iperf3Part) error) (whole bool, broken, err error) {
	if err := t.find(); err != nil {
		return false, nil, err
	}
	err = t.object(take)
	switch {
	case err == nil:
		return true, nil, nil
	case errors.Is(err, errIperf3Cut), errors.Is(err, errIperf3Begins), errors.Is(err, errIperf3Broken):
		if errors.Is(err, errIperf3Broken) {
			if err := t.skipBroken(); err != nil && !errors.Is(err, io.EOF) {
				return false, nil, err
			}
		}
		return false, err, nil
	}
	return false, nil, err
}

// find goes on to where the next object begins. Documents may stand in an array; a line that begins
// with anything else is what a shell or a logger wrote between them.
func (t *iperf3Text) find() error {
	for {
		c, err := t.skipBlanks()
		switch {
		case err != nil:
			return err
		case c == '{':
			return nil
		case c == '[' || c == ']' || c == ',':
			t.read()
			continue
		}
		if err := t.skipLine(); err != nil {
			return err
		}
	}
}

// skipBroken goes on to the line at which another document begins.
func (t *iperf3Text) skipBroken() error {
	for {
		if err := t.skipLine(); err != nil {
			return err
		}
		if t.beginsAnother() {
			return nil
		}
	}
}

func (t *iperf3Text) skipLine() error {
	for {
		switch c, err := t.read(); {
		case err != nil:
			return err
		case c == '\n':
			return nil
		}
	}
}

func (t *iperf3Text) read() (byte, error) {
	c, err := t.in.ReadByte()
	if err != nil {
		return 0, err
	}
	t.offset++
	if c == '\n' {
		t.line++
	}
	return c, nil
}

// peek is the next byte. Inside an object the end of the text is errIperf3Cut.
func (t *iperf3Text) peek() (byte, error) {
	b, err := t.in.Peek(1)
	if len(b) == 0 {
		return 0, err
	}
	return b[0], nil
}

// skipBlanks is the next byte that is not blank, which is not read.
func (t *iperf3Text) skipBlanks() (byte, error) {
	for {
		c, err := t.peek()
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, err
		}
		t.read()
	}
}

// inside is skipBlanks inside an object, which the text must not end.
func (t *iperf3Text) inside() (byte, error) {
	for {
		c, err := t.peek()
		switch {
		case errors.Is(err, io.EOF):
			return 0, errIperf3Cut
		case err != nil:
			return 0, err
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, nil
		}
		t.read()
		if c == '\n' && t.beginsAnother() {
			return 0, errIperf3Begins
		}
	}
}

// beginsAnother says whether another document begins here, at the beginning of a line.
func (t *iperf3Text) beginsAnother() bool {
	if c, _ := t.peek(); c != '{' {
		return false
	}
	head, _ := t.in.Peek(64)
	return iperf3Begins.Match(head)
}

func (t *iperf3Text) object(take func(iperf3Part) error) error {
	t.read() // the brace
	for first := true; ; first = false {
		c, err := t.inside()
		switch {
		case err != nil:
			return err
		case c == '}':
			t.read()
			return nil
		case c == ',' && !first:
			t.read()
		case !first:
			return errIperf3Broken
		}
		name, err := t.name()
		if err != nil {
			return err
		}
		c, err = t.inside()
		if err == nil && name == "intervals" && c == '[' {
			err = t.values(name, take)
		} else if err == nil {
			err = t.member(name, take)
		}
		if err != nil {
			return err
		}
	}
}

// name reads a member's name and the colon.
func (t *iperf3Text) name() (string, error) {
	c, err := t.inside()
	if err != nil {
		return "", err
	}
	if c != '"' {
		return "", errIperf3Broken
	}
	p, err := t.value(true)
	if err != nil {
		return "", err
	}
	text, fault := jsontext.Parse(p.raw, jsontext.Options{})
	if fault != nil {
		return "", errIperf3Broken
	}
	name := text.Root().Text()
	if c, err = t.inside(); err != nil {
		return "", err
	}
	if c != ':' {
		return "", errIperf3Broken
	}
	t.read()
	return name, nil
}

// member hands a member over; also one that the text does not end.
func (t *iperf3Text) member(name string, take func(iperf3Part) error) error {
	p, err := t.value(iperf3Read[name])
	if err != nil && len(p.raw) == 0 {
		return err
	}
	p.name = name
	if p.cut = err != nil; p.cut || iperf3Read[name] {
		if err := take(p); err != nil {
			return err
		}
	}
	return err
}

// values hands the values of an array over, those that are whole.
func (t *iperf3Text) values(name string, take func(iperf3Part) error) error {
	t.read() // the bracket
	for {
		c, err := t.inside()
		switch {
		case err != nil:
			return err
		case c == ']':
			t.read()
			return nil
		case c == ',':
			t.read()
			continue
		}
		p, err := t.value(true)
		if err != nil {
			return err
		}
		if p.name = name; len(p.raw) == 0 && !p.tooLong {
			return errIperf3Broken
		}
		if err := take(p); err != nil {
			return err
		}
	}
}

// value reads one value: to the bracket or quote that ends it, or as far as a word goes. Whether it
// is JSON is for jsontext to say.
func (t *iperf3Text) value(keep bool) (iperf3Part, error) {
	p := iperf3Part{offset: t.offset, line: t.line}
	t.buffer = t.buffer[:0]
	depth, quoted, escaped := 0, false, false
	for {
		c, err := t.peek()
		switch {
		case errors.Is(err, io.EOF):
			err = errIperf3Cut
			if depth == 0 && !quoted && len(t.buffer) == 0 {
				return p, err
			}
			fallthrough
		case err != nil:
			p.raw = t.buffer
			return p, err
		}
		if depth == 0 && !quoted && bytes.IndexByte([]byte(",]} \t\r\n"), c) >= 0 {
			break // behind a word
		}
		t.read()
		if keep && !p.tooLong {
			t.buffer = append(t.buffer, c)
			p.tooLong = len(t.buffer) > iperf3Member
		}
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if c == '\n' && t.beginsAnother() {
			p.raw = t.buffer
			return p, errIperf3Begins
		}
		if depth == 0 && !quoted && (c == '"' || c == '}' || c == ']') {
			break
		}
	}
	if p.raw = t.buffer; p.tooLong {
		p.raw = nil
	}
	return p, nil
}
