package tick

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/functions/host"
	"isochrone/functions/ncrontab"
)

func schedule(t *testing.T, spec string) ncrontab.Schedule {
	t.Helper()
	s, err := ncrontab.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at is a time on 30 November 2026, or on another day of that month when day is given in front.
func at(t *testing.T, clock string) time.Time {
	t.Helper()
	for _, form := range []string{"15:04:05.999", "2 15:04:05.999"} {
		if v, err := time.Parse(form, clock); err == nil {
			day := 30
			if form[0] == '2' {
				day = v.Day()
			}
			return time.Date(2026, 11, day, v.Hour(), v.Minute(), v.Second(), v.Nanosecond(), time.UTC)
		}
	}
	t.Fatalf("no time %q", clock)
	return time.Time{}
}

func TestTheSlotThatATickServes(t *testing.T) {
	const tenMinutes, everyMinute, everyFiveSeconds, daily = "0 */10 * * * *", "0 * * * * *", "*/5 * * * * *", "0 30 4 * * *"
	const hourly, sixHours, threeInTheMorning, quarters = "0 0 * * * *", "0 0 */6 * * *", "0 0 3 * * *", "0 */15 * * * *"
	for name, c := range map[string]struct {
		spec, next, now string // next empty: no status
		slot            string // empty: nothing is swept
		missed          []string
		onDemand        bool
	}{
		"on time":                      {spec: tenMinutes, next: "10:20:00", now: "10:20:00.004", slot: "10:20:00"},
		"exactly":                      {spec: tenMinutes, next: "10:20:00", now: "10:20:00", slot: "10:20:00"},
		"2 ms early":                   {spec: tenMinutes, next: "10:20:00", now: "10:19:59.998", slot: "10:20:00"},
		"a second early":               {spec: tenMinutes, next: "10:20:00", now: "10:19:59", slot: "10:20:00"},
		"on demand":                    {spec: tenMinutes, next: "10:20:00", now: "10:17:42.5", slot: "10:17:00", onDemand: true},
		"on demand, just after a slot": {spec: tenMinutes, next: "10:30:00", now: "10:20:01", slot: "10:20:00", onDemand: true},
		"on demand, 1.001 s early":     {spec: tenMinutes, next: "10:20:00", now: "10:19:58.999", slot: "10:19:00", onDemand: true},
		"late by less than half":       {spec: tenMinutes, next: "10:20:00", now: "10:24:00", slot: "10:20:00"},
		"late by exactly half":         {spec: tenMinutes, next: "10:20:00", now: "10:25:00", slot: "10:20:00"},
		"late by more than half":       {spec: tenMinutes, next: "10:20:00", now: "10:25:00.001", slot: "10:20:00"},
		"late by a period":             {spec: tenMinutes, next: "10:20:00", now: "10:30:00", slot: "10:30:00", missed: []string{"10:20:00"}},
		"late by several":              {spec: tenMinutes, next: "10:20:00", now: "10:56:10", slot: "10:50:00", missed: []string{"10:20:00", "10:30:00", "10:40:00"}},
		"late across midnight":         {spec: tenMinutes, next: "29 23:50:00", now: "00:11:00", slot: "00:10:00", missed: []string{"29 23:50:00", "00:00:00"}},
		"daily, late by an hour":       {spec: daily, next: "04:30:00", now: "05:30:00", slot: "04:30:00"},
		"daily, late by 13 hours":      {spec: daily, next: "04:30:00", now: "17:30:00", missed: []string{"04:30:00"}},
		"daily, three days late":       {spec: daily, next: "27 04:30:00", now: "05:00:00", slot: "04:30:00", missed: []string{"27 04:30:00", "28 04:30:00", "29 04:30:00"}},
		"no status":                    {spec: tenMinutes, now: "10:20:00.004", slot: "10:20:00"},
		"no status, 2 ms early":        {spec: tenMinutes, now: "10:19:59.998", slot: "10:20:00"},
		"no status, on demand":         {spec: tenMinutes, now: "10:27:00", slot: "10:20:00"},
		"seconds are cut off":          {spec: everyFiveSeconds, next: "10:20:35", now: "10:20:35.001", slot: "10:20:00"},
		"missed within one minute":     {spec: everyFiveSeconds, next: "10:20:35", now: "10:20:55.001", slot: "10:20:00"},
		"missed minutes, many ticks":   {spec: everyFiveSeconds, next: "10:18:35", now: "10:20:10.001", slot: "10:20:00", missed: []string{"10:18:00", "10:19:00"}},
		"irregular, late by 40 min":    {spec: "0 0 6,7,20 * * *", next: "06:00:00", now: "06:40:00", missed: []string{"06:00:00"}},
		"irregular, long period":       {spec: "0 0 6,7,20 * * *", next: "07:00:00", now: "13:00:00", slot: "07:00:00"},
		"every minute, 31 s late":      {spec: everyMinute, next: "10:20:00", now: "10:20:31", slot: "10:20:00"},
		"every minute, two late":       {spec: everyMinute, next: "10:20:00", now: "10:22:01", slot: "10:22:00", missed: []string{"10:20:00", "10:21:00"}},

		// The latest slot may itself have long passed.
		"daily, late by 23 hours":              {spec: threeInTheMorning, next: "29 03:00:00", now: "02:00:00", missed: []string{"29 03:00:00"}},
		"daily, two days late, at night":       {spec: threeInTheMorning, next: "28 03:00:00", now: "02:00:00", missed: []string{"28 03:00:00", "29 03:00:00"}},
		"daily, two days late, after 3":        {spec: threeInTheMorning, next: "28 03:00:00", now: "03:02:00", slot: "03:00:00", missed: []string{"28 03:00:00", "29 03:00:00"}},
		"hourly, late by 58 minutes":           {spec: hourly, next: "10:00:00", now: "10:58:00", missed: []string{"10:00:00"}},
		"hourly, late by exactly half":         {spec: hourly, next: "10:00:00", now: "10:30:00", slot: "10:00:00"},
		"hourly, late by more than half":       {spec: hourly, next: "10:00:00", now: "10:30:01", missed: []string{"10:00:00"}},
		"hourly, late by 91 minutes":           {spec: hourly, next: "09:00:00", now: "10:31:00", missed: []string{"09:00:00", "10:00:00"}},
		"hourly, late by 90 minutes":           {spec: hourly, next: "09:00:00", now: "10:30:00", slot: "10:00:00", missed: []string{"09:00:00"}},
		"every 6 hours, late by 5:50":          {spec: sixHours, next: "06:00:00", now: "11:50:00", missed: []string{"06:00:00"}},
		"every quarter, late by 9 minutes":     {spec: quarters, next: "10:15:00", now: "10:24:00", slot: "10:15:00"},
		"every quarter, late by 10 minutes":    {spec: quarters, next: "10:15:00", now: "10:25:00", slot: "10:15:00"},
		"every quarter, late by more":          {spec: quarters, next: "10:15:00", now: "10:25:00.001", missed: []string{"10:15:00"}},
		"late by all but a period":             {spec: tenMinutes, next: "10:20:00", now: "10:29:59.999", slot: "10:20:00"},
		"no status, daily, 23 hours ago":       {spec: threeInTheMorning, now: "02:00:00", missed: []string{"29 03:00:00"}},
		"no status, daily, on time":            {spec: threeInTheMorning, now: "03:00:00.004", slot: "03:00:00"},
		"a few times a day, the last long ago": {spec: "*/20 0 3 * * *", next: "03:00:20", now: "20:00:00", missed: []string{"03:00:00"}},
		// The status is of an older schedule; due by this one were 04:30 of both days.
		"a changed schedule, far back": {spec: daily, next: "29 10:20:00", now: "04:00:00", missed: []string{"29 10:20:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			var timer host.Timer
			if c.next != "" {
				timer.Status = &host.ScheduleStatus{Next: at(t, c.next)}
			}
			want := Tick{OnDemand: c.onDemand}
			if c.slot != "" {
				want.Slot = at(t, c.slot)
			}
			for _, m := range c.missed {
				want.Missed = append(want.Missed, at(t, m))
			}
			if diff := cmp.Diff(want, At(timer, schedule(t, c.spec), at(t, c.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStatusWithoutNextIsNone(t *testing.T) {
	got := At(host.Timer{Status: &host.ScheduleStatus{}}, schedule(t, "0 */10 * * * *"), at(t, "10:24:00"))
	if !got.Slot.Equal(at(t, "10:20:00")) || len(got.Missed) != 0 || got.OnDemand {
		t.Errorf("got %+v", got)
	}
}

func TestADayLongOutageListsEverySlot(t *testing.T) {
	got := At(host.Timer{Status: &host.ScheduleStatus{Next: at(t, "29 10:20:00")}, PastDue: true}, schedule(t, "0 */10 * * * *"), at(t, "10:21:00"))
	if !got.Slot.Equal(at(t, "10:20:00")) || len(got.Missed) != 144 || !got.MissedSince.IsZero() {
		t.Fatalf("slot %s, %d missed, since %s; want 10:20, 144 and none", got.Slot, len(got.Missed), got.MissedSince)
	}
	for i, m := range got.Missed {
		if want := at(t, "29 10:20:00").Add(time.Duration(i) * 10 * time.Minute); !m.Equal(want) {
			t.Fatalf("missed[%d] is %s, want %s", i, m, want)
		}
	}
}

func TestALongOutageListsTheNewestSlotsAndSaysSince(t *testing.T) {
	next := at(t, "1 00:00:30")
	got := At(host.Timer{Status: &host.ScheduleStatus{Next: next}}, schedule(t, "*/30 * * * * *"), at(t, "10:21:00"))
	if len(got.Missed) != maxMissed || !got.MissedSince.Equal(at(t, "1 00:00:00")) {
		t.Fatalf("%d missed, since %s", len(got.Missed), got.MissedSince)
	}
	if first, last := got.Missed[0], got.Missed[maxMissed-1]; !last.Equal(at(t, "10:20:00")) || !first.Equal(last.Add(-(maxMissed-1)*time.Minute)) {
		t.Errorf("missed from %s to %s", first, last)
	}
}

// Whatever the schedule and however late: what is swept is recent, and no due slot is forgotten.
func TestNoSlotIsServedLongAfterItAndNoneIsForgotten(t *testing.T) {
	for _, spec := range []string{"0 */10 * * * *", "0 0 * * * *", "0 0 */6 * * *", "0 0 3 * * *", "0 */15 * * * *", "0 0 6,7,20 * * *", "0 30 4 * * MON"} {
		due := schedule(t, spec)
		next := due.Prev(at(t, "20 00:00:00"))
		for range 4 {
			next = due.Next(next)
			for late := time.Duration(0); late < 49*time.Hour; late += 17 * time.Minute {
				now := next.Add(late)
				got := At(host.Timer{Status: &host.ScheduleStatus{Next: next}}, due, now)
				var want []time.Time
				for d := next; !d.After(now); d = due.Next(d) {
					want = append(want, d)
				}
				have := got.Missed
				if !got.Slot.IsZero() {
					have = append(have, got.Slot)
					if period := due.Next(got.Slot).Sub(got.Slot); now.Sub(got.Slot) > max(period/2, 10*time.Minute) {
						t.Fatalf("%s, next %s, now %s: slot %s", spec, next, now, got.Slot)
					}
				}
				if !slices.EqualFunc(want, have, time.Time.Equal) {
					t.Fatalf("%s, next %s, now %s: served and missed are %s, due were %s", spec, next, now, have, want)
				}
			}
		}
	}
}

func TestTimesOfOtherZonesGiveTheSameSlot(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	got := At(host.Timer{Status: &host.ScheduleStatus{Next: at(t, "10:20:00").In(zone)}}, schedule(t, "0 */10 * * * *"), at(t, "10:20:00.1").In(zone))
	if !got.Slot.Equal(at(t, "10:20:00")) || got.Slot.Location() != time.UTC {
		t.Errorf("slot %s", got.Slot)
	}
}
