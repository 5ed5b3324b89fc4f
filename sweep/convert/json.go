package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"

	"isochrone/prober/wire"
)

// readJSON checks the whole text before it builds anything from it.
func readJSON(text []byte) (*wire.Document, error) {
	c := &jsonChecker{text: text}
	if err := c.document(jsonShape()); err != nil {
		return nil, err
	}
	d, err := c.columns.document(text)
	if err != nil {
		return nil, &Refusal{Stage: StageRead, Text: "the JSON does not fit a document: " + err.Error(), Offset: NoOffset, Remedy: remedyFormat}
	}
	return d, nil
}

// jsonChecker walks a JSON text once, along a shape. It keeps nothing of the text but its columns of
// whole numbers.
type jsonChecker struct {
	text    []byte
	at      int
	place   place
	entries int // of all columns so far
	columns jsonColumns
}

func (c *jsonChecker) refuse(at int, remedy, format string, args ...any) error {
	return &Refusal{Stage: StageRead, Text: fmt.Sprintf(format, args...), Where: c.place.String(), Offset: int64(at), Remedy: remedy}
}

// unexpected refuses what stands at the reader's place, or says that nothing does.
func (c *jsonChecker) unexpected(want string) error {
	if c.at >= len(c.text) {
		return c.refuse(c.at, remedyAgain, "the JSON ends where %s should stand", want)
	}
	end := min(c.at+12, len(c.text))
	return c.refuse(c.at, remedyFormat, "%s stands where %s should", quote(string(c.text[c.at:end])), want)
}

func (c *jsonChecker) skipBlanks() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// next skips blanks, and then b if it stands there.
func (c *jsonChecker) next(b byte) bool {
	c.skipBlanks()
	if c.at < len(c.text) && c.text[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *jsonChecker) null() bool { return c.literal("null") }

func (c *jsonChecker) literal(word string) bool {
	c.skipBlanks()
	if bytes.HasPrefix(c.text[c.at:], []byte(word)) {
		c.at += len(word)
		return true
	}
	return false
}

func (c *jsonChecker) truth() error {
	if c.literal("true") || c.literal("false") {
		return nil
	}
	return c.unexpected("true or false")
}

func (c *jsonChecker) document(s *shape) error {
	if err := c.value(s); err != nil {
		return err
	}
	if c.skipBlanks(); c.at < len(c.text) {
		return c.refuse(c.at, "send one document a body", "%d bytes follow the document", len(c.text)-c.at)
	}
	return nil
}

func (c *jsonChecker) value(s *shape) error {
	if s.nullable && c.null() {
		return nil
	}
	switch s.kind {
	case kindObject:
		return c.object(s)
	case kindList:
		return c.list(s)
	case kindColumn:
		return c.integers()
	case kindFailures:
		return c.failures()
	case kindTruth:
		return c.truth()
	case kindInteger, kindNumber:
		c.skipBlanks()
		return c.number(c.at, func(text string) error { return checkLeaf(s, text) })
	}
	c.skipBlanks()
	at := c.at
	raw, err := c.str(max(s.limit, maxNameBytes))
	if err != nil {
		return err
	}
	if err := checkLeaf(s, string(raw)); err != nil {
		return c.refuse(at, remedyFormat, "%v", err)
	}
	return nil
}

func (c *jsonChecker) object(s *shape) error {
	if !c.next('{') {
		return c.unexpected("an object")
	}
	seen := make(map[string]bool, len(s.members))
	for first := true; !c.next('}'); first = false {
		if !first && !c.next(',') {
			return c.unexpected("a comma or the object's end")
		}
		c.skipBlanks()
		at := c.at
		name, err := c.name()
		if err != nil {
			return err
		}
		m, ok := s.members[name]
		switch {
		case !ok:
			return c.refuse(at, remedyFormat, "a document has no %s here", quote(name))
		case seen[name]:
			return c.refuse(at, "keep one of them", "%q stands here twice", name)
		case !c.next(':'):
			return c.unexpected("a colon")
		}
		seen[name] = true
		c.place.enter(name)
		if err := c.value(m.shape); err != nil {
			return err
		}
		c.place.leave()
	}
	for _, name := range s.required {
		if !seen[name] {
			return c.refuse(c.at-1, remedyFormat, "%q is missing", name)
		}
	}
	return nil
}

// name reads a member's name; one written with escapes is the same name.
func (c *jsonChecker) name() (name string, err error) {
	raw, err := c.str(maxNameBytes)
	if err != nil {
		return "", err
	}
	if !slices.Contains(raw, '\\') {
		return string(raw), nil
	}
	err = json.Unmarshal([]byte(`"`+string(raw)+`"`), &name)
	return name, err
}

func (c *jsonChecker) list(s *shape) error {
	if !c.next('[') {
		return c.unexpected("an array")
	}
	for n := 0; !c.next(']'); n++ {
		if n > 0 && !c.next(',') {
			return c.unexpected("a comma or the array's end")
		}
		if n == s.most {
			return c.refuse(c.at, remedyMost(s.most), "more than %d entries", s.most)
		}
		c.place.index(n)
		if err := c.value(s.item); err != nil {
			return err
		}
		c.place.leave()
	}
	return nil
}

// failures reads an array of nulls and failure codes.
func (c *jsonChecker) failures() error {
	if !c.next('[') {
		return c.unexpected("an array")
	}
	for n := 0; !c.next(']'); n++ {
		if n > 0 && !c.next(',') {
			return c.unexpected("a comma or the array's end")
		}
		if c.entries++; n == wire.MaxSamples || c.entries > maxEntries {
			return c.refuse(c.at, remedySplit, "a document holds at most %d samples", wire.MaxSamples)
		}
		if c.null() {
			continue
		}
		if err := c.failure(); err != nil {
			return c.entry(n, err)
		}
	}
	return nil
}

func (c *jsonChecker) number(at int, check func(string) error) error {
	for c.at < len(c.text) && isNumberByte(c.text[c.at]) {
		c.at++
	}
	if c.at == at {
		return c.unexpected("a number")
	}
	// One byte too many is enough for check to refuse it.
	if err := check(string(c.text[at:min(c.at, at+maxNumberBytes+1)])); err != nil {
		return c.refuse(at, remedyFormat, "%v", err)
	}
	return nil
}

func isNumberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

func (c *jsonChecker) failure() error {
	at := c.at
	raw, err := c.str(maxNameBytes)
	if err != nil {
		return err
	}
	if err := checkFailure(string(raw)); err != nil {
		return c.refuse(at, remedyFormat, "%v", err)
	}
	return nil
}

// str reads a string and returns what stands between its quotes, escapes as they are.
func (c *jsonChecker) str(limit int) ([]byte, error) {
	start := c.at
	if c.at >= len(c.text) || c.text[c.at] != '"' {
		return nil, c.unexpected("a string")
	}
	c.at++
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case b == '"':
			c.at++
			return c.text[start+1 : c.at-1], nil
		case b < ' ':
			return nil, c.refuse(c.at, "write it as an escape", "a control character (0x%02x) inside a string", b)
		case b == '\\':
			if err := c.escape(); err != nil {
				return nil, err
			}
		default:
			c.at++
		}
		if c.at-start > limit+2 {
			return nil, c.refuse(start, remedyFormat, "a string of more than %d bytes", limit)
		}
	}
	return nil, c.refuse(c.at, remedyAgain, "the JSON ends inside a string")
}

// escape reads one escape; of the surrogates (RFC 8259, section 7) only pairs stand for a
// character.
func (c *jsonChecker) escape() error {
	start := c.at
	if len(c.text)-c.at < 2 {
		c.at = len(c.text)
		return nil // str says that the text ends
	}
	c.at += 2
	switch c.text[c.at-1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		high, ok := c.unit()
		if ok && utf16.IsSurrogate(high) {
			var low rune
			if ok = len(c.text)-c.at > 2 && c.text[c.at] == '\\' && c.text[c.at+1] == 'u'; ok {
				c.at += 2
				low, ok = c.unit()
			}
			ok = ok && utf16.DecodeRune(high, low) != '\uFFFD'
		}
		if ok {
			return nil
		}
	}
	return c.refuse(start, "write the character itself", "an escape that stands for no character")
}

// unit reads the four hexadecimal digits of one UTF-16 code unit.
func (c *jsonChecker) unit() (rune, bool) {
	if len(c.text)-c.at < 4 {
		return 0, false
	}
	var v rune
	for _, b := range c.text[c.at : c.at+4] {
		switch {
		case b >= '0' && b <= '9':
			v = v<<4 | rune(b-'0')
		case b >= 'a' && b <= 'f':
			v = v<<4 | rune(b-'a'+10)
		case b >= 'A' && b <= 'F':
			v = v<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	c.at += 4
	return v, true
}
