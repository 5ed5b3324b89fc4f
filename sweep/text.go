package main

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxCell is the most characters of one value in a table.
const maxCell = 120

// visible replaces what could steer a terminal or hide text: control characters, the
// bidirectional and zero-width ones, and bytes that are not UTF-8. They are shown as Go would
// write them. Free text in the store comes from other machines and may hold anything.
func visible(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

func clean(s string) bool {
	for i, r := range s {
		if !unicode.IsPrint(r) || (r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")) {
			return false
		}
	}
	return true
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-3]) + "..."
}

// absent is shown where there is no value. It is never a zero.
const absent = "-"

// stamp is a time as tables show it: UTC, ISO 8601, to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return absent
	}
	return t.UTC().Format(time.RFC3339)
}

// milliseconds shows microseconds in ms.
func milliseconds(us *float64) string { return decimal(us, 1e-3, 3) }

// percent shows a ratio in %.
func percent(ratio *float64) string { return decimal(ratio, 100, 2) }

func decimal(v *float64, factor float64, digits int) string {
	if v == nil {
		return absent
	}
	return strconv.FormatFloat(*v*factor, 'f', digits, 64)
}

// count shows a whole number, with thousands apart.
func count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// average shows a count that need not be whole: with one digit behind the point when it is not.
func average(v float64) string {
	whole, tenth := int64(v+0.05), int64((v-float64(int64(v)))*10+0.5)%10
	if tenth == 0 {
		return count(whole)
	}
	return count(whole) + "." + strconv.FormatInt(tenth, 10)
}

// ago says how long something is past, in the largest unit that fits.
func ago(d time.Duration) string {
	switch {
	case d < -time.Second:
		return "in the future"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s ago"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days ago"
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
