package plan

import (
	"fmt"
	"net/netip"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// Address is where a target is reached on one path.
type Address struct {
	IP      netip.Addr
	TCPPort int
	UDPPort int // 0: there is no reflector for udp
}

// noReflector says why a prober that has no UDP port is no target of the udp kind: it registered
// with a version that had none.
const noReflector = "the target has no UDP reflector: bring its prober up to date"

// of is the address that a run of a kind goes to; reason says why there is none.
func (a Address) of(kind wire.Kind) (address, reason string) {
	port := a.TCPPort
	switch kind {
	case wire.KindICMP:
		return a.IP.String(), ""
	case wire.KindUDP:
		if port = a.UDPPort; port == 0 {
			return "", noReflector
		}
	}
	// A port that is none gives an address that validateAddress refuses.
	return netip.AddrPortFrom(a.IP, uint16(port)).String(), ""
}

// validateAddress returns an error unless s is an address that a run of the spec could be sent
// to: a numeric host:port, for icmp a numeric host alone, for what asks for a URL none.
func validateAddress(spec wire.Spec, s string) error {
	switch {
	case spec.AsksURL():
		if s != "" {
			return fmt.Errorf("address %q: kind %q has none, its source resolves the URL", cut(s), spec.Kind)
		}
		return nil
	case spec.Kind == wire.KindICMP:
		if ip, err := netip.ParseAddr(s); err != nil || !sendable(ip) {
			return fmt.Errorf("address %q: want a numeric host", cut(s))
		}
		return nil
	}
	if a, err := netip.ParseAddrPort(s); err != nil || a.Port() == 0 || !sendable(a.Addr()) {
		return fmt.Errorf("address %q: want a numeric host:port", cut(s))
	}
	return nil
}

func sendable(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsMulticast() && ip.Zone() == ""
}

// validateURL returns an error unless a run of the spec has a URL exactly where it needs one.
func validateURL(spec wire.Spec, s string) error {
	if !spec.AsksURL() {
		if s != "" {
			return fmt.Errorf("a URL: kind %q has none", spec.Kind)
		}
		return nil
	}
	if _, _, err := config.SplitURL(s); err != nil {
		return fmt.Errorf("its URL: %w", err) // which does not repeat it: it may hold a secret
	}
	return nil
}

// CheckMeasured returns an error unless a run of the kind may have been measured at an address:
// the planned one; of a URL, whose source resolves the name, any numeric one with the URL's port.
func (r *Run) CheckMeasured(kind wire.Kind, address string) error {
	if kind != wire.KindHTTP && kind != wire.KindLoad || r.URL == "" {
		if address != r.Address {
			return fmt.Errorf("the address is %q; planned is %q", address, r.Address)
		}
		return nil
	}
	if address == "" { // the name was never resolved
		return nil
	}
	_, port, err := config.SplitURL(r.URL)
	if err != nil {
		return fmt.Errorf("reading the planned URL: %w", err)
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil || !sendable(a.Addr()) || int(a.Port()) != port {
		return fmt.Errorf("the address is %q; planned is a numeric one with port %d", cut(address), port)
	}
	return nil
}
