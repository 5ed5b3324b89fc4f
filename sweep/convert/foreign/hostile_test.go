package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// These tests hold for every format on the list, with its own samples; a new one is in them by being
// on it.

// sound reads a text as the format, whatever recognition says of it: it must be refused with a
// reason, or give findings that hold. The time and the memory must be those of a text of its length.
func sound(t *testing.T, f *Format, what string, text []byte) {
	t.Helper()
	const fixed, each = 256 << 20, 4000 // bytes; the race detector makes readers allocate more
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	d, err := readHostile(f, text)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > fixed+each*uint64(len(text)) {
		t.Errorf("%s: %d bytes of text made the reader allocate %d MiB", what, len(text), used>>20)
	}
	if most := 20*time.Second + time.Duration(len(text))*20*time.Microsecond; took > most {
		t.Errorf("%s: %d bytes of text took %v", what, len(text), took)
	}
	if _, ok := err.(panicked); ok {
		t.Fatalf("%s: the reader panicked: %v\n%.2000q", what, err, text)
	}
	if err != nil {
		if fault, ok := errors.AsType[*Fault](err); !ok || fault.Reason == "" {
			t.Errorf("%s: refused with %#v", what, err)
		}
		return
	}
	if len(d.Findings) == 0 || len(d.Findings) > MaxFindings || len(d.Left) > d.LeftCount || len(d.Left) > MaxFaults {
		t.Errorf("%s: %d findings, %d of %d parts left out", what, len(d.Findings), len(d.Left), d.LeftCount)
	}
	for i := range d.Findings {
		plausible(t, what, &d.Findings[i])
	}
}

// panicked is the error of a reader that panicked.
type panicked struct{ error }

// readHostile reads a text whose reader may panic.
func readHostile(f *Format, text []byte) (d *Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
	}()
	newHead(text)
	return f.Read(bytes.NewReader(text))
}

// plausible holds a finding to what a row can say.
func plausible(t *testing.T, what string, f *Finding) {
	t.Helper()
	if err := f.check(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	c := f.Run.Counts
	for name, n := range map[string]int{"sent": c.Sent, "received": c.Received, "lost": c.Lost, "late": c.Late, "duplicate": c.Duplicate, "reordered": c.Reordered, "warm-up": c.Warmup} {
		if n < 0 || n > math.MaxInt32 {
			t.Errorf("%s: %d samples are %s", what, n, name)
		}
	}
	if f.Counted.Sent && f.Counted.Lost && c.Lost > c.Sent {
		t.Errorf("%s: %d of %d samples are lost", what, c.Lost, c.Sent)
	}
	if f.Run.Failure != "" && (len(f.RTT) > 0 || len(f.Bins) > 0) {
		t.Errorf("%s: it failed (%s), and has round trips", what, f.Run.Failure)
	}
	if r := f.Summary.LossRatio; r != nil && !(*r >= 0 && *r <= 1.000001) {
		t.Errorf("%s: a loss of %v", what, *r)
	}
	finite(t, what, reflect.ValueOf(f.Summary))
	for i, b := range f.Bins {
		if b.N < 1 || b.Value < 0 || float64(b.Value) > maxDurationNS || i > 0 && b.Value <= f.Bins[i-1].Value {
			t.Errorf("%s: bin %d holds %d round trips of %d ns", what, i, b.N, b.Value)
			break
		}
	}
	for _, e := range f.Explained {
		if e.Column == "" || len(e.Original) > 400 {
			t.Errorf("%s: explained as %+v", what, e)
			break
		}
	}
}

// finite holds that no figure is infinite, no number, or larger than any that is believed.
func finite(t *testing.T, what string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			finite(t, what, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			finite(t, what+" "+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Float64:
		if n := v.Float(); math.IsNaN(n) || math.Abs(n) > 1.1e18 {
			t.Errorf("%s: %v", what, n)
		}
	case reflect.Int, reflect.Int64:
		if n := v.Int(); n < 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// victim is a sample that is to be spoiled.
type victim struct {
	format *Format
	name   string
	text   []byte
	first  bool // of its format's samples
	of     int  // samples of its format
}

// everyFormat runs a test for each sample of each format. The beginning of a long one is enough: what
// is tried on a text does not get harder with its length.
func everyFormat(t *testing.T, test func(t *testing.T, v victim)) {
	for _, f := range Formats() {
		t.Run(f.Name, func(t *testing.T) {
			names := samples(t, f.Name)
			for i, name := range names {
				text := readSample(t, name)
				test(t, victim{f, filepath.Base(name), text[:min(len(text), 64<<10)], i == 0, len(names)})
			}
		})
	}
}

// step is how far apart the places are that are tried, of a number of possible ones. Most is how many
// a format has in all its samples; a long sample costs more each, so fewer of its are tried.
func (v victim) step(places, most int) int {
	return 1 + places/max(min(most/v.of, (1<<20)/(len(v.text)+1)), 3)
}

func TestCutAnywhere(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		for at := 0; at < len(sample); at += v.step(len(sample), 300) {
			sound(t, f, fmt.Sprintf("%s cut at byte %d", name, at), sample[:at])
		}
	})
}

func TestJunkAnywhere(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		for i, junk := range []string{"\x00", "\xff\xfe", "\"", "<", "}", "9", "-", "\n", ",", "&#x0;", "\u2028"} {
			for at := i; at < len(sample); at += v.step(len(sample), 20) {
				text := append(append(bytes.Clone(sample[:at]), junk...), sample[at+1:]...)
				sound(t, f, fmt.Sprintf("%s with %q at byte %d", name, junk, at), text)
			}
		}
	})
}

var (
	aNumber = regexp.MustCompile(`\d+(\.\d+)?`)
	aQuoted = regexp.MustCompile(`"[^"\\\n]{1,40}"`)
	aMember = regexp.MustCompile(`"[A-Za-z_-]{1,30}" ?: ?("[^"\\]*"|-?[0-9.]+|true|false|null)`)
)

// replaced replaces every match, and, one after the other, some of them alone.
func (v victim) replaced(what *regexp.Regexp, by string) (out [][]byte) {
	sample := v.text
	matches := what.FindAllIndex(sample, -1)
	if len(matches) > 0 && len(matches)*len(by) < 256<<10 {
		out = append(out, what.ReplaceAllLiteral(sample, []byte(by)))
	}
	for i := 0; i < len(matches); i += v.step(len(matches), 8) {
		m := matches[i]
		out = append(out, append(append(bytes.Clone(sample[:m[0]]), by...), sample[m[1]:]...))
	}
	return out
}

func TestFiguresThatCannotBe(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name := v.format, v.name
		for _, by := range []string{"1e999", "-1", "NaN", "99999999999999999999", "0", "1e18", "-0.0", "", "null", "2147483648", "0x10", strings.Repeat("9", 400)} {
			for i, text := range v.replaced(aNumber, by) {
				sound(t, f, fmt.Sprintf("%s with %.20q for a number (%d)", name, by, i), text)
			}
		}
	})
}

func TestTextsThatCannotBe(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name := v.format, v.name
		for _, by := range []string{"\"\xff\xfe\"", `""`, `"\u0000"`, `"` + strings.Repeat("a", 1<<16) + `"`, "[]", "{}", `{"a":[{}]}`} {
			for i, text := range v.replaced(aQuoted, by) {
				sound(t, f, fmt.Sprintf("%s with %.20q for a text (%d)", name, by, i), text)
			}
		}
	})
}

func TestMembersThatAreThereTwice(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		matches := aMember.FindAllIndex(sample, -1)
		for i := 0; i < len(matches); i += v.step(len(matches), 80) {
			m := matches[i]
			member := sample[m[0]:m[1]]
			text := append(append(append(bytes.Clone(sample[:m[1]]), ','), member...), sample[m[1]:]...)
			sound(t, f, fmt.Sprintf("%s with %.40s twice", name, member), text)
		}
		lines := bytes.SplitAfter(sample, []byte("\n"))
		for i := 0; i < len(lines); i += v.step(len(lines), 40) {
			text := bytes.Join([][]byte{bytes.Join(lines[:i+1], nil), lines[i], bytes.Join(lines[i+1:], nil)}, nil)
			sound(t, f, fmt.Sprintf("%s with line %d twice", name, i+1), text)
			sound(t, f, fmt.Sprintf("%s without line %d", name, i+1), bytes.Join([][]byte{bytes.Join(lines[:i], nil), bytes.Join(lines[i+1:], nil)}, nil))
		}
	})
}

// Bombs are built from the beginning of a sample, so that the reader has taken the text for its own.
func TestBombs(t *testing.T) {
	const n = 20_000
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		if !v.first {
			return
		}
		open := bytes.IndexAny(sample, "{[")
		lists := bytes.LastIndexByte(sample, '[')
		bombs := map[string]string{
			"blanks":     strings.Repeat(" ", n),
			"newlines":   strings.Repeat("\n", n),
			"depth":      strings.Repeat(`{"a":[`, n),
			"arrays":     strings.Repeat("[", n),
			"elements":   strings.Repeat("<a>", n),
			"attributes": "<a " + strings.Repeat(`b="" `, n),
			"comment":    "<!--" + strings.Repeat("- ", n),
			"quote":      `"` + strings.Repeat("a,\n", n),
			"digits":     strings.Repeat("1", n),
			"commas":     strings.Repeat(",", n),
			"junk lines": strings.Repeat("junk 1 2 3 ms\n", n),
			"objects":    strings.Repeat("{}\n", n),
			"bytes":      strings.Repeat("\x1f\x8b\x08\x00\xff", n),
		}
		for kind, bomb := range bombs {
			sound(t, f, kind+" alone", []byte(bomb))
			sound(t, f, kind+" behind "+name, append(bytes.Clone(sample), bomb...))
			half := sample[:len(sample)/2]
			sound(t, f, kind+" inside "+name, append(append(bytes.Clone(half), bomb...), sample[len(half):]...))
		}
		if open >= 0 && sample[open] == '{' {
			wide := string(sample[:open+1]) + strings.Repeat(`"a":1,`, n) + string(sample[open+1:])
			sound(t, f, "a wide object", []byte(wide))
		}
		if lists >= 0 {
			sound(t, f, "a wide array", []byte(string(sample[:lists+1])+strings.Repeat("1,", n)+string(sample[lists+1:])))
		}
	})
}

const declared = "<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;&lol;\"><!ENTITY file SYSTEM \"file:///etc/passwd\">]>\n"

// A document type that declares entities is refused, and none is expanded.
func TestDeclaredEntitiesAreRefused(t *testing.T) {
	everyFormat(t, func(t *testing.T, v victim) {
		f, name, sample := v.format, v.name, v.text
		root := regexp.MustCompile(`<[A-Za-z]`).FindIndex(sample)
		if root == nil || !bytes.HasPrefix(bytes.TrimSpace(sample), []byte("<")) {
			return
		}
		text := append(append(bytes.Clone(sample[:root[0]]), declared...), sample[root[0]:]...)
		if at := bytes.IndexByte(text[root[0]+len(declared):], '>'); at > 0 {
			at += root[0] + len(declared) + 1
			text = append(append(bytes.Clone(text[:at]), "&lol2;&file;"...), text[at:]...)
		}
		d, err := f.Read(bytes.NewReader(text))
		if err == nil {
			t.Errorf("%s: %d findings, left out %v", name, len(d.Findings), d.Left)
		}
		sound(t, f, name+" with entities", text)
	})
}
