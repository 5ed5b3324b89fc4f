package probe

import (
	"math"
	"strings"
	"testing"
	"time"
)

type timingCase struct {
	name   string
	values []string
	want   time.Duration // negative: nothing is believed
}

const tenth = 100 * time.Microsecond

var timingCases = []timingCase{
	{"the specification's first example", []string{`miss, db;dur=53, app;dur=47.2`}, 53 * time.Millisecond},
	{"its second", []string{`customView, dc;desc=atl`}, -1},
	{"its trailer's", []string{`total;dur=123.4`}, 1234 * tenth},
	{"none", nil, -1},
	{"an empty field", []string{""}, -1},
	{"one", []string{"app;dur=5"}, 5 * time.Millisecond},
	{"decimals that no binary number has", []string{"app;dur=1.001"}, 1001 * time.Microsecond},
	{"total wins over what is longer", []string{"a;dur=7, total;dur=5, b;dur=9"}, 5 * time.Millisecond},
	{"total in any case, of several fields", []string{"a;dur=7", "Total;dur=5"}, 5 * time.Millisecond},
	{"a total without a duration", []string{"total, b;dur=9"}, 9 * time.Millisecond},
	{"not the sum: they may overlap", []string{"a;dur=3, b;dur=4"}, 4 * time.Millisecond},
	{"nothing took no time", []string{"a;dur=0"}, 0},
	{"space wherever it may be", []string{" a\t; \tdur = 2.5 , "}, 2500 * time.Microsecond},
	{"empty elements of the list", []string{",, a;dur=1 ,,"}, time.Millisecond},
	{"a description before the duration", []string{`a;desc="x, y; dur=9 \"z\\";dur=2`}, 2 * time.Millisecond},
	{"a duration in quotes", []string{`a;dur="2"`}, 2 * time.Millisecond},
	{"of two durations the first", []string{"a;dur=1;dur=2"}, time.Millisecond},
	{"another parameter", []string{"a;x=1;DUR=2"}, 2 * time.Millisecond},
	{"an exponent", []string{"a;dur=1.5e-1"}, 150 * time.Microsecond},
	{"a whole day", []string{"a;dur=86400000"}, 24 * time.Hour},

	{"more than a day", []string{"a;dur=86400001"}, -1},
	{"negative", []string{"a;dur=-1"}, -1},
	{"not a number", []string{"a;dur=NaN"}, -1},
	{"endless", []string{"a;dur=Inf"}, -1},
	{"hexadecimal", []string{"a;dur=0x10"}, -1},
	{"underscores", []string{"a;dur=1_0"}, -1},
	{"a unit", []string{"a;dur=5ms"}, -1},
	{"too large for a number", []string{"a;dur=1e999"}, -1},
	{"too many digits", []string{"a;dur=" + strings.Repeat("1", 33)}, -1},
	{"no value", []string{"a;dur="}, -1},
	{"no sign", []string{"a;dur"}, -1},
	{"no name", []string{";dur=1"}, -1},
	{"a name that is no token", []string{"a b;dur=1"}, -1},
	{"a quote that does not end", []string{`a;dur="1`}, -1},
	{"an escape that does not end", []string{`a;dur="1\`}, -1},
	{"a control character in quotes", []string{"a;desc=\"\x01\";dur=1"}, -1},
	{"one bad element spoils the field", []string{"total;dur=1, b;dur=x"}, -1},
	{"one bad field spoils all", []string{"total;dur=1", "@"}, -1},
}

func TestServerTimingIsReadStrictly(t *testing.T) {
	for _, c := range timingCases {
		got, ok := serverTiming(c.values)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %q reads as %s, %v; want %s", c.name, c.values, got, ok, c.want)
		}
	}
}

func timingSeeds() (seeds []string) {
	for _, c := range timingCases {
		seeds = append(seeds, strings.Join(c.values, ","))
	}
	return seeds
}

func TestServerTimingSeedsAreAllThere(t *testing.T) {
	if n := len(timingSeeds()); n != 38 {
		t.Errorf("%d seeds, want 38: one for every case of the table", n)
	}
}

func FuzzServerTiming(f *testing.F) {
	for _, s := range timingSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := serverTiming([]string{s})
		if got < 0 || got > maxServerTime || !ok && got != 0 {
			t.Fatalf("%q reads as %s, %v", s, got, ok)
		}
		if !ok {
			return
		}
		// What was believed is in the field, as a number of milliseconds.
		if !strings.ContainsAny(s, "0123456789") || !strings.Contains(strings.ToLower(s), "dur") {
			t.Fatalf("%q has no duration, and reads as %s", s, got)
		}
		// Split over two fields it means the same, and a fault spoils it.
		if again, ok := serverTiming([]string{s, "other"}); !ok || again != got {
			t.Fatalf("%q reads as %s alone and as %s, %v before another field", s, got, again, ok)
		}
		if _, ok := serverTiming([]string{s, "\x00"}); ok {
			t.Fatalf("%q is believed beside a fault", s)
		}
		if more, ok := serverTiming([]string{s + ",total;dur=86400000"}); !ok || math.Abs(float64(more-maxServerTime)) > 1 {
			t.Fatalf("%q with the largest total reads as %s, %v", s, more, ok)
		}
	})
}
