package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"isochrone/functions/ncrontab"
	"isochrone/prober/wire/account"
)

func environment(changes ...string) func(string) string {
	env := map[string]string{
		account.EnvEnvironment: "dev", account.EnvAccountName: "isochronedev",
		envSweepSchedule: "0 */10 * * * *", envIngestSchedule: "0 * * * * *", envRollupSchedule: "0 5 * * * *", envCompactSchedule: "0 35 * * * *", envPort: "7071",
	}
	for i := 0; i < len(changes); i += 2 {
		env[changes[i]] = changes[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestSettings(t *testing.T) {
	s, err := readSettings(environment())
	if err != nil {
		t.Fatal(err)
	}
	if s.Environment != "dev" || s.Address != "127.0.0.1:7071" || s.Sweep.String() != "0 */10 * * * *" || s.Timeout != 4*time.Minute+30*time.Second {
		t.Errorf("got %+v", s)
	}
	for value, want := range map[string]time.Duration{"00:10:00": 9*time.Minute + 30*time.Second, "10m": 9*time.Minute + 30*time.Second, "45s": 15 * time.Second} {
		if s, err := readSettings(environment(envTimeout, value)); err != nil || s.Timeout != want {
			t.Errorf("%s %q: %s, %v; want %s", envTimeout, value, s.Timeout, err, want)
		}
	}
}

func TestEveryFaultOfTheSettingsIsReportedAtOnce(t *testing.T) {
	_, err := readSettings(environment(account.EnvEnvironment, "Dev!", account.EnvAccountName, "", envSweepSchedule, "*/10 * * * *",
		envIngestSchedule, "", envRollupSchedule, "hourly", envCompactSchedule, "daily", envPort, "http", envTimeout, "30s"))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{account.EnvEnvironment, account.EnvConnectionString, envSweepSchedule, envIngestSchedule, envRollupSchedule, envCompactSchedule, envPort, envTimeout} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
}

func TestRunRefusesToStartWithoutItsSettings(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), nil, func(string) string { return "" }, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), account.EnvEnvironment) {
		t.Errorf("code %d, stderr %q", code, &stderr)
	}
	if code := run(t.Context(), []string{"--help"}, environment(), &stdout, &stderr); code != 2 {
		t.Errorf("an argument gave code %d, want 2", code)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout %q", &stdout)
	}
}

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
	for _, form := range []string{"2006-01-02 15:04:05", "2006-01-2 15:04:05"} {
		for _, in := range []string{"2026-11-30 " + clock, "2026-11-" + clock} {
			if v, err := time.Parse(form, in); err == nil {
				return v
			}
		}
	}
	t.Fatalf("no time %q", clock)
	return time.Time{}
}
