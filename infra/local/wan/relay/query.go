package relay

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// Query says which links, flows or packets are meant. What is zero is left open.
type Query struct {
	From, To, Path      string
	Protocol            string // tcp, udp or icmp, or a number
	Source, Destination netip.Addr
	SourcePort          uint16
	DestinationPort     uint16
	Length              int       // of the IP packet, bytes; packets only
	Since               time.Time // packets that came at that time or later, by the machine's clock; packets only
}

// values is the query in a URL.
func (q Query) values() url.Values {
	v := url.Values{}
	set := func(key, value string, given bool) {
		if given {
			v.Set(key, value)
		}
	}
	set("from", q.From, q.From != "")
	set("to", q.To, q.To != "")
	set("path", q.Path, q.Path != "")
	set("proto", q.Protocol, q.Protocol != "")
	set("source", q.Source.String(), q.Source.IsValid())
	set("destination", q.Destination.String(), q.Destination.IsValid())
	set("sport", strconv.Itoa(int(q.SourcePort)), q.SourcePort != 0)
	set("dport", strconv.Itoa(int(q.DestinationPort)), q.DestinationPort != 0)
	set("length", strconv.Itoa(q.Length), q.Length != 0)
	set("since", q.Since.UTC().Format(time.RFC3339Nano), !q.Since.IsZero())
	return v
}

// filter is a query as it is compared with records.
type filter struct {
	from, to, path      string
	protocol            uint8
	source, destination uint32
	sport, dport        uint16
	length              uint16
	since               int64 // ns, wall
}

// parseQuery reads what values has written. Its errors say what to write instead.
func parseQuery(v url.Values) (f filter, err error) {
	for name, values := range v {
		if len(values) != 1 {
			return f, fmt.Errorf("%s is there %d times: give it once", name, len(values))
		}
		value := values[0]
		switch name {
		case "from":
			f.from = value
		case "to":
			f.to = value
		case "path":
			f.path = value
		case "proto":
			f.protocol, err = parseProtocol(value)
		case "source":
			f.source, err = parseAddress(value)
		case "destination":
			f.destination, err = parseAddress(value)
		case "sport":
			f.sport, err = parse16(value)
		case "dport":
			f.dport, err = parse16(value)
		case "length":
			f.length, err = parse16(value)
		case "since":
			var t time.Time
			t, err = time.Parse(time.RFC3339Nano, value)
			f.since = t.UnixNano()
		default:
			err = fmt.Errorf("want from, to, path, proto, source, destination, sport, dport, length or since")
		}
		if err != nil {
			return f, fmt.Errorf("parameter %s=%.60q: %w", name, value, err)
		}
	}
	return f, nil
}

func parseProtocol(text string) (uint8, error) {
	switch text {
	case "tcp":
		return protocolTCP, nil
	case "udp":
		return protocolUDP, nil
	case "icmp":
		return protocolICMP, nil
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("want tcp, udp, icmp or a number, 1 to 255")
	}
	return uint8(n), nil
}

func parseAddress(text string) (uint32, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		return 0, fmt.Errorf("want an IPv4 address")
	}
	return number(a), nil
}

func parse16(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("want a whole number, 1 to 65535")
	}
	return uint16(n), nil
}

func (f filter) link(l *link) bool {
	return (f.from == "" || f.from == l.From) && (f.to == "" || f.to == l.To) && (f.path == "" || f.path == l.Path)
}

func (f filter) key(k key) bool {
	return (f.protocol == 0 || f.protocol == k.protocol) &&
		(f.source == 0 || f.source == k.source) && (f.destination == 0 || f.destination == k.destination) &&
		(f.sport == 0 || f.sport == k.sourcePort) && (f.dport == 0 || f.dport == k.destinationPort)
}

func (f filter) record(r *record) bool {
	return (f.length == 0 || f.length == r.length) && r.arrived.Wall >= f.since && f.key(r.header.key())
}
