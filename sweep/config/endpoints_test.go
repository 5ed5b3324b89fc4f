package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"isochrone/prober/wire"
)

func TestEveryKindHasItsDefaults(t *testing.T) {
	c, err := Parse(read(t, "kinds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Endpoint{
		{Name: "orders-db", Path: "peering", Host: "orders.example.com", Port: 1433},
		{Name: "cache", Path: "public", Host: "fd00:1::4", Port: 6379},
		{Name: "api", Path: "public", Host: "api.example.com", Port: 443, URL: "https://api.Example.com/health?deep=1"},
	}, c.Endpoints); d != "" {
		t.Errorf("endpoints: -want +got\n%s", d)
	}
	spec := func(kind wire.Kind, count int, interval time.Duration) wire.Spec {
		return wire.Spec{Kind: kind, Count: count, Warmup: 5, Interval: interval, Timeout: 2 * time.Second}
	}
	udp, large, echo := spec("udp", 100, time.Millisecond), spec("udp", 100, 20*time.Millisecond), spec("icmp", 10, time.Second)
	udp.RequestBytes, large.RequestBytes, echo.RequestBytes = 152, 1400, 56
	fresh, warm := spec("http", 10, time.Second), spec("http", 10, time.Second)
	fresh.Method, fresh.Connection, warm.Method, warm.Connection = "GET", "fresh", "HEAD", "keep-alive"
	want := []Probe{
		{Name: "udp", Paths: []string{"public"}, Spec: udp},
		{Name: "udp-large", Paths: []string{"public"}, Spec: large},
		{Name: "echo", Paths: []string{"public", "peering"}, To: []string{"eastus", "orders-db", "cache", "api"}, Spec: echo},
		{Name: "dial", Paths: []string{"public", "peering"}, From: []string{"westeurope"}, To: []string{"orders-db", "api"}, Spec: spec("connect", 10, time.Second)},
		{Name: "health", Paths: []string{"public"}, To: []string{"api"}, Spec: fresh},
		{Name: "health-warm", Paths: []string{"public"}, From: []string{"eastus"}, To: []string{"api"}, Spec: warm},
	}
	if d := cmp.Diff(want, c.Probes, cmpopts.IgnoreFields(Probe{}, "Cron", "Schedule")); d != "" {
		t.Errorf("probes: -want +got\n%s", d)
	}
}

// An endpoint is reached over its own path alone, by the sources that take part in it, and only
// where it is named.
func TestPairsWithEndpoints(t *testing.T) {
	c, err := Parse(read(t, "kinds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]Pair{
		"udp": {
			{"eastus", "northeurope", "public"}, {"eastus", "westeurope", "public"}, {"northeurope", "eastus", "public"},
			{"northeurope", "westeurope", "public"}, {"westeurope", "eastus", "public"}, {"westeurope", "northeurope", "public"},
		},
		"echo": {
			{"eastus", "api", "public"}, {"eastus", "cache", "public"},
			{"northeurope", "api", "public"}, {"northeurope", "cache", "public"}, {"northeurope", "eastus", "public"}, {"northeurope", "orders-db", "peering"},
			{"westeurope", "api", "public"}, {"westeurope", "cache", "public"}, {"westeurope", "eastus", "public"}, {"westeurope", "orders-db", "peering"},
		},
		"dial":        {{"westeurope", "api", "public"}, {"westeurope", "orders-db", "peering"}},
		"health-warm": {{"eastus", "api", "public"}},
	} {
		for i := range c.Probes {
			if p := &c.Probes[i]; p.Name == name {
				if d := cmp.Diff(want, c.Pairs(p)); d != "" {
					t.Errorf("%s: -want +got\n%s", name, d)
				}
			}
		}
	}
}

// One prober is enough where there is an endpoint to measure.
func TestOneProberAndOneEndpointAreAConfiguration(t *testing.T) {
	c, err := Parse([]byte(`{version: 1, environment: dev, loopback: true,
probers: [{region: westeurope, addresses: {public: [127.0.0.1/32]}}],
endpoints: [{name: here, url: "http://localhost:8080/"}],
probes: [{name: web, kind: http, schedule: "* * * * *", paths: [public], count: 1, interval: 1s, to: [here]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := c.Endpoint("here")
	if !ok || e.Host != "localhost" || e.Port != 8080 || len(c.Pairs(&c.Probes[0])) != 1 {
		t.Errorf("endpoint %+v, pairs %v", e, c.Pairs(&c.Probes[0]))
	}
	if _, ok := c.Endpoint("there"); ok {
		t.Error("found an endpoint that is not there")
	}
}

func TestEndpointsArePermittedWherePacketsMayGo(t *testing.T) {
	for _, c := range []struct {
		ip             string
		open, loopback bool // what Permits says without and with loopback
	}{
		{"20.50.3.4", true, true}, {"2603:1020::4", true, true}, {"::ffff:20.50.3.4", true, true},
		{"10.1.0.4", true, true}, {"192.168.1.4", true, true}, {"fd00:1::4", true, true},
		{"127.0.0.1", false, true}, {"127.255.0.1", false, true}, {"::1", false, true}, {"::ffff:127.0.0.1", false, true},
		{"169.254.169.254", false, false}, {"::ffff:169.254.169.254", false, false}, {"fe80::1", false, false}, {"2603:1020::4%eth0", false, false},
		{"0.0.0.0", false, false}, {"0.1.2.3", false, false}, {"::", false, false}, {"224.0.0.1", false, false}, {"ff02::1", false, false},
		{"255.255.255.255", false, false}, {"240.0.0.1", false, false}, {"168.63.129.16", false, false}, {"::ffff:168.63.129.16", false, false},
		{"168.63.129.17", true, true},
		{"64:ff9b::a9fe:a9fe", false, false}, {"64:ff9b:1::a9fe:a9fe", false, false}, {"::a9fe:a9fe", false, false}, {"2002:a9fe:a9fe::1", false, false},
		{"64:ff9b::a83f:8110", false, false}, {"64:ff9b::7f00:1", false, true}, {"64:ff9b::1432:304", true, true}, {"64:ff9b::a00:4", true, true},
	} {
		ip := netip.MustParseAddr(c.ip)
		if got := (Endpoint{}).Permits(ip, false); got != c.open {
			t.Errorf("Permits(%s, false) = %t", ip, got)
		}
		if got := (Endpoint{}).Permits(ip, true); got != c.loopback {
			t.Errorf("Permits(%s, true) = %t", ip, got)
		}
	}
	if (Endpoint{}).Permits(netip.Addr{}, true) {
		t.Error("no address is permitted")
	}
}

func TestSplitURLFindsHostAndPort(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example.com":                                     "api.example.com 443",
		"http://api.example.com/health?a=b&c=d":                       "api.example.com 80",
		"HTTPS://API.example.com:8443/%7Euser/":                       "API.example.com 8443",
		"http://[2603:1020::4]:8080/":                                 "2603:1020::4 8080",
		"https://20.50.3.4/":                                          "20.50.3.4 443",
		"https://" + strings.Repeat("a", MaxURLBytes-len("https://")): strings.Repeat("a", MaxURLBytes-len("https://")) + " 443",
	} {
		host, port, err := SplitURL(text)
		if got := fmt.Sprint(host, " ", port); err != nil || got != want {
			t.Errorf("SplitURL(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	// A message may be read where the secret in a URL may not.
	for _, text := range []string{"https://me:hunter2@api.example.com/", "https://me:hunter2@api example.com/", "ftp://me:hunter2@x/", "https://me:hunter2@x:99999/", "https://hunter2%zz"} {
		if _, _, err := SplitURL(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTooManyEndpointsAreRefused(t *testing.T) {
	body := string(read(t, "least.yaml"))
	var more strings.Builder
	for i := range MaxEndpoints + 1 {
		fmt.Fprintf(&more, "  - {name: e%d, address: \"20.1.0.1:80\"}\n", i)
	}
	_, err := Parse([]byte(strings.Replace(body, "probes:\n", "endpoints:\n"+more.String()+"probes:\n", 1)))
	if want := "sweep.yaml:11: endpoints: has 201 entries; want at most 200"; err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
