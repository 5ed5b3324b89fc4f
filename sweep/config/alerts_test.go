package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAlertsAndObjectivesAreRead(t *testing.T) {
	c, err := Parse(read(t, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := Alerts{
		Deviation: DeviationAlerts{Score: 6, Least: 2 * time.Millisecond},
		Change:    ChangeAlerts{Least: time.Millisecond, Lasts: 48 * time.Hour},
		Coverage:  CoverageAlerts{Percent: 75, Window: 6 * time.Hour},
		Objective: ObjectiveAlerts{Off: true},
	}
	if c.Alerts != want {
		t.Errorf("alerts %+v, want %+v", c.Alerts, want)
	}
	objectives := []Objective{
		// 20 MB/s are 160 Mbit/s; the probes are the first of the file that measure the pair.
		{Name: "orders", From: "westeurope", To: "northeurope", Path: "public", Throughput: "nightly", Latency: "rtt",
			ChangeRate: 160e6, RPO: 5 * time.Minute, MaxP99: 30 * time.Millisecond, Window: 7 * 24 * time.Hour},
		{Name: "bills", From: "eastus", To: "westeurope", Path: "public", Latency: "rtt", MaxP99: 120 * time.Millisecond, Window: 28 * 24 * time.Hour},
		{Name: "films", From: "westeurope", To: "northeurope", Path: "public", Throughput: "nightly", MinThroughput: 1.5e9, Window: 28 * 24 * time.Hour},
	}
	if diff := cmp.Diff(objectives, c.Objectives); diff != "" {
		t.Errorf("objectives (-want +got):\n%s", diff)
	}
}

func TestAlertsAreOnWithoutTheirSection(t *testing.T) {
	c, err := Parse(read(t, "least.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := Alerts{
		Deviation: DeviationAlerts{Score: 4, Least: 500 * time.Microsecond},
		Change:    ChangeAlerts{Least: 500 * time.Microsecond, Lasts: 24 * time.Hour},
		Coverage:  CoverageAlerts{Percent: 90, Window: 3 * time.Hour},
	}
	if c.Alerts != want || c.Objectives != nil {
		t.Errorf("alerts %+v, objectives %+v; want %+v and none", c.Alerts, c.Objectives, want)
	}
}
