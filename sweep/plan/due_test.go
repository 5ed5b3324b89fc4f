package plan

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/config"
)

func TestDueProbesAreThoseOfTheMinute(t *testing.T) {
	c := readConfig(t)
	for _, tc := range []struct {
		slot string
		want []string
	}{
		{"2026-11-30T10:20:00Z", []string{"rtt", "handshake"}},
		{"2026-11-30T10:20:59Z", []string{"rtt", "handshake"}}, // the minute counts
		{"2026-11-30T11:20:00+01:00", []string{"rtt", "handshake"}},
		{"2026-11-30T10:30:00Z", []string{"rtt"}},
		{"2026-11-30T10:21:00Z", nil},
		{"2026-11-30T01:30:00Z", []string{"rtt", "nightly"}}, // 02:30 in Amsterdam in winter
		{"2026-07-30T00:30:00Z", []string{"rtt", "nightly"}}, // and in summer
		{"2026-07-30T01:30:00Z", []string{"rtt"}},
	} {
		at, err := time.Parse(time.RFC3339, tc.slot)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Due(c, at) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.slot, got, tc.want)
		}
	}
}

// dueOn lists the slots of the UTC days around a date at which a schedule is due.
func dueOn(t *testing.T, schedule, date string) []string {
	t.Helper()
	body, err := os.ReadFile("testdata/sweep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse([]byte(strings.Replace(string(body), `"*/10 * * * *"`, fmt.Sprintf("%q", schedule), 1)))
	if err != nil {
		t.Fatal(err)
	}
	c.Probes = c.Probes[:1]
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for at := day.Add(-12 * time.Hour); at.Before(day.Add(36 * time.Hour)); at = at.Add(time.Minute) {
		if len(Due(c, at)) > 0 {
			out = append(out, at.Format("02T15:04"))
		}
	}
	return out
}

// Clocks in Berlin go from 02:00 to 03:00 on 29 March 2026 and from 03:00 back to 02:00 on
// 25 October 2026, both at 01:00 UTC; in São Paulo from midnight to 01:00 on 4 November 2018;
// on Lord Howe Island from 02:00 to 02:30 on 4 October 2026, at 15:30 UTC the day before.
func TestDueWhereClocksChange(t *testing.T) {
	for _, tc := range []struct {
		name, schedule, date string
		want                 []string
	}{
		{"left out in spring", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-29", []string{"30T00:30"}},
		{"the day before", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28", []string{"28T01:30"}},
		{"beside the gap", "CRON_TZ=Europe/Berlin 0 3 * * *", "2026-03-29", []string{"29T01:00", "30T01:00"}},
		{"twice in autumn", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25", []string{"25T00:30", "25T01:30", "26T01:30"}},
		{"after the repeated hour", "CRON_TZ=Europe/Berlin 0 3 * * *", "2026-10-25", []string{"25T02:00", "26T02:00"}},
		{"UTC knows no change", "30 2 * * *", "2026-03-29", []string{"29T02:30", "30T02:30"}},
		{"a midnight that is left out", "CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-04", []string{"05T02:00"}},
		{"the midnight before", "CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-03", []string{"03T03:00"}},
		{"noon of that day", "CRON_TZ=America/Sao_Paulo 0 12 4 11 *", "2018-11-04", []string{"04T14:00"}},
		{"a change of half an hour", "CRON_TZ=Australia/Lord_Howe 0 3 4 10 *", "2026-10-03", []string{"03T16:00"}},
		{"left out by half an hour", "CRON_TZ=Australia/Lord_Howe 15 2 4 10 *", "2026-10-03", nil},
	} {
		if got := dueOn(t, tc.schedule, tc.date); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %s is due at %q, want %q", tc.name, tc.schedule, got, tc.want)
		}
	}
}
