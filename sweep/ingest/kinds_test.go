package ingest_test

import (
	"strings"
	"testing"

	"isochrone/prober/wire"
	"isochrone/sweep/ingest"
)

// withKinds is the configuration with an endpoint and the kinds that need no session.
const withKinds = configuration + `  - {name: echo, kind: icmp, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, warmup: 1, to: [northeurope, api]}
  - {name: health, kind: http, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, timeout: 1s, warmup: 1, to: [api]}
endpoints:
  - {name: api, url: "http://127.0.0.99:8080/health"}
`

// What was measured is where the plan said: of icmp the bare address, of http any that the source
// may have found for the URL's host, at the URL's port.
func TestDocumentsOfTheNewKindsAreHeldAgainstThePlan(t *testing.T) {
	for name, c := range map[string]struct {
		probe   string
		address string // what the document says of its run to api
		reason  string // part of why it is refused; empty: it is stored
	}{
		"icmp as planned":        {"echo", "127.0.0.99", ""},
		"icmp with a port":       {"echo", "127.0.0.99:8080", `the address is "127.0.0.99:8080"; planned is "127.0.0.99"`},
		"icmp elsewhere":         {"echo", "127.0.0.98", "planned is"},
		"icmp and nowhere":       {"echo", "", "planned is"},
		"http as resolved":       {"health", "127.0.0.99:8080", ""},
		"http in IPv6":           {"health", "[2001:db8::4]:8080", ""},
		"http and never reached": {"health", "", ""},
		"http at another port":   {"health", "127.0.0.99:80", "planned is a numeric one with port 8080"},
		"http at a name":         {"health", "api.example.com:8080", "planned is a numeric one"},
		"http at a long text":    {"health", strings.Repeat("9", 299), "planned is a numeric one"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.SetConfig([]byte(withKinds))
			b.sweep(t)
			d := b.documents(t, "westeurope", "0000000a")[c.probe]
			d.Runs[index(d, "api")].Address = c.address
			b.deliver(t, d)
			report := b.drain(t)
			if c.reason == "" {
				if report != (ingest.Report{Listed: 1, Received: 1, Rows: len(d.Runs), Samples: 3 * len(d.Runs)}) {
					t.Errorf("report %+v, reasons %+v", report, b.store.Reasons())
				}
				return
			}
			if rs := b.store.Reasons(); report.Quarantined != 1 || len(rs) != 1 || rs[0].Stage != "plan" || !strings.Contains(rs[0].Text, c.reason) || len(rs[0].Text) > 1000 {
				t.Errorf("report %+v, reasons %+v; want %q", report, rs, c.reason)
			}
		})
	}
}

// A prober whose version does not know a kind says so, and its row says it too.
func TestASourceThatDoesNotKnowTheKind(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig([]byte(withKinds))
	b.sweep(t)
	d := b.documents(t, "westeurope", "0000000a")["health"]
	r := &d.Runs[0]
	planned := r.PlannedStart
	*r = wire.Run{Target: r.Target, Path: r.Path, Kind: r.Kind, PlannedStart: planned, Failure: wire.FailureUnsupported, Detail: "this prober does not know the kind"}
	b.deliver(t, d)
	if report := b.drain(t); report.Received != 1 || report.Rows != 1 {
		t.Errorf("report %+v, reasons %+v", report, b.store.Reasons())
	}
}
