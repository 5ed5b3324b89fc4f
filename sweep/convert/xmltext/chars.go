package xmltext

import "unicode/utf8"

// What a byte may be, in class.
const (
	isSpace uint8 = 1 << iota
	isNameStart
	isName
	inText  // in text, without a closer look
	inValue // in the value of an attribute, without a closer look
	inOther // in a comment, an instruction or CDATA, without a closer look
)

var class = classes()

// classes tells the bytes below 0x80 apart; those above always need a closer look.
func classes() (c [256]uint8) {
	for b := range 0x80 {
		switch {
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
			c[b] = isSpace | inText | inValue | inOther
			continue
		case b < ' ':
			continue
		case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' || b == ':':
			c[b] = isNameStart | isName
		case '0' <= b && b <= '9' || b == '-' || b == '.':
			c[b] = isName
		}
		c[b] |= inOther
		if b != '<' && b != '&' && b != ']' {
			c[b] |= inText
		}
		if b != '<' && b != '&' && b != '"' && b != '\'' {
			c[b] |= inValue
		}
	}
	return c
}

// skipSpace is the place of the first byte from i that is no white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && class[b[i]]&isSpace != 0 {
		i++
	}
	return i
}

// isChar tells the characters of XML 1.0 (fifth edition, production 2).
func isChar(c rune) bool {
	return c >= 0x20 && c <= 0xd7ff || c >= 0xe000 && c <= 0xfffd || c >= 0x10000 && c <= 0x10ffff ||
		c == '\t' || c == '\n' || c == '\r'
}

// isWideName tells which characters beyond ASCII may stand in a name, and begin one (productions 4, 4a).
func isWideName(c rune) (may, begin bool) {
	for _, r := range wideNameStarts {
		if c >= r[0] && c <= r[1] {
			return true, true
		}
	}
	return c == 0xb7 || c >= 0x300 && c <= 0x36f || c == 0x203f || c == 0x2040, false
}

var wideNameStarts = [...][2]rune{
	{0xc0, 0xd6}, {0xd8, 0xf6}, {0xf8, 0x2ff}, {0x370, 0x37d}, {0x37f, 0x1fff}, {0x200c, 0x200d}, {0x2070, 0x218f},
	{0x2c00, 0x2fef}, {0x3001, 0xd7ff}, {0xf900, 0xfdcf}, {0xfdf0, 0xfffd}, {0x10000, 0xeffff},
}

// char is the place behind the character at i, which must be one of XML.
func (r *Reader) char(b []byte, i int) (int, error) {
	if b[i] < utf8.RuneSelf {
		if !isChar(rune(b[i])) {
			return 0, r.fault(i, "the control character U+%04X is not allowed in XML", b[i])
		}
		return i + 1, nil
	}
	c, n := utf8.DecodeRune(b[i:])
	switch {
	case c == utf8.RuneError && n == 1 && !utf8.FullRune(b[i:]):
		return 0, errShort
	case c == utf8.RuneError && n == 1:
		return 0, r.fault(i, "the byte 0x%02X is not UTF-8: is the text in another encoding?", b[i])
	case !isChar(c):
		return 0, r.fault(i, "the character U+%04X is not allowed in XML", c)
	}
	return i + n, nil
}

// chars checks the characters of a comment, an instruction or a CDATA section.
func (r *Reader) chars(b []byte, i, end int) error {
	for {
		for i < end && class[b[i]]&inOther != 0 {
			i++
		}
		if i >= end {
			return nil
		}
		next, err := r.char(b, i)
		if err != nil {
			return err
		}
		i = next
	}
}

// name is the place behind the name that begins at i.
func (r *Reader) name(b []byte, i int) (int, error) {
	start := i
	for i < len(b) {
		c := b[i]
		switch {
		case class[c]&isName != 0 && (i > start || class[c]&isNameStart != 0):
			i++
			continue
		case c == '%' && r.o.Lenient && i > start:
			i++
			continue
		case c >= utf8.RuneSelf:
			next, err := r.char(b, i)
			if err != nil {
				return 0, err
			}
			wide, _ := utf8.DecodeRune(b[i:])
			if may, begin := isWideName(wide); begin || may && i > start {
				i = next
				continue
			}
		}
		if i == start {
			return 0, r.fault(i, "a name cannot begin with %q", firstRune(b[i:]))
		}
		if i-start > MaxNameBytes {
			return 0, r.limit("a name has more than %d bytes", MaxNameBytes)
		}
		return i, nil
	}
	if i-start > MaxNameBytes {
		return 0, r.limit("a name has more than %d bytes", MaxNameBytes)
	}
	return 0, errShort
}

func firstRune(b []byte) rune {
	c, _ := utf8.DecodeRune(b)
	return c
}
