package rollup_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// Each day's 10 o'clock has a run whose median is the day's number in ms, and every seventh day's 22 o'clock
// another.
func TestAProfileIsWhatSuchHoursAreUsuallyLike(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var hours []tables.Hour
	var all []int64
	at := func(begin time.Time, rtt ...int64) {
		h, err := rollup.HourOf(rowsOf(measured(t, s, begin.Add(10*time.Minute), rtt...)), begin)
		must(t, err)
		hours = append(hours, *h)
	}
	for back := range 30 { // newest first; the last two are too old
		begin := day.AddDate(0, 0, -back-1)
		if back%7 == 0 {
			at(begin.Add(22*time.Hour), append(span(300*time.Millisecond, 0, 24), lost)...)
		}
		rtt := span(time.Duration(back+1)*time.Millisecond, 0, 40)
		if back < 28 {
			all = append(all, rtt...)
		}
		at(begin.Add(10*time.Hour), rtt...)
	}
	at(day.Add(-29*24*time.Hour), span(time.Millisecond, 0, 40)...) // and so is this one
	got := rollup.ProfilesOf(hours, day)
	if len(got) != 2 || got[0].HourOfDay != 10 || got[1].HourOfDay != 22 {
		t.Fatalf("profiles are %s", line(t, got))
	}
	p := got[0]
	// Of 1, 2 … 28 by linear interpolation: 1 + 27/4, 14.5 and 1 + 3·27/4.
	if p.Series != s || p.Hours != 28 || p.Runs != 28 || !counts(p.P50.N, 28) || !p.Since.Equal(day.AddDate(0, 0, -28)) || !p.Until.Equal(day) {
		t.Errorf("at 10: %s", line(t, p))
	}
	for what, of := range map[string]struct {
		got  *float64
		want float64
	}{"q1": {p.P50.Q1, 7750}, "median": {p.P50.Median, 14_500}, "q3": {p.P50.Q3, 21_250}} {
		if of.got == nil || math.Abs(*of.got/of.want-1) > 1e-3 {
			t.Errorf("%s is %v, want %g", what, text(of.got), of.want)
		}
	}
	slices.Sort(all) // 1,120: the 1,109th
	if want := float64(all[1108]) / 1000; !near(p.P99US, want) || !counts(p.Received, 1120) || !is(p.Loss.Ratio, 0) {
		t.Errorf("p99 %v of %v, want %g", text(p.P99US), p.Received, want)
	}
	// Four hours of 24 round trips: quartiles, and too few for a p99.
	if p = got[1]; p.Hours != 4 || !near(p.P50.Median, 300_000) || p.P50.Q1 == nil || p.P99US != nil || !is(p.Loss.Ratio, 4.0/100) || !counts(p.Loss.Sent, 100) {
		t.Errorf("at 22: %s", line(t, p))
	}
	again := rollup.ProfilesOf(hours[1:], day)
	if again[0].Inputs != got[0].Inputs || again[1].Inputs == got[1].Inputs || again[1].Hours != 3 || again[1].P50.Q1 != nil || again[1].P50.Median == nil {
		t.Errorf("without one of the hours: %s", line(t, again[1]))
	}
}

func TestAProfileOfThroughputIsOfTheHoursMedians(t *testing.T) {
	s := seriesOf(environment, "westeurope", "eastus")
	rnd := rand.New(rand.NewPCG(1, 2))
	var hours []tables.Hour
	for back, i := range rnd.Perm(5) {
		bps, n := float64(i+1)*1e8, 1
		h := tables.Hour{Series: s, Begin: hour0.AddDate(0, 0, -back-1), Runs: 1, Inputs: "x", Up: tables.Rates{N: &n, Min: &bps, Median: &bps, Max: &bps}}
		hours = append(hours, h)
	}
	got := rollup.ProfilesOf(hours, hour0.Truncate(24*time.Hour))
	if len(got) != 1 || !counts(got[0].Up.N, 5) || !is(got[0].Up.Q1, 2e8) || !is(got[0].Up.Median, 3e8) || !is(got[0].Up.Q3, 4e8) || got[0].Down.N != nil || got[0].P50.N != nil {
		t.Errorf("profiles are %s", line(t, got))
	}
}
