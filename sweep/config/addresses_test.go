package config

import (
	"net/netip"
	"testing"
)

func TestPermitsHoldsProbersToTheirAddresses(t *testing.T) {
	p := Prober{ID: "westeurope", Addresses: map[string][]Allowed{
		"public":  {{Prefix: netip.MustParsePrefix("20.50.0.0/16")}, {Name: "weu.example.com"}, {Prefix: netip.MustParsePrefix("168.63.0.0/16")}},
		"peering": {{Prefix: netip.MustParsePrefix("10.1.0.0/16")}, {Prefix: netip.MustParsePrefix("fd00:1::/32")}, {Name: "weu.internal"}},
		// Not what Parse would let through: the rules hold without it.
		"vpn": {{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, {Prefix: netip.MustParsePrefix("::/0")}, {Name: "anything"}},
	}}
	for _, c := range []struct {
		why        string
		path, host string
		ip         string
		loopback   bool
		want       bool
	}{
		{"in the prefix", "public", "20.50.3.4", "20.50.3.4", false, true},
		{"IPv4 in IPv6", "public", "::ffff:20.50.3.4", "::ffff:20.50.3.4", false, true},
		{"beyond the prefix", "public", "20.51.0.0", "20.51.0.0", false, false},
		{"of another path", "public", "10.1.0.4", "10.1.0.4", false, false},
		{"a name that is listed", "public", "WEU.example.com.", "52.1.2.3", false, true},
		{"a name that is not", "public", "evil.example.com", "52.1.2.3", false, false},
		{"a name that ends like one", "public", "not.weu.example.com", "52.1.2.3", false, false},
		{"another name into the prefix", "public", "other.example.com", "20.50.3.4", false, true},
		{"a path without addresses", "expressroute", "20.50.3.4", "20.50.3.4", false, false},
		{"no address", "public", "weu.example.com", "", false, false},
		{"the platform inside a prefix", "public", "168.63.129.16", "168.63.129.16", false, false},
		{"the platform's neighbour", "public", "168.63.129.17", "168.63.129.17", false, true},
		{"a public name that resolves to a private address", "public", "weu.example.com", "10.1.0.4", false, false},
		{"the same on one machine", "public", "weu.example.com", "10.1.0.4", true, true},
		{"a private name", "peering", "weu.internal", "10.7.0.4", false, true},
		{"private IPv6", "peering", "fd00:1::4", "fd00:1::4", false, true},
		{"a zone", "peering", "fd00:1::4%eth0", "fd00:1::4%eth0", false, false},
		{"metadata service", "vpn", "169.254.169.254", "169.254.169.254", true, false},
		{"metadata service in IPv6's clothes", "vpn", "::ffff:169.254.169.254", "::ffff:169.254.169.254", true, false},
		{"a name for the metadata service", "vpn", "anything", "169.254.169.254", true, false},
		{"metadata service behind a translator", "vpn", "64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe", true, false},
		{"metadata service behind a network's own translator", "vpn", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", true, false},
		{"metadata service by 6to4", "vpn", "2002:a9fe:a9fe::1", "2002:a9fe:a9fe::1", true, false},
		{"metadata service, IPv4-compatible", "vpn", "::a9fe:a9fe", "::a9fe:a9fe", true, false},
		{"a public address behind a translator", "vpn", "64:ff9b::1432:304", "64:ff9b::1432:304", false, true},
		{"a private address behind a translator", "public", "weu.example.com", "64:ff9b::a01:4", false, false},
		{"loopback behind a translator", "vpn", "64:ff9b::7f00:1", "64:ff9b::7f00:1", false, false},
		{"link-local IPv6", "vpn", "fe80::1", "fe80::1", true, false},
		{"unspecified", "vpn", "0.0.0.0", "0.0.0.0", true, false},
		{"unspecified IPv6", "vpn", "::", "::", true, false},
		{"multicast", "vpn", "224.0.0.1", "224.0.0.1", true, false},
		{"multicast IPv6", "vpn", "ff02::1", "ff02::1", true, false},
		{"broadcast", "vpn", "255.255.255.255", "255.255.255.255", true, false},
		{"loopback", "vpn", "127.0.0.1", "127.0.0.1", false, false},
		{"a name for loopback", "vpn", "anything", "127.0.0.1", false, false},
		{"loopback on one machine", "vpn", "127.0.0.1", "127.0.0.1", true, true},
		{"IPv6 loopback", "vpn", "::1", "::1", false, false},
		{"IPv6 loopback on one machine", "vpn", "::1", "::1", true, true},
		{"loopback in IPv6's clothes", "vpn", "::ffff:127.0.0.1", "::ffff:127.0.0.1", false, false},
	} {
		ip, _ := netip.ParseAddr(c.ip) // the zero address where c.ip is empty
		if got := p.Permits(c.path, c.host, ip, c.loopback); got != c.want {
			t.Errorf("%s: Permits(%q, %q, %s, %t) = %t", c.why, c.path, c.host, ip, c.loopback, got)
		}
	}
}

func TestNearestWordIsTheOneMeant(t *testing.T) {
	known := []string{"name", "kind", "count", "interval", "timeout"}
	for _, c := range []struct{ word, want string }{
		{"nmae", "name"}, {"intervall", "interval"}, {"Count", "count"}, {"time-out", "timeout"}, {"x", ""}, {"", ""}, {"colour", ""},
	} {
		if got, ok := nearest(c.word, known); got != c.want || ok != (c.want != "") {
			t.Errorf("nearest(%q) = %q, %t; want %q", c.word, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1}, {"same", "same", 0}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
