package simulate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/config"
	"isochrone/sweep/simulate"
)

// twoRegions is a small configuration: a run every ten minutes over both paths, and throughput.
const twoRegions = `version: 1
environment: ENVIRONMENT
budget: {sweep: 50GB, month: 1TB}
probers:
  - region: westeurope
    addresses: {public: [20.50.0.0/16], peering: [10.1.0.0/24]}
  - region: eastus
    addresses: {public: [20.60.0.0/16], peering: [10.2.0.0/24]}
endpoints:
  - {name: shop, url: "https://shop.example/"}
probes:
  - {name: udp, kind: udp, schedule: "*/10 * * * *", paths: [public, peering], count: 40, interval: 20ms, timeout: 1s}
  - {name: connect, kind: connect, schedule: "5 * * * *", paths: [public], to: [eastus, shop], count: 10, interval: 20ms, timeout: 1s}
  - {name: page, kind: http, schedule: "7 * * * *", paths: [public], to: [shop], count: 10, interval: 100ms, timeout: 1s}
  - {name: rate, kind: throughput, schedule: "30 3 * * *", paths: [public], max_bytes: 2GB, duration: 10s, ramp: 2s}
`

func derived(t testing.TB, environment string, names ...string) *simulate.Derived {
	t.Helper()
	d, err := simulate.Derive([]byte(strings.Replace(twoRegions, "ENVIRONMENT", environment, 1)), time.Hour, names)
	must(t, err)
	return d
}

func modelOf(t testing.TB, d *simulate.Derived, weeks int, seed uint64) *simulate.Model {
	t.Helper()
	m, err := simulate.New(d, end.AddDate(0, 0, -7*weeks), end, seed)
	must(t, err)
	return m
}

func TestADerivedConfigurationSaysWhatIsMadeUp(t *testing.T) {
	d := derived(t, "test")
	var names, schedules []string
	for _, p := range d.Config.Probes {
		names, schedules = append(names, p.Name), append(schedules, p.Schedule)
	}
	if !slices.Equal(names, []string{"udp", "connect", "rate"}) || !slices.Equal(schedules, []string{"0 * * * *", "5 * * * *", "30 3 * * *"}) {
		t.Errorf("probes %q are due at %q", names, schedules)
	}
	if len(d.Left) != 1 || d.Left[0].Probe != "page" || len(d.Config.Endpoints) != 0 || !slices.Equal(d.Config.Probes[1].To, []string{"eastus"}) {
		t.Errorf("left out %+v, endpoints %v, connect goes to %q", d.Left, d.Config.Endpoints, d.Config.Probes[1].To)
	}
	if back, err := config.Parse(d.Text); err != nil || len(back.Probes) != 3 {
		t.Errorf("its text: %v", err)
	}
	if d = derived(t, "test", "udp"); len(d.Config.Probes) != 1 || d.Config.Budget.Sweep != 0 {
		t.Errorf("asked for udp: %d probes", len(d.Config.Probes))
	}
	whole, err := simulate.Derive(simulate.Shipped("test"), time.Hour, nil)
	if must(t, err); !bytes.Equal(whole.Text, simulate.Shipped("test")) {
		t.Error("a configuration in which nothing is to be changed was changed")
	}
	if _, err := simulate.Derive(simulate.Shipped("test"), 7*time.Minute, nil); err == nil {
		t.Error("7 minutes divide an hour")
	}
}

func TestTheSameSeedIsTheSameHistory(t *testing.T) {
	d := derived(t, "test")
	documents := func(seed uint64) (out [][]byte) {
		m := modelOf(t, d, 3, seed)
		for _, s := range simulate.Slots(d.Config, m.Since, m.Until)[:30] {
			examples, err := m.Examples(d.Config, s)
			must(t, err)
			for _, e := range examples {
				out = append(out, e.Body)
			}
		}
		return out
	}
	first := documents(1)
	if again := documents(1); !slices.EqualFunc(first, again, bytes.Equal) || len(first) < 30 {
		t.Errorf("the documents of seed 1 are not the same twice; %d of them", len(first))
	}
	if other := documents(2); slices.EqualFunc(first, other, bytes.Equal) {
		t.Error("seed 2 gives the documents of seed 1")
	}
	one, err := json.Marshal(modelOf(t, d, 3, 1).Truth)
	must(t, err)
	two, err := json.Marshal(modelOf(t, d, 3, 1).Truth)
	if must(t, err); !bytes.Equal(one, two) {
		t.Errorf("truth is\n%s\nand\n%s", one, two)
	}
}

// The busiest hour is that of the source's clock, before and after it changes.
func TestTheRhythmFollowsTheSourcesClock(t *testing.T) {
	m := modelOf(t, derived(t, "test"), 3, 1)
	peak := func(source, target string, day time.Time) (hour int) {
		most := 0.0
		for h := range 24 {
			if v := m.MedianUS(source, target, "peering", day.Add(time.Duration(h)*time.Hour)); v > most {
				most, hour = v, h
			}
		}
		return hour
	}
	for _, of := range []struct {
		source, target string
		day            time.Time
		want           int
	}{
		{"westeurope", "eastus", time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC), 13}, // CEST
		{"westeurope", "eastus", time.Date(2026, 10, 26, 0, 0, 0, 0, time.UTC), 14}, // CET
		{"eastus", "westeurope", time.Date(2026, 10, 30, 0, 0, 0, 0, time.UTC), 19}, // EDT
		{"eastus", "westeurope", time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), 20},  // EST
	} {
		if got := peak(of.source, of.target, of.day); got != of.want {
			t.Errorf("%s on %s: busiest at %d UTC, want %d", of.source, of.day.Format(time.DateOnly), got, of.want)
		}
	}
	if n := len(m.Clocks); n != 2 || m.Clocks[0].Zone != "Europe/Amsterdam" || !m.Clocks[1].At.Equal(time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)) {
		t.Errorf("clock changes %+v", m.Clocks)
	}
	friday := m.MedianUS("westeurope", "eastus", "peering", time.Date(2026, 10, 30, 14, 0, 0, 0, time.UTC))
	saturday := m.MedianUS("westeurope", "eastus", "peering", time.Date(2026, 10, 31, 14, 0, 0, 0, time.UTC))
	if p := m.Pairs[2]; p.Source != "westeurope" || p.Path != "peering" || math.Abs(friday-saturday-p.AmplitudeUS*(1-p.WeekendRatio)) > 0.01 {
		t.Errorf("a Saturday is %g µs below a Friday; %+v", friday-saturday, p)
	}
}

// What is stated is inside of the window, on the days and at the hours that docs/simulate.md says.
func TestWhatHappensIsStated(t *testing.T) {
	for seed := range uint64(20) {
		m := modelOf(t, derived(t, "test"), 3, seed)
		if len(m.Steps) != 1 || len(m.Congestions) != 1 || len(m.Outages) != 1 {
			t.Fatalf("seed %d: %+v, %+v, %+v", seed, m.Steps, m.Congestions, m.Outages)
		}
		s, c, o := m.Steps[0], m.Congestions[0], m.Outages[0]
		if s.Path != "public" || c.Path != "public" || s.Source == c.Source {
			t.Errorf("seed %d: step %+v, congestion %+v", seed, s, c)
		}
		if s.At.Weekday() != time.Wednesday || c.At.Weekday() != time.Tuesday || o.Since.Weekday() != time.Sunday || o.Until.Sub(o.Since) != 2*time.Hour {
			t.Errorf("seed %d: at %s, %s, %s", seed, s.At, c.At, o.Since)
		}
		for _, at := range []time.Time{s.At, c.At, o.Since} {
			if at.Before(m.Since) || !at.Before(m.Until) {
				t.Errorf("seed %d: %s lies outside", seed, at)
			}
		}
		before, after := m.MedianUS(s.Source, s.Target, s.Path, s.At.Add(-time.Nanosecond)), m.MedianUS(s.Source, s.Target, s.Path, s.At)
		if math.Abs(after-before-s.DeltaUS) > 1 {
			t.Errorf("seed %d: the median rises by %g, want %g", seed, after-before, s.DeltaUS)
		}
	}
}
