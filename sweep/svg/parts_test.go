package svg

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestADotPlotHasRoomForItsTexts(t *testing.T) {
	value, low, limit := 5.0, 4.0, 9.5
	long := strings.Repeat("a long name ", 40)
	rows := []Dot{{Label: long, Value: &value, Low: &low, Text: "5 ms"}, {Label: "unknown", Text: "-"}, {Label: "up", Value: &value, Shape: Up}, {Label: "cross", Value: &limit, Shape: Cross, Strong: true}}
	c := Begin(Head{Title: long, About: "rows", Lines: []string{long}})
	c.Dots(Dots{Rows: rows, X: AxisOf("takes, ms", rows, 0), Zero: true, Limit: &limit, LimitText: "at most"})
	texts := wellFormed(t, c.Bytes())
	got := string(c.Bytes())
	if n := strings.Count(got, `class="whisker"`); n != 1 {
		t.Errorf("%d whiskers, want 1: an end that is not known has none", n)
	}
	if n := strings.Count(got, `<circle`); n != 1 {
		t.Errorf("%d discs, want 1: a value that is not known has none", n)
	}
	for _, text := range texts {
		if !strings.Contains(text, "{") && text != long[:len(text)] && Width(text) > sheetWidth {
			t.Errorf("a line of %.0f pixels: %q", Width(text), text)
		}
	}
	if !strings.Contains(got, ">takes, ms<") || !strings.Contains(got, ">at most<") || !strings.Contains(got, "…<") {
		t.Errorf("the axis' title, the limit's text or the cut is missing:\n%s", got)
	}
}

func TestAGridOfManyStepsStaysAsWideAsTheSheet(t *testing.T) {
	g := Grid{Rows: []string{"a"}, Ends: []string{"720 of 720"}, Sequence: true, MinWide: 34, Box: func(int, int) Box { return Box{Class: "cell", Text: "100", Says: "all"} }}
	for i := range 250 {
		g.Columns = append(g.Columns, fmt.Sprintf("%02d:00", i%24))
	}
	c := Begin(Head{Title: "steps"})
	c.Grid(g)
	got := string(c.Bytes())
	if c.width > int(sheetWidth) {
		t.Errorf("%d pixels wide", c.width)
	}
	if strings.Contains(got, ">100</text>") {
		t.Error("numbers are written where they have no room")
	}
	if n := strings.Count(got, ":00</text>"); n == 0 || n > 25 {
		t.Errorf("%d names of columns", n)
	}
}

func TestManyLongNamesOfColumnsAreWrittenAslant(t *testing.T) {
	g := Grid{MinWide: 64, Box: func(row, column int) Box { return Box{Class: "fault", Text: "target_down"} }}
	for i := range 12 {
		g.Columns = append(g.Columns, fmt.Sprintf("southeastasia-%d", i))
	}
	for _, want := range []int{12, 0} {
		c := Begin(Head{Title: "names"})
		c.Grid(g)
		if n := strings.Count(string(c.Bytes()), "rotate(-45)"); n != want {
			t.Errorf("%d of %d names are aslant, want %d", n, len(g.Columns), want)
		}
		g.Columns = g.Columns[:3]
	}
}

func TestTheYearsOfAFileHaveFewTicks(t *testing.T) {
	a := TimeAxis("time", time.Unix(0, 0), time.Unix(253_402_300_799, 0))
	if len(a.Ticks) == 0 || len(a.Ticks) > 15 {
		t.Errorf("%d ticks", len(a.Ticks))
	}
	if a := TimeAxis("time", time.Unix(60, 0), time.Unix(60, 0)); len(a.Ticks) > 1 {
		t.Errorf("%d ticks of no time", len(a.Ticks))
	}
}
