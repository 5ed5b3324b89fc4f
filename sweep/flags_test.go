package main

import (
	"testing"
	"time"
)

func TestSinceTakesDurationsDaysAndTimes(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"24h":                       now.Add(-24 * time.Hour),
		"90m":                       now.Add(-90 * time.Minute),
		"7d":                        now.Add(-7 * 24 * time.Hour),
		"2026-11-30T10:00:00Z":      time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		"2026-11-30T11:00:00+01:00": time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		"2026-11-30T10:00":          time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		"2026-11-01":                time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(in, now); err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yesterday", "-1h", "0s", "0d", "-3d", "d", "100000000000d", "9999999d", "2026-12-01", "2026-13-01", "1.5d", "1999-01-01"} {
		if got, err := parseSince(in, now); err == nil {
			t.Errorf("parseSince(%q) = %s, want an error", in, got)
		}
	}
}
