package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// robfig/cron v3.0.1 slices a zone up to the first blank, which need not be there.
var zoneTraps = []string{
	"TZ=", "CRON_TZ=", "TZ=UTC", "CRON_TZ=Europe/Berlin", "CRON_TZ==", "CRON_TZ=\t0\t0\t*\t*\t*", "TZ=Europe/Berlin\n0\n2\n*\n*\n*",
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

// The trap is real: the library panics where parseSchedule answers with an error.
func TestMalformedZonesAreErrorsNotPanics(t *testing.T) {
	for _, text := range zoneTraps {
		if !panics(func() { _, _ = cron.ParseStandard(text) }) {
			t.Errorf("robfig/cron no longer panics on %q: is the guard still needed?", text)
		}
		if s, err := parseSchedule(text); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

func TestSchedulesAreReadInTheirZone(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, next string }{
		{"* * * * *", "2026-07-01T12:01:00Z"},
		{"*/10 * * * *", "2026-07-01T12:10:00Z"},
		{"  0   13  *  *  * ", "2026-07-01T13:00:00Z"},
		{"CRON_TZ=Europe/Amsterdam 0 15 * * *", "2026-07-01T13:00:00Z"},
		{"CRON_TZ=Europe/Amsterdam\t0 15 * * *", "2026-07-01T13:00:00Z"}, // a tab hides the zone from the library
		{"CRON_TZ=UTC 5 12 * * *", "2026-07-01T12:05:00Z"},
		{"CRON_TZ=Asia/Kolkata 0 0 * * *", "2026-07-01T18:30:00Z"},
		{"CRON_TZ=America/Argentina/Buenos_Aires 0 10 * * *", "2026-07-01T13:00:00Z"},
		{"CRON_TZ=Etc/GMT+5 0 8 * * *", "2026-07-01T13:00:00Z"},
		{"0 0 29 feb *", "2028-02-29T00:00:00Z"},
		{"0 6-10/2,22 * jul-sep Mon,wed", "2026-07-01T22:00:00Z"},
		{"0 0 13 * 5", "2026-07-03T00:00:00Z"}, // a Friday: either fits, as in crontab(5)
		{"15 ? * * ?", "2026-07-01T12:15:00Z"},
	} {
		s, err := parseSchedule(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := s.Next(at).Format(time.RFC3339); got != c.next {
			t.Errorf("%q is due at %s, want %s", c.text, got, c.next)
		}
		// Whoever asks in another zone gets the same instant: the default is UTC, not theirs.
		elsewhere := at.In(time.FixedZone("elsewhere", -7*3600))
		if got := s.Next(elsewhere).UTC().Format(time.RFC3339); got != c.next {
			t.Errorf("%q asked from elsewhere is due at %s, want %s", c.text, got, c.next)
		}
	}
}

func TestRunsThatOverlapAreFoundAtTheRightSpan(t *testing.T) {
	for _, c := range []struct {
		text    string
		closest time.Duration // of two due times that follow each other
	}{
		{"* * * * *", time.Minute},
		{"*/10 * * * *", 10 * time.Minute},
		{"*/25 * * * *", 10 * time.Minute}, // 0, 25, 50, then 0
		{"0 */5 * * *", 4 * time.Hour},
		{"55 23 * * 1", 12*time.Hour + 1}, // a week apart
		{"0 0,23 29 2,3 *", 23 * time.Hour},
		{"CRON_TZ=Europe/Berlin 0 */3 * * *", 2 * time.Hour},           // 00:00 to 03:00 in spring
		{"CRON_TZ=Europe/Berlin 30 2,14 * * *", time.Hour},             // 02:30 twice in autumn
		{"CRON_TZ=Asia/Tokyo 30 2,14 * * *", 12 * time.Hour},           // no change of clocks
		{"CRON_TZ=Australia/Lord_Howe 45 1,9,17 * * *", time.Hour / 2}, // clocks go back half an hour
	} {
		s, err := parseSchedule(c.text)
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		if first, second, found := tooClose(s, min(c.closest, MaxSpan)); found {
			t.Errorf("%q: %s and %s are closer than %s", c.text, first, second, c.closest)
		}
		if c.closest >= MaxSpan {
			continue
		}
		first, second, found := tooClose(s, c.closest+1)
		if !found || second.Sub(first) != c.closest {
			t.Errorf("%q: found %t, %s and %s; want them %s apart", c.text, found, first, second, c.closest)
		}
	}
}

func scheduleSeeds() []string {
	return append(slices.Clone(zoneTraps),
		"* * * * *", "CRON_TZ=Europe/Berlin 30 2 * * *", "@every 1m", "@hourly", "0 0 30 2 *", "*/0 * * * *", "0 0 * * sun-sat/2",
		"1,,2 * * * *", "9999999999999999999999 * * * *", "5/9223372036854775807 * * * *", "*-5 * * * *", "TZ=x 1 2 3 4", "CRON_TZ=../.. 0 0 * * *",
		"CRON_TZ=America/Sao_Paulo 0 0 * * *", "CRON_TZ=Asia/Beirut 0 0 31 3 *", "- - - - -", "/ / / / /", ", , , , ,", "\x00 * * * *",
	)
}

// No text panics, and what is read has a zone of its own and is due some day.
func FuzzSchedule(f *testing.F) {
	for _, text := range scheduleSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSchedule(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if s.Location == time.Local || s.Next(scheduleEpoch).IsZero() {
			t.Fatalf("%q was read as %+v", text, s)
		}
		tooClose(s, time.Hour)
	})
}
