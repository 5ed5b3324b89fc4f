package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func TestTheTargetSaysWhatIsMeasured(t *testing.T) {
	for _, c := range []struct {
		text  string
		kind  wire.Kind
		keyed bool
		want  target
	}{
		{"10.0.0.4", "", false, target{kind: wire.KindICMP, host: "10.0.0.4"}},
		{"weu.example.com", "", false, target{kind: wire.KindICMP, host: "weu.example.com"}},
		{"2001:db8::1", "", false, target{kind: wire.KindICMP, host: "2001:db8::1"}},
		{"fe80::1%eth0", "", false, target{kind: wire.KindICMP, host: "fe80::1%eth0"}},
		{"db.example.com:5432", "", false, target{kind: wire.KindConnect, host: "db.example.com", port: "5432"}},
		{"[2001:db8::1]:443", "", false, target{kind: wire.KindConnect, host: "2001:db8::1", port: "443"}},
		{"10.0.0.4", "", true, target{kind: wire.KindTCP, host: "10.0.0.4", port: "7700"}},
		{"10.0.0.4:9", "", true, target{kind: wire.KindTCP, host: "10.0.0.4", port: "9"}},
		{"10.0.0.4", wire.KindUDP, true, target{kind: wire.KindUDP, host: "10.0.0.4", port: "7700"}},
		{"10.0.0.4", wire.KindUDP, false, target{kind: wire.KindUDP, host: "10.0.0.4", port: "862"}},
		{"[2001:db8::1]", wire.KindUDP, false, target{kind: wire.KindUDP, host: "2001:db8::1", port: "862"}},
		{"https://example.com/a?b=c", "", false, target{kind: wire.KindHTTP, host: "example.com", port: "443", url: "https://example.com/a?b=c"}},
		{"http://[::1]:8080", "", false, target{kind: wire.KindHTTP, host: "::1", port: "8080", url: "http://[::1]:8080"}},
		{"https://example.com/a", wire.KindConnect, false, target{kind: wire.KindConnect, host: "example.com", port: "443"}},
		{"http://example.com/a", wire.KindICMP, false, target{kind: wire.KindICMP, host: "example.com"}},
		{"example.com", wire.KindHTTP, false, target{kind: wire.KindHTTP, host: "example.com", url: "http://example.com/"}},
		{"example.com:81", wire.KindHTTP, false, target{kind: wire.KindHTTP, host: "example.com", port: "81", url: "http://example.com:81/"}},
		{"2001:db8::1", wire.KindHTTP, false, target{kind: wire.KindHTTP, host: "2001:db8::1", url: "http://[2001:db8::1]/"}},
	} {
		c.want.given = c.text
		if got, err := parseTarget(c.text, c.kind, c.keyed); err != nil || got != c.want {
			t.Errorf("%q, kind %q: %+v, %v; want %+v", c.text, c.kind, got, err, c.want)
		}
	}
}

// A password or a query may be a secret, and what is said may end up in a log.
func TestNoSecretOfATargetIsSaid(t *testing.T) {
	for _, text := range []string{
		"https://me:s3cret@example.com/", "https://me:s3%cret@example.com/", "https://me:s3cret@example.com:port/", "https://me:s3 cret@example.com/",
		"ftp://me:s3cret@example.com/", "https://me:s3cret@/", "https://example.com:s3cret/", "me:s3cret@example.com:80",
		"ftp://example.com/?token=s3cret", "https:///?token=s3cret", "http://[::1]:80s3cret/", "https://example.com/%zz?token=s3cret",
	} {
		_, err := parseTarget(text, "", false)
		var p *problem
		if !errors.As(err, &p) || strings.Contains(p.Error()+p.remedy, "s3") || p.remedy == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
	asked, err := parseTarget("http://224.0.0.1/?token=s3cret", "", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asked.resolve(t.Context(), "ip", nil); err == nil || strings.Contains(err.Error(), "s3") {
		t.Errorf("a multicast address with a query: %v", err)
	}
	if asked, err = parseTarget("https://example.com/a?token=s3cret", "", false); err != nil {
		t.Fatal(err)
	}
	if label := (&ping{target: asked}).label(""); label != "https://example.com/a?…" {
		t.Errorf("the target is called %q", label)
	}
}

func TestNoTargetIsABroadcastAddress(t *testing.T) {
	networks := []netip.Addr{netip.MustParseAddr("10.1.255.255")}
	for _, bad := range []string{"10.1.255.255", "255.255.255.255", "224.0.0.251", "239.1.2.3", "ff02::1", "0.0.0.0", "::"} {
		if allowed(netip.MustParseAddr(bad), networks) == nil {
			t.Errorf("%s may be measured", bad)
		}
	}
	for _, good := range []string{"10.1.255.254", "127.0.0.1", "::1", "169.254.1.1", "fe80::1", "20.50.1.2", "10.2.255.255"} {
		if err := allowed(netip.MustParseAddr(good), networks); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for cidr, want := range map[string]string{"10.1.2.3/16": "10.1.255.255", "192.168.7.9/24": "192.168.7.255", "10.0.0.5/30": "10.0.0.7", "10.0.0.4/31": "", "10.0.0.4/32": "", "2001:db8::1/64": ""} {
		ip, network, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		network.IP = ip // as net.InterfaceAddrs gives it
		if got, ok := broadcastOf(network); ok != (want != "") || ok && got.String() != want {
			t.Errorf("broadcast address of %s: %v, %s; want %q", cidr, ok, got, want)
		}
	}
	mapped, err := parseTarget("::ffff:255.255.255.255", wire.KindICMP, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mapped.resolve(t.Context(), "ip", nil); err == nil || !strings.Contains(err.Error(), "broadcast") {
		t.Errorf("a broadcast address in IPv6 clothes: %v", err)
	}
}

func TestAnAddressIsNumericBeforeItIsMeasured(t *testing.T) {
	for _, c := range []struct{ text, network, want string }{
		{"127.0.0.1:80", "ip", "127.0.0.1:80"}, {"[::1]:80", "ip6", "[::1]:80"}, {"::ffff:127.0.0.1", "ip4", "127.0.0.1"},
		{"localhost:80", "ip4", "127.0.0.1:80"}, {"http://localhost/", "ip", ""},
	} {
		target, err := parseTarget(c.text, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := target.resolve(t.Context(), c.network, nil); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop() // before anything is asked
	target, err := parseTarget("db.invalid:80", "", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.resolve(stopped, "ip", nil); err == nil || !strings.Contains(err.Error(), `resolving "db.invalid"`) {
		t.Errorf("a name that is not resolved: %v", err)
	}
}

func TestFlagsReadWhatOtherPingsTake(t *testing.T) {
	for text, want := range map[string]time.Duration{"1": time.Second, "0.2": 200 * time.Millisecond, "200ms": 200 * time.Millisecond, "1m": time.Minute, "0": 0, ".5": 500 * time.Millisecond} {
		d := time.Hour
		if err := (span{&d}).Set(text); err != nil || d != want {
			t.Errorf("-i %s: %s, %v; want %s", text, d, err, want)
		}
	}
	for _, bad := range []string{"", "-1", "-1s", "x", "NaN", "Inf", "1e300"} {
		if d := time.Hour; (span{&d}).Set(bad) == nil || d != time.Hour {
			t.Errorf("-i %q is taken for %s", bad, d)
		}
	}
	for text, want := range map[string]int{"64": 64, "8k": 8192, "8K": 8192, "1m": 1 << 20} {
		n := 0
		if err := (size{&n}).Set(text); err != nil || n != want {
			t.Errorf("-l %s: %d, %v; want %d", text, n, err, want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "k", "1g", "1.5k", "99999999999"} {
		if n := 7; (size{&n}).Set(bad) == nil || n != 7 {
			t.Errorf("-l %q is taken for %d", bad, n)
		}
	}
}

func TestTheCountFollowsFromTheTime(t *testing.T) {
	for _, c := range []struct {
		during, interval time.Duration
		want             int
	}{{10 * time.Second, time.Second, 10}, {time.Second, 300 * time.Millisecond, 3}, {time.Millisecond, time.Second, 1}, {time.Minute, 0, wire.MaxSamples}} {
		f := &pingFlags{during: c.during, interval: c.interval, timeout: time.Second, count: 7}
		if got := f.spec(wire.KindConnect).Count; got != c.want {
			t.Errorf("-t %s -i %s: %d samples, want %d", c.during, c.interval, got, c.want)
		}
	}
}
