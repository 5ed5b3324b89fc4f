package alerts_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/tables"
)

// deviating is a series that is three hours slower than usual, some of its hours made up by a model.
func deviating(t *testing.T, simulated func(at time.Time) bool) (*memory, *person) {
	t.Helper()
	m := newMemory(environment)
	p := &person{rows: m, from: m}
	for h := -28*24 - 5; h < 6; h++ {
		at := hour0.Add(time.Duration(h) * time.Hour)
		above := 0.0
		if h >= 0 && h < 3 {
			above = 5
		}
		hour := hourOf(is, at, usual(at)+above, 79)
		if simulated(at) {
			hour.Simulated = 6
		}
		m.put(hour)
		if h >= 0 {
			must(t, p.hear(t.Context(), hour))
		}
	}
	return m, p
}

func TestWhatAModelMadeUpIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		simulated        func(time.Time) bool
		lines            int
		simulated1, quit bool
	}{
		"measured":          {func(time.Time) bool { return false }, 2, false, false},
		"all of a model":    {func(time.Time) bool { return true }, 2, true, false},
		"a model's history": {func(at time.Time) bool { return at.Before(hour0) }, 0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := deviating(t, c.simulated)
			if n := len(p.lines(t)); n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if got := strings.Count(p.log.String(), `"simulated":true`); got != 0 && !c.simulated1 || got != c.lines && c.simulated1 {
				t.Errorf("%d lines say that it was simulated", got)
			}
			if len(m.alerts) != 1 {
				t.Fatalf("%d alerts", len(m.alerts))
			}
			for _, a := range m.alerts {
				if a.Simulated != c.simulated1 || a.Quiet != c.quit || a.Ended.IsZero() {
					t.Errorf("alert %+v", a)
				}
			}
		})
	}
}

// The keys and messages of the lines are what alert rules match.
func TestTheLinesAreAsDocumented(t *testing.T) {
	_, p := deviating(t, func(time.Time) bool { return false })
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	for i, want := range []string{
		`"level":"WARN","msg":"alert raised","environment":"test","kind":"deviation","series":"westeurope|eastus|public|tcp-64","since":"2026-11-30T10:00:00Z","lasted_s":0,"simulated":false,"text":"p50 87.`,
		`"level":"INFO","msg":"alert ended","environment":"test","kind":"deviation","series":"westeurope|eastus|public|tcp-64","since":"2026-11-30T10:00:00Z","lasted_s":21900,"simulated":false,"text":"p50 `,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("lines are\n%s\nwant in line %d\n%s", p.log.String(), i, want)
		}
	}
}

func TestWhatNobodyPlannedAndBulkIsNotWatched(t *testing.T) {
	m := newMemory(environment)
	foreign, bulk := is, is
	foreign.Probe, bulk.Probe = "ext.ping", "nightly"
	hours := []tables.Level{newsOf(hourOf(foreign, hour0, 80, 79)), newsOf(hourOf(bulk, hour0, 80, 79))}
	hours[1].Kind = wire.KindThroughput
	p := &person{rows: m, from: m}
	must(t, p.at(hour0.Add(time.Hour)).Watch(t.Context(), is.Source, hours))
	if len(m.levels) != 0 || len(m.calls) != 0 {
		t.Errorf("%d rows, calls %v", len(m.levels), m.calls)
	}
}

func TestKindsThatAreOffRaiseNothingAndEndWhatLasts(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	for i := range 4 {
		if i == 3 {
			m.config = []byte(twoProbers + "alerts: {deviation: {off: true}}\n")
		}
		at := hour0.Add(time.Duration(i) * time.Hour)
		h := hourOf(is, at, usual(at)+5, 79)
		m.put(h)
		must(t, p.hear(t.Context(), h))
	}
	if diff := gocmp.Diff([]string{raisedLine + "10", endedLine + "10"}, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestThresholdsAreTheConfigurations(t *testing.T) {
	m := inMemory()
	m.config = []byte(twoProbers + "alerts: {deviation: {least: 6ms}}\n")
	p := &person{rows: m, from: m}
	for i := range 4 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		must(t, p.hear(t.Context(), hourOf(is, at, usual(at)+5, 79)))
	}
	if lines := p.lines(t); len(lines) > 0 {
		t.Errorf("lines are %q", lines)
	}
}

func TestAConfigurationThatCannotBeUsedLeavesTheDefaults(t *testing.T) {
	m := inMemory()
	m.config = []byte("alerts: none\n")
	p := &person{rows: m, from: m}
	for i := range 3 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		must(t, p.hear(t.Context(), hourOf(is, at, usual(at)+5, 79)))
	}
	if lines := p.lines(t); len(lines) != 1 || !strings.Contains(p.log.String(), "alerts go by the defaults") {
		t.Errorf("logged %s", p.log.String())
	}
}

// Four weeks of hours are read a request a series, so only of some at a time; the others wait their turn.
func TestHistoryIsReadOfSomeSeriesAtATime(t *testing.T) {
	m := newMemory(environment)
	p := &person{rows: m, from: m}
	var news []tables.Level
	for i := range 100 {
		series := is
		series.Target = fmt.Sprintf("target-%d", i)
		news = append(news, newsOf(hourOf(series, hour0, 80, 79)))
	}
	for round, want := range []alerts.Report{{Series: 100, Read: 40, Waiting: 60}, {Series: 100, Read: 40, Waiting: 20}, {Series: 100, Read: 20}, {Series: 100}} {
		e := p.at(hour0.Add(time.Duration(round+1) * time.Hour))
		e.ChangesIn = nil
		must(t, e.Watch(t.Context(), is.Source, news))
		if got := e.Report(); got != want {
			t.Errorf("round %d: %+v, want %+v", round, got, want)
		}
	}
}

// A week later they are read again: hours may have been computed past us.
func TestHistoryIsReadAgainEveryWeek(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	must(t, p.hear(t.Context(), hourOf(is, hour0, usual(hour0), 79)))
	past := hour0.Add(-30 * time.Hour)
	m.put(hourOf(is, past, 123, 79)) // a backfill by hand
	for _, c := range []struct {
		after time.Duration
		want  float32
	}{{6 * 24 * time.Hour, 0}, {7*24*time.Hour + time.Hour, 123_000}} {
		at := hour0.Add(c.after)
		h := hourOf(is, at, usual(at), 79)
		m.put(h)
		must(t, p.hear(t.Context(), h))
		l := m.levels[is]
		place, _ := l.Place(past)
		if got := l.P50US[place]; (got == 123_000) != (c.want == 123_000) {
			t.Errorf("after %s the hour is %v", c.after, got)
		}
	}
}

func TestAnHourThatIsGoneIsGone(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	must(t, p.hear(t.Context(), hourOf(is, hour0, usual(hour0), 79)))
	must(t, p.at(hour0.Add(time.Hour)).Watch(t.Context(), is.Source, []tables.Level{{Series: wire.Series{Source: is.Source, Target: is.Target, Path: is.Path, Probe: is.Probe}, Begin: hour0}}))
	l := m.levels[is]
	if at, ok := l.Place(hour0); !ok || l.P50US[at] == l.P50US[at] {
		t.Errorf("it is at %d, %v", at, l.P50US[at])
	}
}

// What lasts of a series that nobody measures any more is over after a week.
func TestTheAlertOfASeriesThatIsNotMeasuredEnds(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	for i := range 3 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		h := hourOf(is, at, usual(at)+5, 79)
		m.put(h)
		must(t, p.hear(t.Context(), h))
	}
	for _, c := range []struct{ days, lines int }{{6, 1}, {8, 2}} {
		must(t, p.at(hour0.AddDate(0, 0, c.days)).Finish(t.Context()))
		if n := len(p.lines(t)); n != c.lines {
			t.Errorf("after %d days %d lines", c.days, n)
		}
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	for i := range 2 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		must(t, p.hear(t.Context(), hourOf(is, at, usual(at)+5, 79)))
	}
	at := hour0.Add(2 * time.Hour)
	third := hourOf(is, at, usual(at)+5, 79)
	e := p.at(at.Add(65 * time.Minute))
	e.DryRun = true
	before := len(m.calls)
	must(t, e.Watch(t.Context(), is.Source, []tables.Level{newsOf(third)}))
	must(t, e.Finish(t.Context()))
	for _, op := range m.calls[before:] {
		if !reads(op) {
			t.Errorf("a dry run calls %s", op)
		}
	}
	if f := e.Findings(); len(f) != 1 || f[0].State != alerts.StateRaised || f[0].Subject != subject || len(p.lines(t)) != 0 {
		t.Errorf("findings %+v, lines %q", f, p.lines(t))
	}
}

// A fault that stays is told, and the roller keeps the marks.
func TestFaultsOfStorageAreTold(t *testing.T) {
	m := inMemory()
	m.fault = func(_ int, op string) fault {
		if op == "WriteLevels" {
			return notStored
		}
		return none
	}
	p := &person{rows: m, from: m}
	err := p.at(hour0.Add(time.Hour)).Watch(t.Context(), is.Source, []tables.Level{newsOf(hourOf(is, hour0, 80, 79))})
	if !injected(err) || !strings.Contains(err.Error(), `looking for alerts of "westeurope"`) || errors.Is(err, tables.ErrChanged) {
		t.Errorf("%v", err)
	}
}

// Windows of one source come at once: one line all the same.
func TestWindowsOfOneSourceTellOnce(t *testing.T) {
	m := inMemory()
	p := &person{rows: m, from: m}
	var news []tables.Level
	for i := range 3 {
		at := hour0.Add(time.Duration(i) * time.Hour)
		h := hourOf(is, at, usual(at)+5, 79)
		m.put(h)
		news = append(news, newsOf(h))
	}
	m.before = func(op string) {
		if op == "Claim" { // time enough for the others
			time.Sleep(20 * time.Millisecond)
		}
	}
	e := p.at(hour0.Add(3 * time.Hour))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := e.Watch(t.Context(), is.Source, news); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if lines := p.lines(t); len(lines) != 1 {
		t.Errorf("lines are %q", lines)
	}
}
