package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/sweep/answers"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// found stands in for the search: changes as a series has them, seen as soon as six hours of the new level are there.
func found(changes ...answers.Change) func(p50, minima []trend.Point) []answers.Change {
	return func(p50, _ []trend.Point) (out []answers.Change) {
		for _, c := range changes {
			if p50[len(p50)-1].Time.Sub(c.Time) >= 6*time.Hour {
				out = append(out, c)
			}
		}
		return out
	}
}

func rerouted(hour int, before, after float64) answers.Change {
	return answers.Change{Time: hour0.Add(time.Duration(hour) * time.Hour), BeforeUS: before * 1000, AfterUS: after * 1000, P: 1e-9, Kind: answers.Rerouted}
}

// hearing is the story of a series of which changes are found, from hour0 on.
func hearing(t *testing.T, hours int, level func(hour int) float64, search func(hour int) func(p50, minima []trend.Point) []answers.Change) (*memory, *person) {
	t.Helper()
	m := inMemory()
	m.config = []byte(twoProbers + "alerts: {deviation: {off: true}}\n")
	p := &person{rows: m, from: m}
	for i := range hours {
		at := hour0.Add(time.Duration(i) * time.Hour)
		h := hourOf(is, at, usual(at)+level(i), 79+level(i))
		m.put(h)
		e := p.at(at.Add(65 * time.Minute))
		e.ChangesIn = search(i)
		must(t, e.Watch(t.Context(), is.Source, []tables.Level{newsOf(h)}))
		must(t, e.Finish(t.Context()))
	}
	return m, p
}

func always(f func(p50, minima []trend.Point) []answers.Change) func(int) func(p50, minima []trend.Point) []answers.Change {
	return func(int) func(p50, minima []trend.Point) []answers.Change { return f }
}

const changeLine = " change " + subject + " 2026-"

func TestAChangeIsToldOnceAndEndsByItself(t *testing.T) {
	m, p := hearing(t, 60, func(h int) float64 { return map[bool]float64{h >= 4: 12}[true] }, always(found(rerouted(4, 80, 92))))
	want := []string{"alert raised" + changeLine + "11-30T14", "alert ended" + changeLine + "11-30T14"}
	if diff := gocmp.Diff(want, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, a := range m.alerts {
		if *a.BeforeUS != 80_000 || *a.AfterUS != 92_000 || a.Change != "rerouted" || !strings.Contains(a.Message, "p50 92.000 ms since 2026-11-30 14:00Z, before 80.000 ms: rerouted") {
			t.Errorf("alert %+v", a)
		}
		// Seven of twelve hours must have moved for it to be looked for sooner than once a day.
		if raised := a.Raised.Sub(hour0) / time.Hour; raised < 10 || raised > 16 || a.Ended.Sub(a.Raised) < 24*time.Hour || a.Ended.Sub(a.Raised) > 25*time.Hour {
			t.Errorf("raised %s after the beginning, ended %s later", a.Raised.Sub(hour0), a.Ended.Sub(a.Raised))
		}
	}
}

// A search finds the place of a change some hours off the next time.
func TestAChangeThatIsFoundElsewhereIsTheSame(t *testing.T) {
	_, p := hearing(t, 90, func(h int) float64 { return map[bool]float64{h >= 4: 12}[true] }, func(hour int) func(p50, minima []trend.Point) []answers.Change {
		return found(rerouted(4+hour%5, 80, 92+float64(hour%3)))
	})
	if lines := p.lines(t); len(lines) != 2 {
		t.Errorf("lines are %q", lines)
	}
}

func TestAChangeBackIsAnother(t *testing.T) {
	_, p := hearing(t, 80, func(h int) float64 { return map[bool]float64{h >= 4 && h < 24: 12}[true] }, always(found(rerouted(4, 80, 92), rerouted(24, 92, 80))))
	want := []string{"alert raised" + changeLine + "11-30T14", "alert ended" + changeLine + "11-30T14", "alert raised" + changeLine + "12-01T10", "alert ended" + changeLine + "12-01T10"}
	if diff := gocmp.Diff(want, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// Some slow hours are no other level, whatever the search makes of them.
func TestALevelMustHaveLasted(t *testing.T) {
	_, p := hearing(t, 9, func(h int) float64 { return 12 }, always(func(_, _ []trend.Point) []answers.Change {
		return []answers.Change{rerouted(4, 80, 92)}
	}))
	if lines := p.lines(t); len(lines) > 0 {
		t.Errorf("after five hours %q", lines)
	}
}

func TestChangesThatAreOldOrSmallAreNotTold(t *testing.T) {
	for name, c := range map[string]answers.Change{"old": rerouted(-5*24, 80, 92), "small": rerouted(4, 80, 80.4), "less than 1 %": rerouted(4, 80, 80.7)} {
		if _, p := hearing(t, 40, func(int) float64 { return 0 }, always(found(c))); len(p.lines(t)) > 0 {
			t.Errorf("%s: %q", name, p.lines(t))
		}
	}
}

// The search takes milliseconds: what has not moved is searched once a day, what has, every three hours at most.
func TestSearchesAreSpread(t *testing.T) {
	for _, c := range []struct {
		moved       float64
		least, most int
	}{{0, 3, 3}, {12, 4, 3 + 24}} {
		searches := 0
		count := func(_, _ []trend.Point) []answers.Change { searches++; return nil }
		hearing(t, 72, func(h int) float64 { return map[bool]float64{h >= 4: c.moved}[true] }, always(count))
		if searches < c.least || searches > c.most {
			t.Errorf("moved by %v ms: %d searches in three days, want %d to %d", c.moved, searches, c.least, c.most)
		}
	}
}

func TestTheKindOfAChangeIsSaid(t *testing.T) {
	for kind, want := range map[answers.ChangeKind]string{answers.Congestion: "congestion, the smallest round trips stayed", answers.Step: "a step", answers.Rerouted: "rerouted, the smallest round trips moved"} {
		c := rerouted(4, 80, 92)
		c.Kind = kind
		m, _ := hearing(t, 20, func(h int) float64 { return map[bool]float64{h >= 4: 12}[true] }, always(found(c)))
		if text := fmt.Sprint(m.alerts); !strings.Contains(text, want) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}
