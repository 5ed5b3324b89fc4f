package alerts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/archive"
	"isochrone/sweep/dispatch/storetest"
	"isochrone/sweep/tables"
)

var _ alerts.Rows = (*tables.Store)(nil)

// story is a deviation that begins, lasts and ends, told hour by hour.
var story = []float64{0, 5, 5, 5, 5, 0, 0, 0, 0}

// storyHour is one hour of the story.
func storyHour(series wire.Series, i int) tables.Hour {
	at := hour0.Add(time.Duration(i) * time.Hour)
	return hourOf(series, at, usual(at)+story[i], 79)
}

var storyLines = []string{raisedLine + "11", endedLine + "11"}

// each write of the story fails once, in each way, and the program ends at each call once: what was cut off is told
// by whoever comes next, nothing is told twice but after a crash between a line and the note that it was
// written, and the table ends in the same state.
func TestWhatIsCutOffIsToldByTheNext(t *testing.T) {
	undisturbed := inMemory()
	p := &person{rows: undisturbed, from: undisturbed}
	for i := range story {
		h := storyHour(is, i)
		undisturbed.put(h)
		must(t, p.hear(t.Context(), h))
	}
	if diff := gocmp.Diff(storyLines, p.lines(t)); diff != "" {
		t.Fatalf("undisturbed lines (-want +got):\n%s", diff)
	}
	tried := 0
	for call, op := range undisturbed.calls {
		for name, fault := range storetest.Faults(call, op) {
			if name == "stored anyway" && reads(op) {
				continue
			}
			tried++
			t.Run(fmt.Sprintf("%d %s %s", call, op, name), func(t *testing.T) { interrupted(t, undisturbed, fault) })
		}
	}
	if tried < 150 {
		t.Errorf("only %d faults were tried", tried)
	}
}

func interrupted(t *testing.T, undisturbed *memory, fault func(int, string) storetest.Fault) {
	m := inMemory()
	m.fault = fault
	p := &person{rows: m, from: m}
	for i := range story {
		h := storyHour(is, i)
		m.put(h)
		for try := 0; ; try++ {
			err := p.hear(t.Context(), h)
			if err == nil {
				break
			}
			if !injected(err) || try > 0 {
				t.Fatal(err)
			}
			// The host starts another process, or the next tick comes: the hour's mark is still there.
			m.fault = nil
		}
	}
	// What was cut off at the end is told an hour later.
	must(t, p.at(hour0.Add(time.Duration(len(story)+1)*time.Hour)).Finish(t.Context()))
	lines := p.lines(t)
	if got := slices.Compact(slices.Clone(lines)); !slices.Equal(got, storyLines) {
		t.Errorf("lines are %q", lines)
	}
	if len(lines) > len(storyLines)+1 {
		t.Errorf("%d lines: one fault led to more than one repetition", len(lines))
	}
	if diff := gocmp.Diff(sinces(undisturbed), sinces(m)); diff != "" || len(m.claims) != 0 {
		t.Errorf("%d claims, alerts (-undisturbed +got):\n%s", len(m.claims), diff)
	}
}

// sinces are the alerts of a store, without when they were told: a fault delays that.
func sinces(m *memory) (out []string) {
	for key, a := range m.alerts {
		out = append(out, fmt.Sprint(key, a.Ended.IsZero(), a.Message != "", a.EndMessage != ""))
	}
	slices.Sort(out)
	return out
}

// Two programs at once: of each alert one line, whoever writes it, wherever the other one comes between.
func TestTwoProgramsTellOnce(t *testing.T) {
	count := 0
	for at := 0; ; at++ {
		m := inMemory()
		first, second := &person{rows: m, from: m}, &person{rows: m, from: m}
		calls, within := 0, false
		var hour tables.Hour
		m.before = func(string) {
			if within {
				return
			}
			if calls++; calls-1 == at { // the second does all of it while the first is about to make this call
				within = true
				if err := second.hear(context.Background(), hour); err != nil {
					t.Error(err)
				}
				within = false
			}
		}
		for i := range story {
			hour = storyHour(is, i)
			m.put(hour)
			must(t, first.hear(t.Context(), hour))
		}
		lines := append(first.lines(t), second.lines(t)...)
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b, a) }) // raised before ended
		if diff := gocmp.Diff(storyLines, lines); diff != "" || len(m.claims) != 0 || len(m.alerts) != 1 {
			t.Fatalf("between at call %d: %d claims, %d alerts, lines (-want +got):\n%s", at, len(m.claims), len(m.alerts), diff)
		}
		if count = calls; at >= calls {
			break
		}
	}
	if count < 60 {
		t.Errorf("only %d calls were interleaved", count)
	}
}

// The story on the real store, by two programs at once.
func TestTheStoryOnTheRealStore(t *testing.T) {
	a, env := azuritetest.Environment(t)
	rows, err := tables.Open(a, env)
	must(t, err)
	blobs, err := archive.Open(a, env)
	must(t, err)
	series := is
	series.Environment = env
	var changes []tables.HourChange
	for h := 1; h <= 28*24+5; h++ {
		at := hour0.Add(-time.Duration(h) * time.Hour)
		hour := hourOf(series, at, usual(at), 79)
		changes = append(changes, tables.HourChange{Put: &hour, Begin: at})
	}
	must(t, rows.WriteHours(t.Context(), changes))
	people := []*person{{rows: rows, from: blobs}, {rows: rows, from: blobs}}
	for i := range story {
		h := storyHour(series, i)
		must(t, rows.WriteHours(t.Context(), []tables.HourChange{{Put: &h, Begin: h.Begin}}))
		var wait sync.WaitGroup
		for _, p := range people {
			wait.Go(func() {
				e := p.at(h.Begin.Add(65 * time.Minute))
				e.Environment = env
				if err := e.Watch(t.Context(), series.Source, []tables.Level{newsOf(h)}); err != nil {
					t.Error(err)
				}
				if err := e.Finish(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	lines := append(people[0].lines(t), people[1].lines(t)...)
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b, a) })
	if diff := gocmp.Diff(storyLines, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	claims, err := rows.Claims(t.Context())
	if err != nil || len(claims) != 0 {
		t.Errorf("claims %+v, %v", claims, err)
	}
	n := 0
	for a, err := range rows.Alerts(t.Context(), tables.AlertQuery{}) {
		must(t, err)
		if n++; a.Subject != subject || a.Ended.IsZero() || !a.Since.Equal(hour0.Add(time.Hour)) {
			t.Errorf("alert %+v", a)
		}
	}
	if n != 1 {
		t.Errorf("%d alerts", n)
	}
}
