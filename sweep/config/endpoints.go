package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/catalog"
)

// MaxEndpoints bounds the endpoints of a configuration, as MaxProbers does the probers.
const MaxEndpoints = 200

// Endpoint is a target that is no prober: a user's own host and port, or a URL. It is measured by
// the kinds that need no reflector, and never measures.
type Endpoint struct {
	Name string
	// Path is how packets get there: a label, for no address of a prober's is behind it.
	Path string
	Host string // a numeric address, or a DNS name in lower case without a dot at the end
	Port int
	URL  string // what an http probe asks for; empty where the file gives an address
}

// Endpoint finds an endpoint by its name.
func (c *Config) Endpoint(name string) (Endpoint, bool) {
	for _, e := range c.Endpoints {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Permits says whether the endpoint may be measured at an address that its host resolved to.
// What wire.NeverMeasured names is never permitted; loopback addresses only with loopback, which is
// the configuration's Loopback. Private addresses are permitted on every path: whoever writes sweep.yaml says where the endpoint is.
func (e Endpoint) Permits(ip netip.Addr, loopback bool) bool {
	return refusal(ip, loopback) == ""
}

// refusal says why nothing is ever sent to an address; it is empty where something may be.
func refusal(ip netip.Addr, loopback bool) string {
	if ip.Zone() != "" {
		return "has a zone, which means something on one machine alone"
	}
	if use := wire.NeverMeasured(ip); use != "" {
		return "is " + use + ", which is never measured"
	}
	if wire.LeadsToLoopback(ip) && !loopback {
		return "is this machine itself, which needs loopback: true and everything on one machine"
	}
	return ""
}

// endpointEntry is an endpoint and where the file says so.
type endpointEntry struct {
	Endpoint
	at   string
	line int
}

// endpoints reads the section of that name, which may be absent. Whatever could be read of an
// endpoint is in the list, as for probers; whole is false when a name or a path is not known for
// sure.
func (r *reader) endpoints(file section, probers []proberEntry, loopback bool) (out []endpointEntry, whole bool) {
	whole = true
	if !file.has("endpoints") {
		return nil, true
	}
	names := map[string]endpointEntry{}
	entries := r.entries(file, "endpoints", MaxEndpoints)
	whole = len(entries) > 0
	for i, n := range entries {
		e := endpointEntry{at: fmt.Sprintf("endpoints[%d]", i), line: n.Line}
		s, ok := r.mapping(e.at, n, "name", "address", "url", "path")
		if !ok {
			whole = false
			continue
		}
		nameOK := r.endpointName(s, &e, probers)
		pathOK := r.endpointPath(s, &e)
		r.endpointPlace(s, &e, loopback)
		whole = whole && nameOK && pathOK
		if first, twice := names[e.Name]; twice {
			r.fault(e.line, "%s.name %s: also the name of %s in line %d; give each a name of its own", e.at, quote(e.Name), first.at, first.line)
			whole = false
		} else if e.Name != "" {
			names[e.Name] = e
		}
		out = append(out, e)
	}
	return out, whole
}

// endpointName reads a name, which must not be taken for a prober or a region. ok is false when it
// is not known what the file calls the endpoint.
func (r *reader) endpointName(s section, e *endpointEntry, probers []proberEntry) (ok bool) {
	s.need("name")
	name, ok := s.text("name")
	if !ok {
		return false
	}
	e.Name, e.line = name, s.lineOf("name")
	if err := wire.ValidateName("name", name); err != nil {
		r.fault(e.line, "%s.%s", s.at, err)
		return false
	}
	if i := slices.IndexFunc(probers, func(p proberEntry) bool { return p.ID == name }); i >= 0 {
		r.fault(e.line, "%s.name %s: also the id of %s in line %d; give each a name of its own", s.at, quote(name), probers[i].at, probers[i].line)
		return false
	}
	if _, region := catalog.Lookup(name); region {
		r.fault(e.line, "%s.name %s: is the name of a region; charts would show it as that region", s.at, quote(name))
	}
	return true
}

func (r *reader) endpointPath(s section, e *endpointEntry) (ok bool) {
	e.Path = pathPublic
	if !s.has("path") {
		return !s.meant["path"]
	}
	path, ok := s.text("path")
	if !ok {
		return false
	}
	e.Path = path
	if !slices.Contains(Paths(), path) {
		r.fault(s.lineOf("path"), "%s.path %s: is no path; %s", s.at, quote(path), suggest(path, Paths()))
		return false
	}
	return true
}

// endpointPlace reads where the endpoint is: an address or a URL.
func (r *reader) endpointPlace(s section, e *endpointEntry, loopback bool) {
	switch address, url := s.has("address"), s.has("url"); {
	case address && url:
		r.fault(s.line, "%s: has both an address and a url; leave one of them", s.at)
	case !address && !url:
		if !s.meant["address"] && !s.meant["url"] {
			r.fault(s.line, "%s: has neither an address nor a url; give it one, such as address: db.example.com:1433 or url: https://api.example.com/health", s.at)
		}
	case address:
		text, ok := s.text("address")
		if !ok {
			return
		}
		if err := e.setAddress(text, loopback); err != nil {
			r.fault(s.lineOf("address"), "%s.address %s: %s", s.at, quote(text), err)
		}
	default:
		text, ok := s.text("url")
		if !ok {
			return
		}
		e.URL = text
		// Not quoted: it may hold a secret, which a message would carry into logs.
		if err := e.setURL(text, loopback); err != nil {
			r.fault(s.lineOf("url"), "%s.url: %s", s.at, err)
		}
	}
}

func (e *Endpoint) setAddress(text string, loopback bool) error {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return fmt.Errorf("want host:port, such as db.example.com:1433 or [2603:1020::4]:5432")
	}
	e.Port = n
	e.Host, err = endpointHost(host, loopback)
	return err
}

// endpointHost checks what can be told of a host without resolving it.
func endpointHost(host string, loopback bool) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if why := refusal(ip, loopback); why != "" {
			return host, fmt.Errorf("%s", why)
		}
		return ip.Unmap().String(), nil
	}
	name := canonicalName(host)
	if validateHostName(name) != nil {
		return name, fmt.Errorf("its host %s is neither an IP address nor a DNS name", quote(host))
	}
	if !loopback && (name == "localhost" || strings.HasSuffix(name, ".localhost")) { // RFC 6761, section 6.3
		return name, fmt.Errorf("is this machine itself, which needs loopback: true and everything on one machine")
	}
	return name, nil
}
