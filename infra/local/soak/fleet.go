package main

import (
	"fmt"
	"strings"
)

// regions are the probers' places. The first prober is never killed, so that its growth can be seen.
var regions = []string{"westeurope", "eastus", "southeastasia", "brazilsouth"}

// A zoned probe is due by the clock of a place whose clocks change.
type zoned struct {
	name, kind, zone string
	hours            []int // by that clock
}

// zonedProbes are due at the hours that are left out in spring, and come twice in autumn.
var zonedProbes = []zoned{
	{"berlin", "udp", "Europe/Berlin", []int{2, 3}},
	{"newyork", "connect", "America/New_York", []int{1, 2}},
}

// hourlyProbe is due at every slot.
const hourlyProbe = "tcp-64"

// configuration is the sweep.yaml of an environment. Nothing is ever sent to its addresses (RFC 5737).
func configuration(environment string, probers int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nenvironment: %s\ntiming: {lead: 30s, late: 3m, grace: 1m}\nprobers:\n", environment)
	for i, r := range regions[:probers] {
		fmt.Fprintf(&b, "  - region: %s\n    addresses: {public: [192.0.2.%d/32]}\n", r, i+1)
	}
	probe := func(name, kind, schedule string) {
		fmt.Fprintf(&b, "  - name: %s\n    kind: %s\n    schedule: %q\n    paths: [public]\n    count: 10\n    interval: 100ms\n    timeout: 1s\n    warmup: 1\n", name, kind, schedule)
		if kind == "tcp" {
			b.WriteString("    request: 64\n    response: 16\n")
		}
	}
	b.WriteString("probes:\n")
	probe(hourlyProbe, "tcp", "0 * * * *")
	for _, z := range zonedProbes {
		probe(z.name, z.kind, fmt.Sprintf("CRON_TZ=%s 0 %d,%d * * *", z.zone, z.hours[0], z.hours[1]))
	}
	return b.String()
}
