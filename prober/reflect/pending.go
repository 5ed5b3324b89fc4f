package reflect

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// pending holds the connections that have not shown a key. When it is full, a new one takes the
// place of the oldest: who holds a key shows it within a round trip, and whoever has been silent
// for longer than everybody else is the least likely to. Refusing the newest would let anyone
// with a few addresses and some idle connections lock every prober out.
//
// A flood from a few sources can be fast enough to make a peer far away the oldest within its
// round trip. So a source with no more than its share keeps its places for as long as another
// has more than that.
type pending struct {
	limit, perSource, share int

	mu      sync.Mutex
	waiting *list.List // of *place, the oldest first
	sources map[netip.Prefix]int
	greedy  int // sources with more than the share
}

// place is a connection's in pending.
type place struct {
	conn   *net.TCPConn
	source netip.Prefix
	at     *list.Element // nil once it is left or taken
}

func newPending(limit, perSource int) *pending {
	// A prober whose runs of several kinds and paths overlap has some ten connections pending.
	return &pending{limit: limit, perSource: perSource, share: perSource / 4, waiting: list.New(), sources: map[netip.Prefix]int{}}
}

// enter gives the connection a place, or says why not. taken is the connection that lost its
// place to it, if one did; it is the caller's to close.
func (p *pending) enter(conn *net.TCPConn, source netip.Prefix) (mine *place, taken *net.TCPConn, reason Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sources[source] >= p.perSource {
		return nil, nil, ReasonSourceLimit
	}
	if p.waiting.Len() >= p.limit {
		loser := p.loser()
		p.remove(loser)
		taken = loser.conn
	}
	mine = &place{conn: conn, source: source}
	mine.at = p.waiting.PushBack(mine)
	if p.sources[source]++; p.sources[source] == p.share+1 {
		p.greedy++
	}
	return mine, taken, ""
}

// leave gives the place up. It returns false if another connection has taken it.
func (p *pending) leave(mine *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mine.at == nil {
		return false
	}
	p.remove(mine)
	return true
}

// loser is the oldest of a source with more than its share, or else the oldest of all.
func (p *pending) loser() *place {
	oldest := p.waiting.Front()
	if p.greedy > 0 {
		for p.sources[oldest.Value.(*place).source] <= p.share {
			oldest = oldest.Next()
		}
	}
	return oldest.Value.(*place)
}

func (p *pending) remove(q *place) {
	p.waiting.Remove(q.at)
	q.at = nil
	n := p.sources[q.source] - 1
	if p.sources[q.source] = n; n == p.share {
		p.greedy--
	}
	if n == 0 {
		delete(p.sources, q.source)
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
