package main

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/dispatch"
)

const tickOf1020 = `{"Data":{"timer":{"ScheduleStatus":{"Last":"2026-11-30T10:10:00+00:00","Next":"2026-11-30T10:20:00+00:00"},"IsPastDue":false}},"Metadata":{}}`

// owing is an app whose sweep of 10:20 has failed.
func owing(t *testing.T) (*app, *fake, func(clock string)) {
	t.Helper()
	now := at(t, "10:20:00")
	f := &fake{sweepErr: errors.New("storage is away")}
	a, _ := faked(t, f, now)
	a.now = func() time.Time { return now }
	if w := post(a, "/Sweep", tickOf1020); w.Code != http.StatusInternalServerError {
		t.Fatalf("answered %d", w.Code)
	}
	f.sweepErr, f.calls, f.slot = nil, nil, time.Time{}
	return a, f, func(clock string) { now = at(t, clock) }
}

func TestASweepThatFailedIsMadeSoonAfter(t *testing.T) {
	a, f, clock := owing(t)
	clock("10:24:00")
	for _, want := range [][]string{{"sweep", "deliver", "drain", "resume"}, {"deliver", "drain", "resume"}} {
		if w := post(a, "/Ingest", `{"Data":{"timer":{}}}`); w.Code != http.StatusOK || !slices.Equal(f.calls, want) || !f.slot.Equal(at(t, "10:20:00")) {
			t.Errorf("answered %d, called %q, slot %s; want %q", w.Code, f.calls, f.slot, want)
		}
		f.calls = nil
	}
}

func TestASweepThatFailedLongAgoIsRecordedAsMissed(t *testing.T) {
	a, f, clock := owing(t)
	clock("10:25:01")
	if post(a, "/Ingest", `{"Data":{"timer":{}}}`); !slices.Equal(f.calls, []string{"deliver", "drain", "resume"}) {
		t.Errorf("called %q: it is too old to be swept", f.calls)
	}
	f.oweErr = errors.New("storage is away")
	for minute, want := range map[string]int{"10:30:00": http.StatusInternalServerError} {
		clock(minute)
		if w := post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":{"Next":"2026-11-30T10:30:00+00:00"}}}}`); w.Code != want || len(f.owed) != 1 {
			t.Errorf("answered %d, owed %v", w.Code, f.owed)
		}
	}
	f.oweErr = nil
	for range 2 { // the second finds nothing to do
		clock("10:40:00")
		if w := post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":{"Next":"2026-11-30T10:40:00+00:00"}}}}`); w.Code != http.StatusOK {
			t.Errorf("answered %d", w.Code)
		}
	}
	if want := []time.Time{at(t, "10:20:00"), at(t, "10:20:00")}; !slices.EqualFunc(f.owed, want, time.Time.Equal) || f.looks != 1 {
		t.Errorf("owed %v, want %v; looked %d times", f.owed, want, f.looks)
	}
}

// Another process served the ticks between, and may have failed.
func TestAProcessThatDidNotServeTheTickBeforeLooksAgain(t *testing.T) {
	f := &fake{}
	now := at(t, "10:20:00")
	a, _ := faked(t, f, now)
	a.now = func() time.Time { return now }
	for i, tick := range []struct {
		next  string
		looks int
	}{{"10:20:00", 1}, {"10:30:00", 1}, {"10:40:00", 1}, {"11:00:00", 2}, {"11:10:00", 2}} {
		now = at(t, tick.next)
		post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":{"Next":"2026-11-30T`+tick.next+`+00:00"}}}}`)
		if f.looks != tick.looks {
			t.Errorf("tick %d, of %s: looked %d times, want %d", i, tick.next, f.looks, tick.looks)
		}
	}
}

// The process that failed has ended: the ledger tells the next one.
func TestANewProcessLooksForSlotsThatNobodySwept(t *testing.T) {
	f := &fake{unswept: []time.Time{at(t, "09:50:00"), at(t, "10:00:00"), at(t, "10:10:00")}}
	a, _ := faked(t, f, at(t, "10:20:00"))
	if w := post(a, "/Sweep", tickOf1020); w.Code != http.StatusOK || !slices.Equal(f.calls, []string{"sweep", "deliver", "owe"}) || len(f.owed) != 3 {
		t.Errorf("answered %d, called %q, owed %v", w.Code, f.calls, f.owed)
	}
}

var _ dispatcher = (*dispatch.Dispatcher)(nil)
