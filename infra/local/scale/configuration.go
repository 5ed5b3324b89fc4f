package main

import (
	"fmt"
	"strings"

	"isochrone/sweep/catalog"
)

// environment of the app that is measured.
const environment = "scale"

// configuration is a sweep of n probers that measure each other on two paths by three latency probes, two
// a region where the regions do not suffice. Nothing begins late: what expires would be the emulator's fault.
func configuration(n, count int) []byte {
	var out strings.Builder
	out.WriteString("version: 1\nenvironment: " + environment + "\nloopback: true\ntiming: {lead: 10s, late: 3m, grace: 10m}\nprobers:\n")
	var regions []string
	for _, r := range catalog.Regions() {
		if r.OffersCustomers {
			regions = append(regions, r.Name)
		}
	}
	for i := range n {
		_, _ = fmt.Fprintf(&out, "  - {region: %s, id: p%02d, addresses: {public: [127.0.1.%d/32], peering: [127.0.2.%d/32]}}\n", regions[i%len(regions)], i, i+1, i+1)
	}
	out.WriteString("probes:\n")
	for _, probe := range [][2]string{{"udp", ""}, {"tcp", ", request: 64, response: 16"}, {"connect", ""}} {
		_, _ = fmt.Fprintf(&out, `  - {name: %s, kind: %s, schedule: "* * * * *", paths: [public, peering], count: %d, interval: 20ms, timeout: 1s, warmup: 5%s}`+"\n", probe[0], probe[0], count, probe[1])
	}
	return []byte(out.String())
}
