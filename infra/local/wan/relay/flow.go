package relay

import "container/list"

// flow is the packets of one 5-tuple over a link.
type flow struct {
	key
	counters    Counters
	order       order
	first, last Stamp
	place       *list.Element
}

// order counts as reordered what RFC 4737, section 3, does: a packet that arrives after one with
// a higher number, which is here its place among the packets that the flow brought.
type order struct{ next uint64 } // the RFC's NextExp

// arrive says whether the n packets from that index on, which come at once, are reordered. It is not
// told of copies: RFC 4737 looks at the first of several.
func (o *order) arrive(index, n uint64) bool {
	if index < o.next {
		return true
	}
	o.next = index + n
	return false
}

// flow finds a flow or begins it. Where there are too many, the one whose latest packet is the
// oldest is forgotten. The caller holds mu.
func (l *link) flow(k key, at Stamp) *flow {
	f := l.flows[k]
	if f == nil {
		if len(l.flows) >= l.mostFlows {
			oldest := l.recent.Back()
			delete(l.flows, oldest.Value.(*flow).key)
			l.recent.Remove(oldest)
			l.forgotten++
		}
		f = &flow{key: k, first: at}
		f.place = l.recent.PushFront(f)
		l.flows[k] = f
	}
	l.recent.MoveToFront(f.place)
	f.last = at
	return f
}
