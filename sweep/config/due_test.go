package config

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func rotating(t testing.TB, schedule string) *Probe {
	t.Helper()
	cron, err := parseSchedule(schedule)
	if err != nil {
		t.Fatal(err)
	}
	if err := rotates(cron); err != nil {
		t.Fatal(err)
	}
	return &Probe{Name: "rotating", Schedule: schedule, Cron: cron, Rotate: true}
}

// schedules of two to 24 times a day, in zones whose clocks change by an hour, by half an hour, at
// midnight, and not at all.
func schedules(random *rand.Rand) string {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"}
	n := 2 + random.IntN(23)
	minutes := []string{fmt.Sprint(random.IntN(60))}
	if n%2 == 0 && n > 2 && random.IntN(2) == 0 {
		n /= 2
		minutes = []string{"5", "35"}
	}
	var hours []string
	for _, h := range random.Perm(24)[:n] {
		hours = append(hours, fmt.Sprint(h))
	}
	return "CRON_TZ=" + zones[random.IntN(len(zones))] + " " + strings.Join(minutes, ",") + " " + strings.Join(hours, ",") + " * * *"
}

// Of a year's days each has exactly one slot, and any four weeks meet every time of the schedule's clock,
// whatever clocks do.
func TestFourWeeksMeetEveryTimeOfARotation(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 6 {
		p := rotating(t, schedules(random))
		const days = 400
		first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, random.IntN(1000))
		last := map[int]int{} // by the minute of the schedule's clock: the day on which it was met
		for d := range days {
			today := first.AddDate(0, 0, d)
			slot := p.Next(today.Add(-time.Second))
			if !slot.Before(today.Add(day)) || slot.Before(today) || !p.Due(slot) {
				t.Fatalf("%s: on %s the slot is %s", p.Schedule, today.Format(time.DateOnly), slot)
			}
			if next := p.Next(slot); next.Before(today.Add(day)) {
				t.Fatalf("%s: on %s it is due at %s and %s", p.Schedule, today.Format(time.DateOnly), slot, next)
			}
			local := slot.In(p.zone())
			last[local.Hour()*60+local.Minute()] = d
			for _, minute := range p.times() {
				met, ever := last[minute]
				if d >= 27 && (!ever || d-met > 27) {
					t.Fatalf("%s: the four weeks to %s did not meet %02d:%02d", p.Schedule, today.Format(time.DateOnly), minute/60, minute%60)
				}
			}
		}
		if len(last) != len(p.times()) {
			t.Errorf("%s: %d times were met, and the schedule has %d", p.Schedule, len(last), len(p.times()))
		}
	}
}

// Whether a probe is due depends on nothing but the slot: whoever asks in whatever order, and Next
// finds the same slots that Due does.
func TestDueIsAFunctionOfTheSlotAlone(t *testing.T) {
	p := rotating(t, "CRON_TZ=Europe/Berlin 20 */3 * * *")
	for _, from := range []time.Time{time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 30, 0, 0, 0, 0, time.UTC)} {
		var due []time.Time
		for at := from.Add(5 * day); at.After(from); at = at.Add(-20 * time.Minute) { // backwards
			if p.Due(at) {
				due = append([]time.Time{at}, due...)
			}
		}
		if len(due) != 5 {
			t.Errorf("from %s on: due at %v, want once a day", from, due)
		}
		at := from
		for _, want := range due {
			if at = p.Next(at); !at.Equal(want) {
				t.Errorf("next is %s, due is %s", at, want)
			}
		}
	}
}

func TestARotationOfADayIsWrittenOut(t *testing.T) {
	p := rotating(t, "0 */6 * * *")
	var got []string
	for at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Add(-time.Second); len(got) < 5; {
		at = p.Next(at)
		got = append(got, at.Format("02T15"))
	}
	if want := "[30T18 01T00 02T06 03T12 04T18]"; fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
