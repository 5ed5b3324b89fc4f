package relay

import (
	"container/heap"
	"sync/atomic"

	"isochrone/infra/local/wan/topology"
)

// Sizes bound what is kept in memory of each link.
type Sizes struct {
	Packets int `json:"packets"` // the latest records of packets
	Flows   int `json:"flows"`   // the flows with the latest packets
}

// The sizes where nothing else is said: the runs of some minutes.
const (
	DefaultPackets = 16384
	DefaultFlows   = 2048
)

// engine decides what becomes of packets. It has no clock: whoever drives it says what time it
// is. One goroutine drives it; any may ask for reports.
type engine struct {
	routes     []map[uint32]*link // by source node, by destination address
	links      []*link
	queue      schedule
	pool       pool
	order      uint64
	unroutable atomic.Uint64
}

func newEngine(t *topology.Topology, sizes Sizes) *engine {
	type ends struct{ from, to, path string }
	given := make(map[ends]topology.Link, len(t.Links))
	for _, b := range t.Links {
		given[ends{b.From, b.To, b.Path}] = b.Link
	}
	e := &engine{pool: pool{most: mostInFlight}, routes: make([]map[uint32]*link, len(t.Nodes))}
	for from, a := range t.Nodes {
		e.routes[from] = map[uint32]*link{}
		for to, b := range t.Nodes {
			for path := range a.Addresses {
				destination, ok := b.Addresses[path]
				if from == to || !ok {
					continue
				}
				between := topology.Between{From: a.Name, To: b.Name, Path: path, Link: t.Default}
				if l, ok := given[ends{a.Name, b.Name, path}]; ok {
					between.Link = l
				}
				l := newLink(between, to, t.Seed, sizes)
				e.routes[from][number(destination)] = l
				e.links = append(e.links, l)
			}
		}
	}
	return e
}

// arrive takes a packet that has come from a node, and what its kernel has left undone. It keeps
// neither.
func (e *engine) arrive(from int, o offload, ip []byte, at Stamp) {
	h, ok := parse(ip)
	l := e.routes[from][h.destination]
	if ok && l != nil {
		h, ok = o.segmented(h, ip)
	}
	if !ok || l == nil {
		e.unroutable.Add(1)
		return
	}
	p := passage{header: h, link: l, arrived: at}
	p.flow, p.index = l.brought(h, at)
	if h.segment == 0 {
		e.admit(p, o, ip, 0, 1)
		return
	}
	for first, all := 0, h.packets(); first < all; first += l.together {
		e.admit(p, o, ip, first, min(l.together, all-first))
	}
}

// admit decides the fate of the n packets from the number first on of those that have come. Where
// the queue has room for some of them alone, each is on its own.
func (e *engine) admit(all passage, o offload, ip []byte, first, n int) {
	p, l, now := all, all.link, all.arrived
	p.header, p.index = all.part(first, n), all.index+uint64(first)
	f := l.draw()
	if f.lost {
		l.dropped(p, Lost, now)
		return
	}
	enters, ok := l.enqueue(p.header.bytes(), now.Mono)
	if !ok && n > 1 {
		for i := range n {
			e.admit(all, o, ip, first+i, 1)
		}
		return
	}
	var x *packet
	if ok {
		x = e.pool.take(int(p.length))
	}
	if x == nil {
		l.dropped(p, QueueDropped, now)
		return
	}
	if all.segment == 0 {
		o.kind, o.segment = noSegments, 0
		o.write(x.frame)
		copy(x.frame[offloadBytes:], ip)
	} else {
		all.cut(x.frame, ip, first, n)
	}
	x.passage, x.due, x.copy = p, l.dueAt(enters, f), false
	e.schedule(x)
	if f.duplicated {
		e.duplicate(x)
	}
}

func (e *engine) duplicate(p *packet) {
	c := e.pool.take(int(p.length))
	if c == nil {
		return
	}
	c.passage, c.due, c.copy = p.passage, p.due, true
	copy(c.frame, p.bytes())
	e.schedule(c)
}

func (e *engine) schedule(p *packet) {
	p.order = e.order
	e.order++
	heap.Push(&e.queue, p)
}

// next is when the next packet is due.
func (e *engine) next() (due int64, ok bool) {
	if len(e.queue) == 0 {
		return 0, false
	}
	return e.queue[0].due, true
}

// due takes the next packet off the queue, if it is due. The caller writes it and then calls
// left.
func (e *engine) due(now int64) *packet {
	if len(e.queue) == 0 || e.queue[0].due > now {
		return nil
	}
	return heap.Pop(&e.queue).(*packet)
}

// left counts a packet that was written, or that the destination did not take.
func (e *engine) left(p *packet, taken bool, at Stamp) {
	switch {
	case taken:
		p.link.delivered(p, at)
	case !p.copy:
		p.link.dropped(p.passage, Refused, at)
	}
	e.pool.release(p)
}
