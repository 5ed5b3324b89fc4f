package jsontext

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

type parser struct {
	t     *Text
	o     Options
	at    int
	depth int
}

func (p *parser) fault(at int, format string, args ...any) *Fault {
	// Counted, and not looked up: the index of lines is of the whole text, most of which may not have been read.
	line := 1 + bytes.Count(p.t.body[:at], []byte{'\n'})
	return &Fault{Offset: int64(at), Line: line, Text: fmt.Sprintf(format, args...)}
}

// ended is the fault of a text that ends where something should stand.
func (p *parser) ended(want string) *Fault {
	f := p.fault(len(p.t.body), "the text ends where %s should stand", want)
	f.Cut = true
	return f
}

func (p *parser) limit(format string, args ...any) *Fault {
	f := p.fault(p.at, format, args...)
	f.Limit = true
	return f
}

func (p *parser) text() *Fault {
	if int64(len(p.t.body)) >= 1<<32 {
		return p.limit("a text of 4 GiB or more")
	}
	if err := p.value(); err != nil {
		return err
	}
	if p.blanks(); p.at < len(p.t.body) && !p.o.Trailing {
		return p.fault(p.at, "%d bytes follow the value", len(p.t.body)-p.at)
	}
	return nil
}

func (p *parser) blanks() {
	for p.at < len(p.t.body) {
		switch p.t.body[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// add appends an entry that begins here, and returns its index.
func (p *parser) add(k Kind, start int) (int, *Fault) {
	if len(p.t.entries) >= MaxValues {
		return 0, p.limit("more than %d values", MaxValues)
	}
	if len(p.t.entries) == cap(p.t.entries) {
		p.grow()
	}
	p.t.entries = append(p.t.entries, entry{kind: k, start: uint32(start)})
	return len(p.t.entries) - 1, nil
}

// grow makes room for as many entries as the text has if it goes on as it began; for four times as many
// as there are at the most, because another text may follow. append would copy a large list many times.
func (p *parser) grow() {
	n := len(p.t.entries)
	want := int(float64(n)*float64(len(p.t.body))/float64(max(p.at, 1))) + n/16
	want = min(max(want, n+n/4), 4*n) + 16
	p.t.entries = slices.Grow(p.t.entries, min(want, MaxValues)-n)
}

func (p *parser) close(i, end int) {
	e := &p.t.entries[i]
	e.end, e.next = uint32(end), uint32(len(p.t.entries))
}

func (p *parser) value() *Fault {
	p.blanks()
	if p.at >= len(p.t.body) {
		return p.ended("a value")
	}
	switch c := p.t.body[p.at]; {
	case c == '{':
		return p.nested(Object)
	case c == '[':
		return p.nested(Array)
	case c == '"':
		return p.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word()
}

// nested reads an array or an object. One that the text does not end keeps what it has.
func (p *parser) nested(k Kind) *Fault {
	if p.depth++; p.depth > MaxDepth {
		return p.limit("nested more than %d deep", MaxDepth)
	}
	i, err := p.add(k, p.at)
	if err != nil {
		return err
	}
	p.at++
	err = p.inside(k)
	p.t.entries[i].cut = err != nil
	p.close(i, p.at)
	p.depth--
	return err
}

func (p *parser) inside(k Kind) *Fault {
	end := byte(']')
	if k == Object {
		end = '}'
	}
	for first := true; ; first = false {
		if p.blanks(); p.at >= len(p.t.body) {
			return p.ended("the end of " + k.String())
		}
		c := p.t.body[p.at]
		switch {
		case c == end:
			p.at++
			return nil
		case first:
		case c == ',':
			p.at++
		default:
			return p.unexpected("a comma or the end of " + k.String())
		}
		if k == Object {
			if err := p.member(); err != nil {
				return err
			}
		} else if err := p.value(); err != nil {
			return err
		}
	}
}

func (p *parser) unexpected(want string) *Fault {
	end := min(p.at+12, len(p.t.body))
	return p.fault(p.at, "%q stands where %s should", p.t.body[p.at:end], want)
}

// member reads a name and its value. A name without a whole value is taken back.
func (p *parser) member() *Fault {
	if p.blanks(); p.at >= len(p.t.body) {
		return p.ended("a name")
	}
	if p.t.body[p.at] != '"' {
		return p.unexpected("a name in quotes")
	}
	i := len(p.t.entries)
	if err := p.quoted(); err != nil {
		return err
	}
	p.t.entries[i].name = true
	p.blanks()
	var err *Fault
	switch {
	case p.at >= len(p.t.body):
		err = p.ended("a colon")
	case p.t.body[p.at] != ':':
		err = p.unexpected("a colon")
	default:
		p.at++
		err = p.value()
	}
	if len(p.t.entries) == i+1 { // nothing of the value is there
		p.t.entries = p.t.entries[:i]
	}
	return err
}

// quoted reads a string. What is not UTF-8 is a fault.
func (p *parser) quoted() *Fault {
	start := p.at
	escaped := false
	for i := start + 1; i < len(p.t.body); i++ {
		switch c := p.t.body[i]; {
		case c == '"':
			if !utf8.Valid(p.t.body[start+1 : i]) {
				return p.fault(start, "a string that is not UTF-8")
			}
			n, err := p.add(String, start)
			if err != nil {
				return err
			}
			p.t.entries[n].escaped = escaped
			p.at = i + 1
			p.close(n, p.at)
			return nil
		case c == '\\':
			escaped = true
			if n := escape(p.t.body[i:]); n > 0 {
				i += n - 1
			} else if rest := p.t.body[i:]; len(rest) < 2 || rest[1] == 'u' && len(rest) < len(`\u0000`) {
				return p.ended("the end of a string")
			} else {
				return p.fault(i, "%q is no escape", rest[:2])
			}
		case c < ' ':
			return p.fault(i, "a control character (0x%02x) inside a string", c)
		}
	}
	return p.ended("the end of a string")
}

// escape is the length of the escape that b begins with, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0 {
			return 2
		}
		return 0
	}
	if len(b) < 6 {
		return 0
	}
	for _, c := range b[2:6] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0
		}
	}
	return 6
}

// number reads a number by the grammar of RFC 8259, section 6.
func (p *parser) number() *Fault {
	b, start := p.t.body, p.at
	at := start
	digits := func() bool {
		from := at
		for at < len(b) && b[at] >= '0' && b[at] <= '9' {
			at++
		}
		return at > from
	}
	if b[at] == '-' {
		at++
	}
	if p.o.NaN && at < len(b) && (b[at] == 'n' || b[at] == 'N' || b[at] == 'i' || b[at] == 'I') {
		return p.word()
	}
	ok := false
	if at < len(b) && b[at] == '0' {
		at, ok = at+1, true
	} else {
		ok = digits()
	}
	if ok && at < len(b) && b[at] == '.' {
		at++
		ok = digits()
	}
	if ok && at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		ok = digits()
	}
	switch {
	case at >= len(b) && (!ok || p.depth > 0): // more digits may be missing
		return p.ended("the end of a number")
	case !ok, at < len(b) && (b[at] == '.' || b[at] == '_' || b[at] == 'x' || b[at] >= '0' && b[at] <= '9'):
		return p.fault(start, "%q is no number", b[start:min(at+1, len(b))])
	}
	i, err := p.add(Number, start)
	if err != nil {
		return err
	}
	p.at = at
	p.close(i, at)
	return nil
}

// words are the literals, those that are not JSON behind.
var words = []struct {
	text []byte
	kind Kind
	nan  bool
}{
	{[]byte("true"), Truth, false}, {[]byte("false"), Truth, false}, {[]byte("null"), Null, false},
	{[]byte("nan"), Null, true}, {[]byte("-nan"), Null, true}, {[]byte("NaN"), Null, true}, {[]byte("-NaN"), Null, true},
	{[]byte("Infinity"), Null, true}, {[]byte("-Infinity"), Null, true}, {[]byte("inf"), Null, true}, {[]byte("-inf"), Null, true},
}

func (p *parser) word() *Fault {
	rest := p.t.body[p.at:]
	for _, w := range words {
		if w.nan && !p.o.NaN {
			continue
		}
		if bytes.HasPrefix(rest, w.text) {
			n, err := p.add(w.kind, p.at)
			if err != nil {
				return err
			}
			p.at += len(w.text)
			p.close(n, p.at)
			return nil
		}
		if len(rest) < len(w.text) && bytes.HasPrefix(w.text, rest) {
			return p.ended("the end of a word")
		}
	}
	return p.unexpected("a value")
}
