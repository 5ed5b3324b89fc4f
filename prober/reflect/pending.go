package reflect

import (
	"net/netip"
	"sync"
)

// pending counts the connections that have not shown a key, by source. It holds an entry only
// for sources that have one, so it is no larger than the limit.
type pending struct {
	limit, perSource int

	mu      sync.Mutex
	all     int
	sources map[netip.Prefix]int
}

func newPending(limit, perSource int) *pending {
	return &pending{limit: limit, perSource: perSource, sources: map[netip.Prefix]int{}}
}

// enter counts a connection, or says why not.
func (p *pending) enter(source netip.Prefix) Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sources[source] >= p.perSource:
		return ReasonSourceLimit
	case p.all >= p.limit:
		return ReasonPendingLimit
	}
	p.all++
	p.sources[source]++
	return ""
}

func (p *pending) leave(source netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.sources[source]--; p.sources[source] == 0 {
		delete(p.sources, source)
	}
}

// sourceOf is the unit by which peers are told apart: an IPv4 address, or the /64 that one IPv6
// host can fill at will.
func sourceOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits) // an error only for bits out of range
	return prefix
}
