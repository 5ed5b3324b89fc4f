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

// mostInFlight bounds the packets on their way in the whole network: 1.6 KB each.
const mostInFlight = 1 << 16

// engine decides what becomes of packets. It has no clock: whoever drives it says what time it
// is. One goroutine drives it; any may ask for reports.
type engine struct {
	routes     []map[uint32]*link // by source node, by destination address
	links      []*link
	queue      schedule
	free       []*packet
	order      uint64
	made, most int // packets in being, free or not
	unroutable atomic.Uint64
}

func newEngine(t *topology.Topology, sizes Sizes) *engine {
	type ends struct{ from, to, path string }
	given := make(map[ends]topology.Link, len(t.Links))
	for _, b := range t.Links {
		given[ends{b.From, b.To, b.Path}] = b.Link
	}
	e := &engine{most: mostInFlight, routes: make([]map[uint32]*link, len(t.Nodes))}
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

// take hands out a packet to read into. One is always left: arrive and duplicate see to it.
func (e *engine) take() *packet {
	if n := len(e.free); n > 0 {
		p := e.free[n-1]
		e.free = e.free[:n-1]
		return p
	}
	e.made++
	return &packet{}
}

// room is how many packets take can still hand out.
func (e *engine) room() int { return len(e.free) + e.most - e.made }

func (e *engine) release(p *packet) {
	p.link, p.flow = nil, nil
	e.free = append(e.free, p)
}

// arrive takes over a packet of n bytes that has come from a node.
func (e *engine) arrive(from int, p *packet, n int, at Stamp) {
	h, ok := parse(p.buffer[:n])
	l := e.routes[from][h.destination]
	if !ok || l == nil {
		e.unroutable.Add(1)
		e.release(p)
		return
	}
	p.header, p.link, p.arrived, p.copy = h, l, at, false
	p.flow, p.index = l.brought(h, at)
	f := l.draw()
	if f.lost {
		e.drop(p, Lost, at)
		return
	}
	enters, ok := l.enqueue(int(h.length), at.Mono)
	if !ok || e.room() == 0 {
		e.drop(p, QueueDropped, at)
		return
	}
	p.due = l.dueAt(enters, f)
	e.schedule(p)
	if f.duplicated {
		e.duplicate(p)
	}
}

func (e *engine) drop(p *packet, v Verdict, at Stamp) {
	p.link.dropped(p, v, at)
	e.release(p)
}

func (e *engine) duplicate(p *packet) {
	if e.room() < 2 {
		return // the last free one is for the next to arrive
	}
	c := e.take()
	c.header, c.link, c.flow, c.arrived, c.due, c.index, c.copy = p.header, p.link, p.flow, p.arrived, p.due, p.index, true
	copy(c.buffer[:], p.bytes())
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
		p.link.dropped(p, Refused, at)
	}
	e.release(p)
}
