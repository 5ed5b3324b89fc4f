package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// checkLeaf says what is wrong with the text of one value that is no object, list or column.
// JSON and XML share it, so that neither lets through what the other refuses.
func checkLeaf(s *shape, text string) error {
	switch s.kind {
	case kindInteger:
		return checkInteger(text)
	case kindNumber:
		return checkNumber(text)
	case kindTruth:
		if text != "true" && text != "false" {
			return fmt.Errorf("%s is neither true nor false", quote(text))
		}
	case kindInstant:
		var t time.Time
		if len(text) > maxNameBytes || t.UnmarshalText([]byte(text)) != nil {
			return fmt.Errorf("%s is not a time; want one such as 2026-11-30T10:20:00Z", quote(text))
		}
	case kindText:
		if len(text) > s.limit {
			return fmt.Errorf("a text of %d bytes; at most %d are allowed here", len(text), s.limit)
		}
	}
	return nil
}

func checkInteger(text string) error {
	if len(text) <= maxNumberBytes && isNumber(text) {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil && v != wire.Null {
			return nil
		}
	}
	return fmt.Errorf("%s is not a whole number of 64 bits", quote(text))
}

// isShortInteger says whether b is a whole number so short that it surely has 64 bits. Nearly all
// entries of a column are, and this needs no string of each.
func isShortInteger(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && len(b) > 1 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func checkNumber(text string) error {
	if len(text) > maxNumberBytes || !isNumber(text) {
		return fmt.Errorf("%s is not a number of at most %d characters", quote(text), maxNumberBytes)
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return fmt.Errorf("%s is beyond the range of a double", quote(text))
	}
	return nil
}

func checkFailure(code string) error {
	if !slices.Contains(wire.Failures(), wire.Failure(code)) {
		return fmt.Errorf("%s is not a failure code; want one of %q", quote(code), wire.Failures())
	}
	return nil
}

// quote cuts what a refusal repeats of a hostile text.
func quote(text string) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…"
}

// isNumber says whether s is a number in JSON's grammar (RFC 8259, section 6): no plus sign, no
// leading zero, no hexadecimal, no NaN or infinity.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	s = strings.TrimPrefix(s, "-")
	if rest, ok := strings.CutPrefix(s, "0"); ok {
		s = rest
	} else if !digits() {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		if s = rest; !digits() {
			return false
		}
	}
	if len(s) > 0 && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}
