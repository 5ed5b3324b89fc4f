package stack

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/sweep/config"
)

// What a sweep was to measure is the configuration's to say: sources, targets, endpoints and
// schedules are not every prober with every other at any time.
func TestPlannedSeriesAreTheConfigurations(t *testing.T) {
	c, err := config.Parse([]byte(`{version: 1, environment: dev, loopback: true,
probers: [
  {region: westeurope, addresses: {public: [127.0.0.11/32], peering: [127.0.0.21/32]}},
  {region: northeurope, addresses: {public: [127.0.0.12/32]}},
  {region: eastus, addresses: {public: [127.0.0.13/32]}}],
endpoints: [{name: db, path: peering, address: "127.0.0.1:1433"}, {name: api, url: "http://127.0.0.1:8080/"}],
probes: [
  {name: rtt, kind: tcp, schedule: "* * * * *", paths: [public], count: 1, interval: 1s, request: 64, from: [westeurope], to: [eastus]},
  {name: dial, kind: connect, schedule: "* * * * *", paths: [public, peering], count: 1, interval: 1s, from: [westeurope, eastus], to: [db, northeurope]},
  {name: web, kind: http, schedule: "* * * * *", paths: [public], count: 1, interval: 1s, from: [northeurope], to: [api]},
  {name: hourly, kind: icmp, schedule: "30 * * * *", paths: [public], count: 1, interval: 1s, from: [eastus], to: [westeurope]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for minute, want := range map[int][]string{
		20: {"rtt westeurope eastus public", "dial eastus northeurope public", "dial westeurope db peering", "dial westeurope northeurope public", "web northeurope api public"},
		30: {
			"rtt westeurope eastus public", "dial eastus northeurope public", "dial westeurope db peering", "dial westeurope northeurope public", "web northeurope api public",
			"hourly eastus westeurope public",
		},
	} {
		var got []string
		for _, s := range planned(c, time.Date(2026, 11, 30, 10, minute, 0, 0, time.UTC)) {
			if s.Environment != "dev" {
				t.Errorf("environment %q", s.Environment)
			}
			got = append(got, s.Probe+" "+s.Source+" "+s.Target+" "+s.Path)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("at minute %d: -want +got\n%s", minute, d)
		}
	}
}
