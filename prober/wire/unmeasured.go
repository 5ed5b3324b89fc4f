package wire

import (
	"fmt"
	"net/netip"
	"slices"
)

// AddressRange is a range of addresses that needs a rule.
type AddressRange struct {
	Prefix netip.Prefix
	Use    string // such as "multicast"
}

// The addresses that are never measured, and those of the machine itself (IANA's special-purpose
// registries, RFC 6890). At link-local ones lives the metadata service, which gives credentials to
// whoever asks from the machine; the last of the reserved ones is broadcast.
var (
	unmeasured = []AddressRange{
		{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
		{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
		{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
		{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
		{netip.MustParsePrefix("::/128"), "unspecified"},
		{netip.MustParsePrefix("fe80::/10"), "link-local"},
		{netip.MustParsePrefix("ff00::/8"), "multicast"},
	}
	// platform is where every virtual machine of Azure finds the platform itself (name server,
	// health probes, DHCP). It lies within Azure's public ranges.
	platform  = netip.MustParseAddr("168.63.129.16")
	loopbacks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
)

// Addresses of IPv6 that lead to one of IPv4 which they hold.
var (
	// compatible is IPv4-compatible (RFC 4291, section 2.5.5.1).
	compatible = netip.MustParsePrefix("::/96")
	// nat64 is the well-known prefix of translators (RFC 6052, section 2.1).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// nat64Local is for translators of a network's own (RFC 8215). Where in it the address of
	// IPv4 stands is known to that network alone.
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	// sixToFour is a tunnel (RFC 3056, section 2).
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// Where an address of IPv4 stands in one of IPv6 (RFC 6052, section 2.2): the octets, by the length
// of the translator's prefix.
var (
	behind96 = [4]int{12, 13, 14, 15}
	behind16 = [4]int{2, 3, 4, 5}
	locally  = [][4]int{behind96, {6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}}
)

// Destinations lists the addresses that a packet to ip may come to: ip itself, as IPv4 where it is
// IPv4-mapped, and the addresses of IPv4 that it holds for a translator or a tunnel.
func Destinations(ip netip.Addr) []netip.Addr {
	ip = ip.Unmap().WithZone("")
	out := []netip.Addr{ip}
	if !ip.Is6() || ip.IsUnspecified() || ip.IsLoopback() {
		return out
	}
	switch {
	case nat64.Contains(ip), compatible.Contains(ip):
		return append(out, octets(ip, behind96))
	case sixToFour.Contains(ip):
		return append(out, octets(ip, behind16))
	case !nat64Local.Contains(ip):
		return out
	}
	// Any of the lengths may be meant. A reading that begins with 0 is likely not the one, but
	// the others' padding.
	for _, at := range locally {
		if v4 := octets(ip, at); v4.As4()[0] != 0 {
			out = append(out, v4)
		}
	}
	if len(out) == 1 { // none is left
		out = append(out, octets(ip, behind96))
	}
	return out
}

func octets(ip netip.Addr, at [4]int) netip.Addr {
	b := ip.As16()
	return netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]})
}

// NeverMeasured says what an address is to which nothing is ever sent, such as "a link-local
// address"; it is empty for the others. Loopback and private addresses are not among them: that is
// for the configuration to say. A zone is left out of account.
func NeverMeasured(ip netip.Addr) string {
	if !ip.IsValid() {
		return "no address"
	}
	for i, to := range Destinations(ip) {
		switch use := useOf(to); {
		case use == "":
		case i == 0:
			return use
		default:
			return fmt.Sprintf("an address that leads to %s, %s", to, use)
		}
	}
	return ""
}

func useOf(ip netip.Addr) string {
	if ip == platform {
		return "the address of Azure's platform"
	}
	for _, r := range unmeasured {
		if r.Prefix.Contains(ip) {
			if r.Use == "unspecified" {
				return "an unspecified address"
			}
			return "a " + r.Use + " address"
		}
	}
	return ""
}

// LeadsToLoopback says whether a packet to an address may come to the machine that sends it.
func LeadsToLoopback(ip netip.Addr) bool {
	return slices.ContainsFunc(Destinations(ip), func(to netip.Addr) bool {
		return slices.ContainsFunc(loopbacks, func(p netip.Prefix) bool { return p.Contains(to) })
	})
}

// UnmeasuredWithin finds a range of addresses that are never measured in a prefix, or around it.
// Azure's platform is none, for it lies inside ranges that customers have; of a network's own
// translator (RFC 8215) only a whole address can be told.
func UnmeasuredWithin(p netip.Prefix) (AddressRange, bool) {
	for _, r := range unmeasured {
		if r.Prefix.Overlaps(p) {
			return r, true
		}
	}
	for _, r := range unmeasured {
		for _, q := range carried(r.Prefix) {
			if q.Overlaps(p) {
				return AddressRange{q, r.Use}, true
			}
		}
	}
	return AddressRange{}, false
}

// carried are the prefixes of IPv6 that lead to one of IPv4.
func carried(p netip.Prefix) (out []netip.Prefix) {
	if !p.Addr().Is4() {
		return nil
	}
	v4 := p.Addr().As4()
	for _, in := range []struct {
		prefix netip.Prefix
		at     int
	}{{nat64, 12}, {compatible, 12}, {sixToFour, 2}} {
		if in.prefix == compatible && v4[0] == 0 {
			continue // :: and ::1 lie there, which have rules of their own
		}
		b := in.prefix.Addr().As16()
		copy(b[in.at:], v4[:])
		out = append(out, netip.PrefixFrom(netip.AddrFrom16(b), 8*in.at+p.Bits()))
	}
	return out
}
