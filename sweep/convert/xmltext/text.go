package xmltext

import (
	"bytes"
	"unicode/utf8"
)

// text reads a run of text inside an element, to the next <.
func (r *Reader) text(b []byte) (int, error) {
	i, mark, resolved, blank := 0, 0, false, true // b[mark:i] is not in r.resolved yet
	r.resolved = r.resolved[:0]
	for {
		if blank {
			i = skipSpace(b, i)
			blank = i == len(b) || b[i] == '<' || b[i] == '&'
		}
		for i < len(b) && class[b[i]]&inText != 0 {
			i++
		}
		if i > r.maxText {
			return 0, r.limit("a text has more than %d bytes", r.maxText)
		}
		if i == len(b) {
			return 0, errShort
		}
		switch b[i] {
		case '<':
			r.token.Kind, r.token.Blank, r.token.Text = Text, blank, b[mark:i:i]
			if resolved {
				r.resolved = append(r.resolved, b[mark:i]...)
				r.token.Text = r.resolved
			}
			return i, nil
		case '&':
			c, hex, next, err := r.reference(b, i)
			if err != nil {
				return 0, err
			}
			r.resolved = append(r.resolved, b[mark:i]...)
			r.resolved = appendRune(r.resolved, c)
			i, mark, resolved = next, next, true
			blank = blank && hex && (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		case ']':
			if bytes.HasPrefix(b[i:], []byte("]]>")) {
				return 0, r.fault(i, "]]> is not allowed in text: write ]]&gt;")
			}
			i++
		default:
			next, err := r.char(b, i)
			if err != nil {
				return 0, err
			}
			i = next
		}
	}
}

// reference reads the one at i: its character, whether it is a hexadecimal one, the place behind it.
func (r *Reader) reference(b []byte, i int) (c rune, hex bool, next int, err error) {
	if i+1 == len(b) {
		return 0, false, 0, errShort
	}
	if b[i+1] == '#' {
		return r.number(b, i)
	}
	if class[b[i+1]]&isNameStart == 0 && b[i+1] < utf8.RuneSelf {
		return 0, false, 0, r.fault(i, "an & that begins no reference: write &amp;")
	}
	end, err := r.name(b, i+1)
	if err != nil {
		return 0, false, 0, err
	}
	name := b[i+1 : end]
	if b[end] != ';' {
		return 0, false, 0, r.fault(i, "the reference to the entity %s does not end with ; (a bare & is written &amp;)", clip(name))
	}
	switch string(name) {
	case "lt":
		c = '<'
	case "gt":
		c = '>'
	case "amp":
		c = '&'
	case "apos":
		c = '\''
	case "quot":
		c = '"'
	default:
		return 0, false, 0, r.fault(i, "reference to the undeclared entity %s: XML has only lt, gt, amp, apos and quot", clip(name))
	}
	return c, false, end + 1, nil
}

// number reads a reference to a character by its number.
func (r *Reader) number(b []byte, i int) (c rune, hex bool, next int, err error) {
	j, base := i+2, rune(10)
	if j < len(b) && b[j] == 'x' {
		j, base, hex = j+1, 16, true
	}
	digits := j
	for ; j < len(b); j++ {
		d := digit(b[j])
		if d >= base {
			break
		}
		c = min(c*base+d, utf8.MaxRune+1)
	}
	switch {
	case j-i > MaxNameBytes:
		return 0, false, 0, r.limit("a character reference has more than %d digits", MaxNameBytes)
	case j == len(b):
		return 0, false, 0, errShort
	case j == digits || b[j] != ';':
		return 0, false, 0, r.fault(i, "a character reference is &#10; or &#xA;, digits and a semicolon")
	case !isChar(c) && !r.o.Lenient:
		return 0, false, 0, r.fault(i, "the reference %.12s is to a character that XML 1.0 does not have", b[i:j+1])
	case !isChar(c):
		c = utf8.RuneError
	}
	return c, hex, j + 1, nil
}

// digit is the value of a hexadecimal digit, or more than any.
func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return 99
}

func appendRune(b []byte, c rune) []byte {
	if c < utf8.RuneSelf {
		return append(b, byte(c))
	}
	return utf8.AppendRune(b, c)
}
