package xmljson

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain tells the bytes that stand in a JSON string as they are, without a closer look. Of the others
// 0xC2 and 0xE2 may begin U+0085, U+2028 and U+2029, which Json.NET escapes.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c >= ' ' && c != '"' && c != '\\' && c != 0xc2 && c != 0xe2
	}
	return p
}()

// escape appends the text as it stands inside a JSON string: what Json.NET escapes is escaped, and no more.
func escape(to, s []byte) []byte {
	done := 0
	for i := 0; i < len(s); i++ {
		if plain[s[i]] {
			continue
		}
		size := 1
		var c rune
		if c = rune(s[i]); c >= utf8.RuneSelf {
			if c, size = utf8.DecodeRune(s[i:]); c != 0x85 && c != 0x2028 && c != 0x2029 {
				i += size - 1
				continue
			}
		}
		to = append(to, s[done:i]...)
		done = i + size
		i = done - 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', byte(c))
		case '\b':
			to = append(to, `\b`...)
		case '\t':
			to = append(to, `\t`...)
		case '\n':
			to = append(to, `\n`...)
		case '\f':
			to = append(to, `\f`...)
		case '\r':
			to = append(to, `\r`...)
		default:
			to = append(to, '\\', 'u', hexDigits[c>>12], hexDigits[c>>8&15], hexDigits[c>>4&15], hexDigits[c&15])
		}
	}
	return append(to, s[done:]...)
}

// special says that a name may not be the same when it is decoded and escaped.
func special(name []byte) bool {
	for i, c := range name {
		if !plain[c] || c == '_' && i+1 < len(name) && name[i+1]|0x20 == 'x' {
			return true
		}
	}
	return false
}

// decodeName resolves what XmlConvert.EncodeName makes of characters that a name cannot have: _xHHHH_ is
// a UTF-16 unit, _xHHHHHHHH_ a character. What is no such escape stays.
func decodeName(raw []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i+6 < len(raw); i++ {
		c, n := escaped(raw[i:])
		if n == 0 {
			continue
		}
		if utf16.IsSurrogate(c) {
			low, m := escaped(raw[i+n:])
			if full := utf16.DecodeRune(c, low); m > 0 && full != utf8.RuneError {
				c, n = full, n+m
			} else {
				c = utf8.RuneError
			}
		}
		out = append(out, raw[done:i]...)
		out = utf8.AppendRune(out, c)
		done = i + n
		i = done - 1
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// escaped is the character of the escape that s begins with, and its length; 0 when there is none.
func escaped(s []byte) (c rune, n int) {
	for _, digits := range [...]int{4, 8} {
		n = digits + 3
		if len(s) < n || s[0] != '_' || s[1]|0x20 != 'x' || s[n-1] != '_' {
			continue
		}
		v, ok := uint64(0), true
		for _, d := range s[2 : n-1] {
			switch {
			case '0' <= d && d <= '9':
				v = v<<4 | uint64(d-'0')
			case 'a' <= d|0x20 && d|0x20 <= 'f':
				v = v<<4 | uint64(d|0x20-'a'+10)
			default:
				ok = false
			}
		}
		if ok && v <= utf8.MaxRune {
			return rune(v), n
		}
	}
	return 0, 0
}
