package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func render(t *table, s style) string {
	var b bytes.Buffer
	t.render(&b, s)
	return b.String()
}

func TestTableAlignsTextLeftAndNumbersRight(t *testing.T) {
	tab := &table{columns: []column{left("source"), number("p50 ms"), left("detail")}}
	tab.add("westeurope", "9.100", "")
	tab.add("uk", "100.200", "naïve text")
	want := "" +
		"source       p50 ms  detail\n" +
		"westeurope    9.100\n" +
		"uk          100.200  naïve text\n"
	if got := render(tab, style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNoLineOfATableEndsInABlank(t *testing.T) {
	tab := &table{columns: []column{left("a"), number("b "), number("c ")}}
	tab.add("x ", "1 ", "2*")
	tab.add("", "", "")
	tab.add("long one", "10*", "")
	tab.add("y", "1 ", "1 ")
	for _, s := range []style{{}, {colour: true}} {
		for i, line := range strings.Split(render(tab, s), "\n") {
			if strings.TrimRight(line, " \t") != line {
				t.Errorf("colour %t, line %d ends in a blank: %q", s.colour, i, line)
			}
		}
	}
}

func TestAMarkDoesNotMoveTheDecimalPoint(t *testing.T) {
	tab := &table{columns: []column{left("from"), number("to ")}}
	tab.add("a", "12.345 ")
	tab.add("b", "2.345*")
	lines := strings.Split(render(tab, style{}), "\n")
	if at := strings.Index(lines[1], "."); at < 0 || at != strings.Index(lines[2], ".") {
		t.Errorf("decimal points are not aligned:\n%s\n%s", lines[1], lines[2])
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9]+m")

func TestColourChangesNothingButColour(t *testing.T) {
	tab := &table{columns: []column{left("source"), number("loss %"), left("failure")}}
	tab.rows = append(tab.rows, []cell{{"a", strong}, {"0.00", plain}, {"", alarm}}, []cell{{"b", strong}, {"100.00", alarm}, {"timeout", alarm}})
	coloured := render(tab, style{colour: true})
	if !strings.Contains(coloured, "\x1b[31mtimeout\x1b[0m") {
		t.Errorf("a failure is not red: %q", coloured)
	}
	if got, want := escape.ReplaceAllString(coloured, ""), render(tab, style{}); got != want {
		t.Errorf("without its colours:\n%s\nwant:\n%s", got, want)
	}
}

func TestTablePrintsNoControlCharacterOfAValueAndCutsLongOnes(t *testing.T) {
	tab := &table{columns: []column{left("source"), left("detail"), number("n")}}
	tab.add("a\x1b[31m", strings.Repeat("A", 100_000)+"\n", "1")
	tab.add("b", "x\r\n\u202ey", "2")
	got := render(tab, style{})
	if strings.ContainsAny(got, "\x1b\r\u202e") {
		t.Errorf("a control character came through: %q", got)
	}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 140 {
			t.Errorf("a line of %d characters", n)
		}
	}
	if want := `b          x\r\n\u202ey`; !strings.HasPrefix(lines[2], want) {
		t.Errorf("line %q, want it to begin with %q", lines[2], want)
	}
}
