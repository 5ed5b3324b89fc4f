package wire

import (
	"net/netip"
	"testing"
)

func TestNeverMeasuredSeesThroughEveryDisguise(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0": "an unspecified address", "0.1.2.3": "an unspecified address", "::": "an unspecified address",
		"169.254.169.254": "a link-local address", "fe80::1": "a link-local address", "fe80::1%eth0": "a link-local address",
		"224.0.0.1": "a multicast address", "239.255.255.250": "a multicast address", "ff02::1": "a multicast address",
		"240.0.0.1": "a reserved address", "255.255.255.254": "a reserved address", "255.255.255.255": "a reserved address",
		"168.63.129.16":          "the address of Azure's platform",
		"::ffff:169.254.169.254": "a link-local address", "::ffff:168.63.129.16": "the address of Azure's platform",
		"64:ff9b::a9fe:a9fe":         "an address that leads to 169.254.169.254, a link-local address",
		"64:ff9b::a83f:8110":         "an address that leads to 168.63.129.16, the address of Azure's platform",
		"64:ff9b::":                  "an address that leads to 0.0.0.0, an unspecified address",
		"64:ff9b::f000:1":            "an address that leads to 240.0.0.1, a reserved address",
		"64:ff9b::ffff:ffff":         "an address that leads to 255.255.255.255, a reserved address",
		"64:ff9b:1::a9fe:a9fe":       "an address that leads to 169.254.169.254, a link-local address",
		"64:ff9b:1:2:3:4:e000:1":     "an address that leads to 224.0.0.1, a multicast address",
		"64:ff9b:1:a9fe:a9:fe00::":   "an address that leads to 169.254.169.254, a link-local address",
		"64:ff9b:1:a9:fe:a9fe::":     "an address that leads to 169.254.169.254, a link-local address",
		"64:ff9b:1:0:a9:fea9:fe00::": "an address that leads to 254.0.0.0, a reserved address",
		"64:ff9b:1::":                "an address that leads to 0.0.0.0, an unspecified address",
		"::a9fe:a9fe":                "an address that leads to 169.254.169.254, a link-local address",
		"::2":                        "an address that leads to 0.0.0.2, an unspecified address",
		"2002:a9fe:a9fe::1":          "an address that leads to 169.254.169.254, a link-local address",
		"2002:a83f:8110::":           "an address that leads to 168.63.129.16, the address of Azure's platform",
		// Those that may be.
		"20.50.3.4": "", "168.63.129.17": "", "10.0.0.4": "", "127.0.0.1": "", "::1": "", "100.64.0.1": "", "fd00::4": "", "2603:1020::4": "",
		"::ffff:20.50.3.4": "", "64:ff9b::1432:304": "", "64:ff9b::a00:4": "", "64:ff9b:1::1432:304": "", "64:ff9b:1:1432:3:400::": "",
		"64:ff9b:2::a9fe:a9fe": "", "2002:1432:304::1": "", "::1432:304": "", "2603:1020::a9fe:a9fe": "",
	} {
		if got := NeverMeasured(netip.MustParseAddr(address)); got != want {
			t.Errorf("NeverMeasured(%s) = %q, want %q", address, got, want)
		}
	}
	if NeverMeasured(netip.Addr{}) == "" {
		t.Error("no address may be measured")
	}
}

func TestLeadsToLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.255.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "64:ff9b::7f00:1": true,
		"64:ff9b:1::7f00:1": true, "64:ff9b:1:7f00:0:100::": true, "::7f00:1": true, "2002:7f00:1::": true,
		"128.0.0.1": false, "10.0.0.4": false, "::2": false, "64:ff9b::8000:1": false, "2603:1020::7f00:1": false,
	} {
		if got := LeadsToLoopback(netip.MustParseAddr(address)); got != want {
			t.Errorf("LeadsToLoopback(%s) = %t", address, got)
		}
	}
}

func TestUnmeasuredWithinPrefixes(t *testing.T) {
	for prefix, want := range map[string]string{
		"0.0.0.0/0": "0.0.0.0/8 unspecified", "169.254.169.254/32": "169.254.0.0/16 link-local",
		"::/0": "::/128 unspecified", "::/128": "::/128 unspecified", "fe80::/64": "fe80::/10 link-local",
		"64:ff9b::/96": "64:ff9b::/104 unspecified", "64:ff9b::a9fe:0/112": "64:ff9b::a9fe:0/112 link-local",
		"2002:a9fe::/32": "2002:a9fe::/32 link-local", "2002:e000::/24": "2002:e000::/20 multicast",
		"::f000:0/104": "::f000:0/100 reserved",
	} {
		r, ok := UnmeasuredWithin(netip.MustParsePrefix(prefix))
		if got := r.Prefix.String() + " " + r.Use; !ok || got != want {
			t.Errorf("UnmeasuredWithin(%s) = %s, %t; want %s", prefix, got, ok, want)
		}
	}
	for _, prefix := range []string{"20.50.0.0/16", "168.63.129.16/32", "168.63.0.0/16", "127.0.0.0/8", "::1/128", "10.0.0.0/8", "2603:1020::/32", "fd00::/8", "64:ff9b::1432:0/112"} {
		if r, ok := UnmeasuredWithin(netip.MustParsePrefix(prefix)); ok {
			t.Errorf("UnmeasuredWithin(%s) = %s, %s", prefix, r.Prefix, r.Use)
		}
	}
}
