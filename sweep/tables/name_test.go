package tables

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestTheOrderOfKeysIsNewestFirst(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	series := seriesOf("test", "westeurope", "eastus")
	for range 5000 {
		a, b := time.Unix(rnd.Int64N(maxUnixSecond), 0), time.Unix(rnd.Int64N(maxUnixSecond), 0)
		pa, ra, err := runKey(series, a)
		must(t, err)
		pb, rb, err := runKey(series, b)
		must(t, err)
		if pa != pb || a.After(b) != (ra < rb) || a.Equal(b) != (ra == rb) || len(ra) != len(rb) {
			t.Fatalf("%s is %q, %s is %q", a, ra, b, rb)
		}
	}
}

func TestKeysAreThoseOfFormats(t *testing.T) {
	series := wire.Series{Environment: "test", Source: "westeurope", Target: "eastus", Path: "public", Probe: "ext.mtr"}
	p, r, err := runKey(series, slot0)
	// 9999999999 − 1796034000
	if want := "eastus|public|ext.mtr|8203965999"; err != nil || p != "westeurope" || r != want || slot0.Unix() != 1796034000 {
		t.Errorf("%q %q, %v; want %q", p, r, err, want)
	}
	p, r, err = latestKey(series)
	if err != nil || p != "public|ext.mtr" || r != "westeurope|eastus" {
		t.Errorf("%q %q, %v", p, r, err)
	}
}

// Table names have no separators: kind, environment and digits run into one another. No two of
// them may give one name, whatever the environment is called and whenever the time is.
func TestNoTwoTablesHaveOneName(t *testing.T) {
	kinds := []string{latestTable, dirtyTable, probersTable, profilesTable, runsTables, sweepsTables, hoursTables}
	for _, a := range kinds {
		for _, b := range kinds {
			if a != b && strings.HasPrefix(a, b) {
				t.Errorf("kind %q begins kind %q: with an environment that goes on alike their names are one", b, a)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	environments := []string{"te", "test", "test1", "test2026", "test202611", "prod", "pro", "prodiles", "bers", "runs", "run", "dev", "dev1", "dev2", "dev120", "hours"}
	for range 300 {
		e := environments[rnd.IntN(len(environments))]
		if e += strings.Repeat("20261"[rnd.IntN(5):][:1], rnd.IntN(4)); wire.ValidateEnvironment(e) == nil {
			environments = append(environments, e)
		}
	}
	type table struct{ kind, environment, digits string }
	whose := map[string]table{}
	for _, e := range environments {
		s := &Store{environment: e}
		for range 200 {
			at := time.Date(rnd.IntN(2500), time.Month(1+rnd.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
			if rnd.IntN(4) == 0 {
				at = time.Date(rnd.IntN(500000)-1000, time.Month(1+rnd.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
			}
			month, year := fourDigits(at).Format(monthForm), fourDigits(at).Format(yearForm)
			for name, is := range map[string]table{
				s.name(latestTable): {latestTable, e, ""}, s.name(dirtyTable): {dirtyTable, e, ""}, s.name(probersTable): {probersTable, e, ""},
				s.name(profilesTable): {profilesTable, e, ""}, s.monthName(runsTables, at): {runsTables, e, month},
				s.monthName(sweepsTables, at): {sweepsTables, e, month}, s.yearName(hoursTables, at): {hoursTables, e, year},
			} {
				if was, known := whose[name]; known && was != is {
					t.Fatalf("table %q is %+v and %+v", name, was, is)
				}
				whose[name] = is
				if len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
					t.Fatalf("table %q: the service takes 63 letters and digits", name)
				}
			}
		}
	}
}

func TestKeysThatCannotBeAreRefused(t *testing.T) {
	good := seriesOf("test", "westeurope", "eastus")
	for name, spoil := range map[string]func(*wire.Series, *time.Time){
		"apostrophe": func(s *wire.Series, _ *time.Time) { s.Target = "o'hare" },
		"upper case": func(s *wire.Series, _ *time.Time) { s.Source = "WestEurope" },
		"separator":  func(s *wire.Series, _ *time.Time) { s.Path = "a|b" },
		"slash":      func(s *wire.Series, _ *time.Time) { s.Probe = "a/b" },
		"empty":      func(s *wire.Series, _ *time.Time) { s.Probe = "" },
		"no slot":    func(_ *wire.Series, at *time.Time) { *at = time.Time{} },
		"far slot":   func(_ *wire.Series, at *time.Time) { *at = time.Unix(maxUnixSecond+1, 0) },
	} {
		s, at := good, slot0
		spoil(&s, &at)
		if p, r, err := runKey(s, at); err == nil {
			t.Errorf("%s: key %q %q", name, p, r)
		}
	}
	for _, k := range []string{"", "a'b", "a/b", `a\b`, "a#b", "a?b", "a\x00b", "aüb", strings.Repeat("x", maxKeyLength)} {
		if _, _, err := checked("p", k); err == nil {
			t.Errorf("key %q was accepted", k)
		}
	}
	if _, _, err := checked("p", strings.Repeat("x", maxKeyLength-1)); err != nil {
		t.Errorf("the longest key: %v", err)
	}
	longest := wire.Series{Environment: "abcdefghijkl", Source: strings.Repeat("s", 40), Target: strings.Repeat("t", 40),
		Path: strings.Repeat("p", 40), Probe: "ext." + strings.Repeat("q", 40)}
	if _, _, err := runKey(longest, slot0); err != nil {
		t.Errorf("the longest names: %v", err)
	}
}
