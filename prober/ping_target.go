package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/report"
	"isochrone/prober/wire"
)

// The ports of targets that name none.
const (
	reflectPort = "7700" // that of prober reflect
	stampPort   = "862"  // RFC 8762, section 4.1
)

// target is what a person wants to measure.
type target struct {
	given string // as it was typed
	kind  wire.Kind
	host  string // a name or an address; with a port, unless the kind has none
	port  string
	url   string // of kind http
}

// parseTarget reads host, host:port or a URL. kind may be empty: then the target says which. keyed
// says that the other end is a reflector with a shared key.
func parseTarget(text string, kind wire.Kind, keyed bool) (target, error) {
	t := target{given: text, kind: kind}
	if strings.Contains(text, "://") {
		return t.fromURL()
	}
	var err error
	if t.host, t.port, err = splitTarget(text); err != nil {
		return target{}, err
	}
	if t.kind == "" {
		switch {
		case keyed:
			t.kind = wire.KindTCP
		case t.port != "":
			t.kind = wire.KindConnect
		default:
			t.kind = wire.KindICMP
		}
	}
	return t.withPort(keyed)
}

// splitTarget splits host or host:port; a bare IPv6 address has no port.
func splitTarget(text string) (host, port string, err error) {
	const want = "want a host, host:port or a URL, such as 10.0.0.4, db.example.com:5432, [2001:db8::1]:443 or https://example.com/"
	if strings.Contains(text, "@") {
		return "", "", usage("leave the name and password out", "the target holds a name or password, which would be printed")
	}
	host = text
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, no := netip.ParseAddr(bare); no == nil {
		host = bare
	} else if strings.Contains(text, ":") {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", "", usage(want, "target %q: it is none of these", text)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", usage(want, "target %q: port %q: want 1 to 65535", text, port)
		}
	}
	if _, no := netip.ParseAddr(host); no != nil { // an address may have a zone, which a name may not
		if err := wire.ValidateHost(host); err != nil {
			return "", "", usage(want, "target %q: %w", text, err)
		}
	}
	return host, port, nil
}

// withPort checks the port against the kind, and gives the kind its own where there is none.
func (t target) withPort(keyed bool) (target, error) {
	switch t.kind {
	case wire.KindICMP:
		if t.port != "" {
			return target{}, usage("leave the port out, or use --kind connect", "target %q: icmp knows no ports", t.given)
		}
	case wire.KindConnect:
		if t.port == "" {
			return target{}, usage("give "+net.JoinHostPort(t.host, "PORT"), "target %q: a connection needs a port", t.given)
		}
	case wire.KindTCP:
		t.port = cmp.Or(t.port, reflectPort)
	case wire.KindUDP:
		if t.port == "" && keyed {
			t.port = reflectPort
		}
		t.port = cmp.Or(t.port, stampPort)
	case wire.KindHTTP:
		host := t.host
		if t.port != "" || strings.Contains(host, ":") {
			host = strings.TrimSuffix(net.JoinHostPort(host, t.port), ":")
		}
		t.url = "http://" + host + "/"
	}
	return t, nil
}

func (t target) fromURL() (target, error) {
	u, err := url.Parse(t.given)
	switch { // what is shown of it holds no secret: no password, and no query
	case err != nil:
		return target{}, usage("want https://example.com/path; a \"%\" in it is written %25", "the target cannot be read as a URL")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return target{}, usage("leave the name and password out", "the target holds a name or password, which would be printed")
	case u.Scheme != "http" && u.Scheme != "https":
		return target{}, usage("want http://… or https://…", "target %q: scheme %q is not measured", report.Target(t.given), u.Scheme)
	case u.Hostname() == "":
		return target{}, usage("want https://example.com/", "target %q: no host", report.Target(t.given))
	}
	t.host, t.port = u.Hostname(), u.Port()
	if t.port == "" {
		t.port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	switch t.kind {
	case "", wire.KindHTTP:
		t.kind, t.url = wire.KindHTTP, t.given
	case wire.KindICMP:
		t.port = ""
	case wire.KindConnect:
	default:
		return target{}, usage("give host:port of the reflector", "target %q: kind %s measures no URL", report.Target(t.given), t.kind)
	}
	return t, nil
}

// resolveTimeout bounds the look-up of the target's name, which is before the clock starts.
const resolveTimeout = 10 * time.Second

// resolve returns the numeric address to measure: host:port, or the host alone for icmp. network is
// ip, ip4 or ip6. A kind that resolves by itself and measures that, http, has none.
func (t target) resolve(ctx context.Context, network string, broadcasts []netip.Addr) (string, error) {
	if t.kind == wire.KindHTTP {
		// A name that leads to such an address is refused by the probe, where it is resolved.
		if ip, err := netip.ParseAddr(t.host); err == nil {
			if err := allowed(ip.Unmap(), broadcasts); err != nil {
				return "", usage("give the address of one machine", "target %q: %w", report.Target(t.given), err)
			}
		}
		return "", nil
	}
	ip, err := lookUp(ctx, network, t.host)
	if err != nil {
		return "", err
	}
	if err := allowed(ip, broadcasts); err != nil {
		return "", usage("give the address of one machine", "target %q: %w", report.Target(t.given), err)
	}
	if t.kind == wire.KindICMP {
		return ip.String(), nil
	}
	port, err := strconv.ParseUint(t.port, 10, 16)
	if err != nil {
		return "", usage("", "target %q: port %q: want 1 to 65535", t.given, t.port)
	}
	return netip.AddrPortFrom(ip, uint16(port)).String(), nil
}

func lookUp(ctx context.Context, network, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		if network == "ip4" && !ip.Is4() || network == "ip6" && !ip.Is6() {
			return netip.Addr{}, usage("leave -4 or -6 out", "%s is not of that family", ip)
		}
		return ip, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if err == nil && len(found) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return netip.Addr{}, failed("see that the name is right, or give the address", "resolving %q: %w", host, err)
	}
	return found[0].Unmap(), nil // the system's first choice (RFC 6724)
}

// allowed returns an error for an address that is not one machine's. What answers to others would
// be many, and some of them not asked.
func allowed(ip netip.Addr, broadcasts []netip.Addr) error {
	switch {
	case ip.IsMulticast():
		return fmt.Errorf("%s is a multicast address", ip)
	case ip.IsUnspecified():
		return fmt.Errorf("%s is no machine's address", ip)
	case ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("%s is the broadcast address", ip)
	}
	for _, b := range broadcasts {
		if ip == b {
			return fmt.Errorf("%s is the broadcast address of a network of this machine", ip)
		}
	}
	return nil
}

// broadcasts are the directed broadcast addresses of this machine's IPv4 networks (RFC 919).
// Those of networks further away cannot be told from hosts; routers do not forward to them (RFC 2644).
func broadcasts() (out []netip.Addr) {
	addresses, _ := net.InterfaceAddrs() // without them only the general rules are left
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			if b, ok := broadcastOf(n); ok {
				out = append(out, b)
			}
		}
	}
	return out
}

func broadcastOf(n *net.IPNet) (netip.Addr, bool) {
	ip := n.IP.To4()
	ones, bits := n.Mask.Size()
	if ip == nil || bits != 32 || ones >= 31 { // RFC 3021: two hosts, no broadcast
		return netip.Addr{}, false
	}
	var b [4]byte
	for i := range b {
		b[i] = ip[i] | ^n.Mask[i]
	}
	return netip.AddrFrom4(b), true
}
