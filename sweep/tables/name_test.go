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
