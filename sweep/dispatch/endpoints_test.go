package dispatch_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// withEndpoints is the configuration with endpoints and the kinds that measure them.
func withEndpoints(loopback string) string {
	c := strings.Replace(configuration, "loopback: true", "loopback: "+loopback, 1)
	if loopback == "false" {
		c = strings.NewReplacer("lead: 5s", "lead: 10s", "127.0.0.", "20.50.0.").Replace(c)
	}
	return c + `  - {name: udp, kind: udp, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, from: [eastus], to: [westeurope]}
  - {name: dial, kind: connect, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, from: [eastus], to: [db, api]}
  - {name: echo, kind: icmp, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, from: [eastus], to: [westeurope, db]}
  - {name: health, kind: http, schedule: "*/10 * * * *", paths: [public], count: 3, interval: 20ms, from: [eastus], to: [api, web]}
  - {name: late, kind: connect, schedule: "5 * * * *", paths: [public], count: 3, interval: 20ms, from: [eastus], to: [idle]}
endpoints:
  - {name: db, address: db.example.com:1433}
  - {name: api, url: https://api.example.com/health}
  - {name: web, url: http://web.example.com/}
  - {name: idle, address: idle.example.com:80}
`
}

// goals are where the runs of the added probes go, or why they do not.
func goals(t *testing.T, b *bench) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range b.plan(t, slot).Assignments {
		if a.Probe == "tcp-64" || a.Probe == "connect" {
			continue
		}
		for _, r := range a.Runs {
			out[a.Probe+" "+r.Target] = r.Address + r.URL + r.Detail
		}
	}
	return out
}

func TestEndpointsAreResolvedWhenTheSweepIsPlanned(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig([]byte(withEndpoints("true")))
	b.names = map[string][]string{"db.example.com": {"2001:db8::4", "10.0.0.9", "10.0.0.8"}, "api.example.com": {"203.0.113.9"}}
	r := b.registration("westeurope")
	r.Addresses[0].UDPPort = 7701
	b.store.Register("westeurope", encode(t, r))
	report := b.sweep(t)
	want := map[string]string{
		"udp westeurope": "127.0.0.11:7701", "echo westeurope": "127.0.0.11",
		"dial db": "10.0.0.8:1433", "dial api": "203.0.113.9:443", "echo db": "10.0.0.8",
		"health api": "https://api.example.com/health", "health web": "http://web.example.com/", // which nobody resolved
	}
	if d := cmp.Diff(want, goals(t, b)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if report.Down != 0 || b.logged() != "" {
		t.Errorf("report %+v, log %s: idle.example.com is not due, and web.example.com is its source's to resolve", report, b.logged())
	}
	b.told(t, slot)
	if strings.Contains(string(b.store.Current("db"))+string(b.store.Current("api")), "{") {
		t.Error("an endpoint is told something")
	}
}

func TestWhatAnEndpointsNameResolvesToIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		loopback string
		found    []string // what db.example.com resolves to; nil does not
		want     string   // the address, or part of the reason
	}{
		"public":                   {"false", []string{"20.1.2.3"}, "20.1.2.3:1433"},
		"private":                  {"false", []string{"10.1.2.3"}, "10.1.2.3:1433"},
		"the first that may be":    {"false", []string{"169.254.169.254", "20.1.2.3"}, "20.1.2.3:1433"},
		"the metadata service":     {"true", []string{"169.254.169.254"}, "[169.254.169.254] is never measured, or needs loopback: true"},
		"the same in IPv6 clothes": {"true", []string{"::ffff:169.254.169.254"}, "[169.254.169.254] is never measured"},
		"the same behind NAT64":    {"true", []string{"64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe"}, "is never measured"},
		"the same by 6to4":         {"true", []string{"2002:a9fe:a9fe::1"}, "is never measured"},
		"the same, compatible":     {"true", []string{"::a9fe:a9fe"}, "is never measured"},
		"loopback behind NAT64":    {"false", []string{"64:ff9b::7f00:1"}, "[64:ff9b::7f00:1] is never measured, or needs loopback: true"},
		"the platform":             {"true", []string{"168.63.129.16"}, "[168.63.129.16] is never measured"},
		"multicast":                {"true", []string{"224.0.0.1", "ff02::1"}, "is never measured"},
		"unspecified":              {"true", []string{"0.0.0.0", "::"}, "is never measured"},
		"loopback":                 {"false", []string{"127.0.0.1"}, "[127.0.0.1] is never measured, or needs loopback: true"},
		"loopback on one machine":  {"true", []string{"127.0.0.1"}, "127.0.0.1:1433"},
		"nothing":                  {"true", []string{}, "[] is never measured"},
		"no name":                  {"true", nil, `the endpoint's host "db.example.com" is not usable: resolving "db.example.com": no such host`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.store.SetConfig([]byte(withEndpoints(c.loopback)))
			b.names = map[string][]string{"api.example.com": {"203.0.113.9"}}
			if c.found != nil {
				b.names["db.example.com"] = c.found
			}
			b.sweep(t)
			got := goals(t, b)["dial db"]
			measured := strings.HasSuffix(c.want, ":1433")
			if measured && got != c.want || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if measured == strings.Contains(b.logged(), `"msg":"an endpoint cannot be measured","endpoint":"db","host":"db.example.com"`) {
				t.Errorf("log %s", b.logged())
			}
		})
	}
}

// A prober of a version without a UDP reflector goes on as before, and says so where udp is asked
// of it.
func TestAnOlderProberIsDownForUDPAlone(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig([]byte(withEndpoints("true")))
	b.sweep(t)
	if got := goals(t, b); got["udp westeurope"] != "the target has no UDP reflector: bring its prober up to date" || got["echo westeurope"] != "127.0.0.11" {
		t.Errorf("%q", got)
	}
	if address, failure := westeurope(t, b, wire.KindTCP); address != "127.0.0.11:7700" || failure != "" {
		t.Errorf("tcp: %q, %q", address, failure)
	}
}

// slowResolver answers when its context ends.
type slowResolver struct{ asked atomic.Int32 }

func (r *slowResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	r.asked.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Names that do not resolve must not hold up the sweep.
func TestEndpointsThatHangDoNotHoldUpTheSweep(t *testing.T) {
	b := newBench(t)
	b.store.SetConfig([]byte(withEndpoints("true")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, slow := b.dispatcher(), &slowResolver{}
	d.Resolver = slow
	if _, err := d.Sweep(ctx, slot, nil); err != nil {
		t.Fatal(err)
	}
	got := goals(t, b)
	if slow.asked.Load() != 2 || !strings.Contains(got["dial db"], "deadline exceeded") || !strings.Contains(got["dial api"], "deadline exceeded") || got["health api"] == "" {
		t.Errorf("%d names asked, goals %q", slow.asked.Load(), got)
	}
}

// hangingEndpoints answers for the probers' names alone.
type hangingEndpoints struct{ slow slowResolver }

func (r *hangingEndpoints) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host == "weu.example.com" {
		return []netip.Addr{netip.MustParseAddr("127.0.0.11")}, ctx.Err()
	}
	return r.slow.LookupNetIP(ctx, network, host)
}

// A whole configuration of endpoints whose name server is dead leaves the probers what they are, and
// all of them have their turn.
func TestEndpointsThatHangTakeNothingFromTheProbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := b.registration("westeurope")
		r.Addresses[0].Host = "weu.example.com"
		b.store.Register("westeurope", encode(t, r))
		c := configuration + "  - {name: dial, kind: connect, schedule: \"*/10 * * * *\", paths: [public], count: 3, interval: 20ms, from: [eastus], to: ["
		places := "]}\nendpoints:\n"
		for i := range config.MaxEndpoints {
			c += fmt.Sprintf("e%d, ", i)
			places += fmt.Sprintf("  - {name: e%d, address: \"e%d.example.com:80\"}\n", i, i)
		}
		b.store.SetConfig([]byte(strings.TrimSuffix(c, ", ") + places))
		d, hanging := b.dispatcher(), &hangingEndpoints{}
		d.Resolver = hanging
		began := time.Now()
		if _, err := d.Sweep(t.Context(), slot, nil); err != nil {
			t.Fatal(err)
		}
		if address, failure := westeurope(t, b, wire.KindTCP); address != "127.0.0.11:7700" || failure != "" {
			t.Errorf("westeurope: %q, %q", address, failure)
		}
		if took, asked := time.Since(began), hanging.slow.asked.Load(); took > 10*time.Second || asked != config.MaxEndpoints {
			t.Errorf("%d of %d names asked in %s", asked, config.MaxEndpoints, took)
		}
		if got := goals(t, b); !strings.Contains(got["dial e0"], "deadline exceeded") || !strings.Contains(got["dial e199"], "deadline exceeded") {
			t.Errorf("e0 %q, e199 %q", got["dial e0"], got["dial e199"])
		}
	})
}
