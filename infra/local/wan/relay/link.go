package relay

import (
	"container/list"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"isochrone/infra/local/wan/topology"
)

// link is one direction between two nodes over a path. The engine alone touches what is above
// mu; what is below is read by whoever asks.
type link struct {
	topology.Between
	to       int // the node
	random   *rand.Rand
	together int // how many packets of a super-packet travel as one

	lastDue   int64 // ns, monotonic: no packet in order leaves before it
	busyUntil int64 // ns, monotonic: when the last bit of the last packet will have left

	mu        sync.Mutex
	counters  Counters
	delays    *hdrhistogram.Histogram // made with the first packet: most links of a large network carry none
	records   ring
	flows     map[key]*flow
	recent    *list.List // of *flow, the one with the latest packet in front
	mostFlows int
	forgotten uint64 // flows
}

func newLink(b topology.Between, to int, seed uint64, size Sizes) *link {
	h := fnv.New64a()
	for _, s := range []string{b.From, b.To, b.Path} {
		_, _ = h.Write([]byte(s)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return &link{
		Between: b, to: to, together: together(b.Link), random: rand.New(rand.NewPCG(seed, h.Sum64())),
		records: ring{most: uint64(size.Packets)}, mostFlows: size.Flows,
		flows: map[key]*flow{}, recent: list.New(),
	}
}

// grain is how long the packets that travel together may take to serialise, ns: they leave when the
// last one does. What a network card gathers before it wakes its machine is of that order.
const grain = int64(200 * time.Microsecond)

// together is how many packets of a super-packet may travel as one over a link: all where that
// changes the fate of none.
func together(l topology.Link) int {
	switch {
	case l.Loss > 0 || l.Duplicate > 0 || l.Reorder > 0 || l.Jitter > 0:
		return 1
	case l.Rate == 0:
		return largestPacket
	}
	return int(min(max(l.Rate*(grain/1000)/(8*1e6*topology.MTU), 1), largestPacket))
}

// fate is what the random numbers say of a packet.
type fate struct {
	lost, duplicated, reordered bool
	jitter                      int64 // ns
}

// draw takes as many numbers for every packet, so that no decision shifts those that follow.
func (l *link) draw() fate {
	return fate{
		lost:       l.random.Float64() < l.Loss,
		duplicated: l.random.Float64() < l.Duplicate,
		reordered:  l.random.Float64() < l.Reorder,
		jitter:     int64(l.random.Float64() * float64(l.Jitter)),
	}
}

// enqueue says when the last bit of one or more packets will have left, and whether there was room
// for them all.
func (l *link) enqueue(length int, now int64) (leaves int64, ok bool) {
	if l.Rate == 0 {
		return now, true
	}
	start := max(now, l.busyUntil)
	backlog := float64(start-now) * float64(l.Rate) / 8e9 // bytes
	if backlog+float64(length) > float64(l.Room()) {
		return 0, false
	}
	l.busyUntil = start + int64(float64(length)*8e9/float64(l.Rate))
	return l.busyUntil, true
}

// dueAt is when a packet leaves whose last bit enters the line at that time.
func (l *link) dueAt(enters int64, f fate) int64 {
	due := max(enters+int64(l.Delay)+f.jitter, l.lastDue)
	l.lastDue = due
	if f.reordered {
		due += int64(l.ReorderBy)
	}
	return due
}

// The applied delays that the histogram tells apart: from 1 µs, with three digits.
const (
	leastDelay = int64(time.Microsecond)
	mostDelay  = int64(2 * time.Minute)
)

// brought counts what has come, and says which of its flow it is.
func (l *link) brought(h header, at Stamp) (*flow, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flow(h.key(), at)
	index := f.counters.In
	for _, c := range []*Counters{&l.counters, &f.counters} {
		c.In += uint64(h.packets())
		c.InBytes += uint64(h.bytes())
	}
	return f, index
}

// dropped counts what will not leave.
func (l *link) dropped(p passage, v Verdict, at Stamp) {
	n := uint64(p.packets())
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range []*Counters{&l.counters, &p.flow.counters} {
		switch v {
		case Lost:
			c.Lost += n
		case QueueDropped:
			c.QueueDropped += n
		case Refused:
			c.Refused += n
		}
	}
	l.records.add(record{header: p.header, index: p.index, arrived: p.arrived, left: at, verdict: v})
}

// delivered counts what has left.
func (l *link) delivered(p *packet, at Stamp) {
	n := uint64(p.packets())
	l.mu.Lock()
	defer l.mu.Unlock()
	reordered, v := false, Delivered
	if p.copy {
		v = Duplicate
	} else {
		reordered = p.flow.order.arrive(p.index, n)
		if l.delays == nil {
			l.delays = hdrhistogram.New(leastDelay, mostDelay, 3)
		}
		_ = l.delays.RecordValues(min(max(at.Mono-p.arrived.Mono, 0), mostDelay), int64(n)) // fails for no value within
	}
	for _, c := range []*Counters{&l.counters, &p.flow.counters} {
		c.Delivered += n
		c.DeliveredBytes += uint64(p.header.bytes())
		c.DeliveredPayload += uint64(p.payload)
		if p.copy {
			c.Duplicated += n
		}
		if reordered {
			c.Reordered += n
		}
	}
	p.flow.last = at
	l.records.add(record{header: p.header, index: p.index, arrived: p.arrived, left: at, verdict: v, reordered: reordered})
}
