package main

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestVisibleShowsWhatWouldSteerATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, 5 µs – 東京":       "plain text, 5 µs – 東京",
		"\x1b[2J\x1b]0;owned\a":       `\x1b[2J\x1b]0;owned\a`,
		"two\nlines\r\tand a tab":     `two\nlines\r\tand a tab`,
		"\u009b31m one-byte CSI":      `\u009b31m one-byte CSI`,
		"\u202egpj.exe":               `\u202egpj.exe`,
		"zero\u200bwidth\ufeff":       `zero\u200bwidth\ufeff`,
		"not \xff\xfe UTF-8":          `not \xff\xfe UTF-8`,
		"a real \uFFFD stays":         "a real \uFFFD stays",
		"tag \U000E0041":              `tag \U000e0041`,
		"line\u2028separator\u00a0nb": `line\u2028separator\u00a0nb`,
		"nul \x00 del \x7f":           `nul \x00 del \x7f`,
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzVisibleLeavesNothingButPrintableText(f *testing.F) {
	for _, seed := range []string{"", "abc", "\x1b[31m", "\xff", "\u202e", "日本\uFFFD", "\xc2", "\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := visible(s)
		if !utf8.ValidString(got) {
			t.Fatalf("visible(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("visible(%q) holds %U", s, r)
			}
		}
		if again := visible(got); again != got {
			t.Fatalf("visible(%q) is not stable: %q", got, again)
		}
	})
}

func TestCutCountsCharactersAndSaysThatItCut(t *testing.T) {
	long := strings.Repeat("ü", 200)
	if got := cut(long, 120); utf8.RuneCountInString(got) != 120 || !strings.HasSuffix(got, "ü...") {
		t.Errorf("cut to %d characters: %q", utf8.RuneCountInString(got), got)
	}
	if got := cut("übung", 5); got != "übung" {
		t.Errorf("a text that fits was cut: %q", got)
	}
}

func TestNumbersAreShownInTheirUnits(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for _, c := range []struct{ what, got, want string }{
		{"ms", milliseconds(v(80123.4)), "80.123"},
		{"ms below one", milliseconds(v(50)), "0.050"},
		{"absent ms", milliseconds(nil), "-"},
		{"percent", percent(v(0.0125)), "1.25"},
		{"zero percent is a value", percent(v(0)), "0.00"},
		{"small count", count(999), "999"},
		{"large count", count(int64(24192000)), "24,192,000"},
		{"negative count", count(-1234), "-1,234"},
		{"whole average", average(2880), "2,880"},
		{"average with a part", average(0.142857), "0.1"},
		{"average that rounds up", average(1999.96), "2,000"},
		{"one", plural(1, "run", "runs"), "1 run"},
		{"many", plural(1500, "run", "runs"), "1,500 runs"},
		{"seconds", ago(90 * time.Second), "90 s ago"},
		{"minutes", ago(5 * time.Minute), "5 min ago"},
		{"hours", ago(47 * time.Hour), "47 h ago"},
		{"days", ago(72 * time.Hour), "3 days ago"},
		{"ahead", ago(-time.Minute), "in the future"},
		{"no time", stamp(time.Time{}), "-"},
		{"time in UTC", stamp(time.Date(2026, 11, 30, 11, 20, 0, 0, time.FixedZone("CET", 3600))), "2026-11-30T10:20:00Z"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
}
