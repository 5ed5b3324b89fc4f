package alerts_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const twoProbers = `version: 1
environment: test
budget: {sweep: 200GB, month: 5TB}
probers:
  - region: westeurope
    addresses: {public: [20.50.0.0/16]}
  - region: eastus
    addresses: {public: [20.42.0.0/16]}
probes:
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public], count: 100, interval: 20ms, request: 64}
  - {name: nightly, kind: throughput, schedule: "30 2 * * *", paths: [public], max_bytes: 2GB}
`

// byTheClock is a series that is 20 ms slower from 8 to 18 o'clock where its source is.
func byTheClock(t *testing.T, from, until time.Time) (lines []string) {
	t.Helper()
	amsterdam, err := time.LoadLocation("Europe/Amsterdam")
	must(t, err)
	m := newMemory(environment)
	m.config = []byte(twoProbers)
	p := &person{rows: m, from: m}
	for at := from.Add(-28*24*time.Hour - 3*time.Hour); at.Before(until); at = at.Add(time.Hour) {
		v := 80.0
		if h := at.In(amsterdam).Hour(); h >= 8 && h < 18 {
			v = 100
		}
		hour := hourOf(is, at, v, 79)
		m.put(hour)
		if !at.Before(from) {
			must(t, p.hear(t.Context(), hour))
		}
	}
	return p.lines(t)
}

// When clocks go forward or back people come an hour earlier or later by UTC, and that is as usual. The days have
// 23 and 25 hours.
func TestClocksThatAreChangedRaiseNothing(t *testing.T) {
	for _, change := range []time.Time{time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)} {
		if lines := byTheClock(t, change.Add(-24*time.Hour), change.Add(72*time.Hour)); len(lines) > 0 {
			t.Errorf("after %s: %q", change, lines)
		}
	}
}

// The same hours, on the day on which clocks go back, twice as slow: it is found in the hours that there are.
func TestADeviationOnADayOf25HoursIsFound(t *testing.T) {
	amsterdam, err := time.LoadLocation("Europe/Amsterdam")
	must(t, err)
	m := newMemory(environment)
	m.config = []byte(twoProbers)
	p := &person{rows: m, from: m}
	night := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC) // 2 o'clock, and at 1:00 UTC 2 o'clock again
	for at := night.Add(-28*24*time.Hour - 3*time.Hour); at.Before(night.Add(8 * time.Hour)); at = at.Add(time.Hour) {
		v := 80.0
		if at.In(amsterdam).Hour() == 2 && !at.Before(night) || at.Equal(night.Add(2*time.Hour)) {
			v = 100 // the two hours that are called 2 o'clock, and 3 o'clock
		}
		hour := hourOf(is, at, v, 79)
		m.put(hour)
		if !at.Before(night) {
			must(t, p.hear(t.Context(), hour))
		}
	}
	want := []string{"alert raised deviation " + subject + " 2026-10-25T00", "alert ended deviation " + subject + " 2026-10-25T00"}
	if diff := gocmp.Diff(want, p.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
