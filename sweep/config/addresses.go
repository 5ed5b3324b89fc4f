package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"isochrone/prober/wire"
)

// network is a range of addresses and what it is for.
type network struct {
	prefix netip.Prefix
	use    string
}

// Ranges that need a rule (IANA's special-purpose registries, RFC 6890). Those that are never
// measured are wire's.
var (
	loopbacks = []network{
		{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
		{netip.MustParsePrefix("::1/128"), "loopback"},
	}
	// privates are routed inside networks alone: over the public path they would measure
	// another.
	privates = []network{
		{netip.MustParsePrefix("10.0.0.0/8"), "private"},
		{netip.MustParsePrefix("172.16.0.0/12"), "private"},
		{netip.MustParsePrefix("192.168.0.0/16"), "private"},
		{netip.MustParsePrefix("100.64.0.0/10"), "private"},
		{netip.MustParsePrefix("fc00::/7"), "private"},
	}
)

const pathPublic = "public"

// Permits says whether the prober may be measured at an address on a path. host is what it
// registered, a name or a numeric address; ip is what host resolved to. Either host is one of
// the path's names, or ip lies in one of its prefixes. What wire.NeverMeasured names is never
// permitted; loopback addresses, and private ones on the public path, only with loopback, which is
// the configuration's Loopback. An address of IPv6 that leads to one of IPv4 counts as both.
func (p Prober) Permits(path, host string, ip netip.Addr, loopback bool) bool {
	if refusal(ip, loopback) != "" || path == pathPublic && !loopback && slices.ContainsFunc(wire.Destinations(ip), private) {
		return false
	}
	ip = ip.Unmap()
	for _, a := range p.Addresses[path] {
		if a.Name != "" && a.Name == canonicalName(host) || a.Prefix.IsValid() && a.Prefix.Contains(ip) {
			return true
		}
	}
	return false
}

func private(ip netip.Addr) bool {
	return slices.ContainsFunc(privates, func(n network) bool { return n.prefix.Contains(ip) })
}

func overlapping(networks []network, p netip.Prefix) (network, bool) {
	for _, n := range networks {
		if n.prefix.Overlaps(p) {
			return n, true
		}
	}
	return network{}, false
}

// canonicalName is how names are compared (RFC 4343: case does not matter).
func canonicalName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// parseAllowed reads a prefix or a DNS name. Its errors say what to write instead.
func parseAllowed(path, text string, loopback bool) (Allowed, error) {
	if strings.Contains(text, "/") && !strings.Contains(text, "://") {
		p, err := parsePrefix(path, text, loopback)
		return Allowed{Prefix: p}, err
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return Allowed{}, fmt.Errorf("want a prefix: write %s", netip.PrefixFrom(ip.WithZone("").Unmap(), ip.Unmap().BitLen()))
	}
	name := canonicalName(text)
	if err := validateHostName(name); err != nil {
		return Allowed{}, err
	}
	if !loopback && (name == "localhost" || strings.HasSuffix(name, ".localhost")) { // RFC 6761, section 6.3
		return Allowed{}, fmt.Errorf("is this machine itself, which needs loopback: true and everything on one machine")
	}
	return Allowed{Name: name}, nil
}

func parsePrefix(path, text string, loopback bool) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("want a prefix such as 20.50.0.0/16 or 2603:1020::/32")
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("is IPv4 in IPv6: write it as IPv4, such as 20.50.0.0/16")
	}
	if masked := p.Masked(); masked != p {
		return netip.Prefix{}, fmt.Errorf("has bits behind its length: write %s, or %s for the one address",
			masked, netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
	}
	if r, ok := wire.UnmeasuredWithin(p); ok {
		return netip.Prefix{}, fmt.Errorf("holds %s addresses (%s), which are never measured: take a narrower prefix", r.Use, r.Prefix)
	}
	if use := wire.NeverMeasured(p.Addr()); use != "" && p.IsSingleIP() {
		return netip.Prefix{}, fmt.Errorf("is %s, which is never measured", use)
	}
	if n, ok := overlapping(loopbacks, p); ok && !loopback {
		return netip.Prefix{}, fmt.Errorf("holds loopback addresses (%s), which need loopback: true and everything on one machine", n.prefix)
	}
	if n, ok := overlapping(privates, p); ok && path == pathPublic && !loopback {
		return netip.Prefix{}, fmt.Errorf("holds private addresses (%s), which no packet reaches over the public network: list them under the path that it takes", n.prefix)
	}
	return p, nil
}

// A label of a host name (RFC 1123, section 2.1), in lower case.
var labelForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func validateHostName(name string) error {
	bad := fmt.Errorf("want a prefix such as 20.50.0.0/16, or a DNS name without scheme, port or wildcard")
	if len(name) > 253 {
		return bad
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !labelForm.MatchString(label) {
			return bad
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" { // a mistyped IPv4 address
		return bad
	}
	return nil
}
