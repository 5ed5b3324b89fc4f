package relay

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/wan/topology"
)

const ms = int64(time.Millisecond)

// bench is an engine of two nodes with a clock of its own.
type bench struct {
	*engine
	now    int64
	out    []arrival
	buffer [largestPacket]byte
}

type arrival struct {
	number uint32 // from the payload
	at     int64  // ns
	copy   bool
}

var ends = [2]netip.Addr{netip.MustParseAddr("10.90.0.11"), netip.MustParseAddr("10.90.0.12")}

func newBench(l topology.Link, seed uint64) *bench {
	t := &topology.Topology{Seed: seed, Default: l, Subnets: topology.DefaultSubnets(), Nodes: []topology.Node{
		{Name: "a", Addresses: map[string]netip.Addr{"public": ends[0]}},
		{Name: "b", Addresses: map[string]netip.Addr{"public": ends[1]}},
	}}
	return &bench{engine: newEngine(t, Sizes{Packets: 1000, Flows: 4})}
}

// datagram writes a UDP packet of that length from a to b.
func datagram(b []byte, port uint16, length int, number uint32) {
	clear(b[:length])
	b[0], b[9] = 0x45, protocolUDP
	binary.BigEndian.PutUint16(b[2:], uint16(length))
	copy(b[12:], ends[0].AsSlice())
	copy(b[16:], ends[1].AsSlice())
	binary.BigEndian.PutUint16(b[20:], port)
	binary.BigEndian.PutUint16(b[22:], 9)
	binary.BigEndian.PutUint32(b[28:], number)
}

func (b *bench) send(number uint32, length int) { b.sendFrom(1000, number, length) }

func (b *bench) sendFrom(port uint16, number uint32, length int) {
	b.until(b.now)
	datagram(b.buffer[:], port, length, number)
	b.arrive(0, offload{}, b.buffer[:length], Stamp{Mono: b.now, Wall: b.now})
}

// until delivers what is due up to a moment, each at the moment that it is due.
func (b *bench) until(end int64) {
	for {
		due, ok := b.next()
		if !ok || due > end {
			b.now = end
			return
		}
		p := b.due(due)
		b.out = append(b.out, arrival{binary.BigEndian.Uint32(p.ip()[28:]), due, p.copy})
		b.left(p, true, Stamp{Mono: due, Wall: due})
	}
}

func (b *bench) link() *link { return b.routes[0][number(ends[1])] }

func TestDelayIsKeptToTheNanosecond(t *testing.T) {
	b := newBench(topology.Link{Delay: 20 * time.Millisecond}, 1)
	b.send(0, 100)
	b.now = 3 * ms
	b.send(1, 100)
	b.until(19_999_999)
	if len(b.out) != 0 {
		t.Fatalf("left early: %v", b.out)
	}
	b.until(100 * ms)
	if want := []arrival{{0, 20 * ms, false}, {1, 23 * ms, false}}; !slices.Equal(b.out, want) {
		t.Errorf("got %v, want %v", b.out, want)
	}
}

func TestJitterIsUniformAndKeepsOrder(t *testing.T) {
	b := newBench(topology.Link{Delay: 10 * time.Millisecond, Jitter: 4 * time.Millisecond}, 1)
	const n = 2000
	var sum float64
	for i := range uint32(n) { // so far apart that none waits for another
		b.now = int64(i) * 20 * ms
		b.send(i, 100)
		b.until(b.now + 15*ms)
		d := b.out[i].at - int64(i)*20*ms
		if d < 10*ms || d > 14*ms {
			t.Fatalf("a delay of %d ns", d)
		}
		sum += float64(d)
	}
	// The standard error of the mean is 4 ms ÷ √12 ÷ √2000 = 0.026 ms.
	if mean := sum / n / float64(ms); mean < 11.87 || mean > 12.13 {
		t.Errorf("a mean of %g ms, want 12", mean)
	}
	b = newBench(topology.Link{Jitter: 4 * time.Millisecond}, 1)
	for i := range uint32(n) { // so near that most would overtake others
		b.now = int64(i) * ms / 100
		b.send(i, 100)
	}
	b.until(1000 * ms)
	if !slices.IsSortedFunc(b.out, func(x, y arrival) int { return int(x.number) - int(y.number) }) || len(b.out) != n {
		t.Errorf("jitter changed the order, or lost some of %d", len(b.out))
	}
	if c := b.link().counters; c.Reordered != 0 || c.Delivered != n {
		t.Errorf("%+v", c)
	}
}

func TestRateSerialisesAndQueueDropsTheTail(t *testing.T) {
	// 8 Mbit/s: a packet of 1,000 bytes takes a millisecond. Three find room at once.
	b := newBench(topology.Link{Rate: 8_000_000, Queue: 3000, Delay: 5 * time.Millisecond}, 1)
	for i := range uint32(5) {
		b.send(i, 1000)
	}
	b.now = 3 * ms / 2 // one and a half have left: room for one
	b.send(5, 1000)
	b.send(6, 1000)
	b.send(7, 500)
	b.until(100 * ms)
	want := []arrival{{0, 6 * ms, false}, {1, 7 * ms, false}, {2, 8 * ms, false}, {5, 9 * ms, false}, {7, 9*ms + ms/2, false}}
	if !slices.Equal(b.out, want) {
		t.Errorf("got %v, want %v", b.out, want)
	}
	if c := b.link().counters; c.In != 8 || c.Delivered != 5 || c.QueueDropped != 3 || c.InFlight() != 0 || c.DeliveredBytes != 4500 {
		t.Errorf("%+v", c)
	}
}

func TestQueueWithoutASizeHolds100msOfTheRate(t *testing.T) {
	for rate, want := range map[int64]int64{8_000_000: 100_000, 64_000: 15_000} {
		if got := (topology.Link{Rate: rate}).Room(); got != want {
			t.Errorf("%d bits/s: %d bytes, want %d", rate, got, want)
		}
	}
}

func TestCopyTravelsRightBehindItsPacket(t *testing.T) {
	b := newBench(topology.Link{Delay: time.Millisecond, Duplicate: 1, Reorder: 0.5, ReorderBy: 10 * time.Millisecond}, 5)
	for i := range uint32(20) {
		b.now = int64(i) * ms
		b.send(i, 100)
	}
	b.until(100 * ms)
	if len(b.out) != 40 {
		t.Fatalf("%d packets left, want 20 with a copy each", len(b.out))
	}
	for i := 0; i < len(b.out); i += 2 {
		if p, c := b.out[i], b.out[i+1]; p.copy || !c.copy || p.number != c.number || p.at != c.at {
			t.Errorf("%v is followed by %v, want its copy", p, c)
		}
	}
}

func TestReorderedPacketLeavesLaterAndHoldsNoneUp(t *testing.T) {
	b := newBench(topology.Link{Delay: ms2(2), Reorder: 0.3, ReorderBy: ms2(5)}, 3)
	const n = 200
	for i := range uint32(n) {
		b.now = int64(i) * ms
		b.send(i, 100)
	}
	b.until(1000 * ms)
	late := uint64(0)
	for _, a := range b.out {
		switch d := a.at - int64(a.number)*ms; d {
		case 2 * ms:
		case 7 * ms:
			late++
		default:
			t.Errorf("packet %d took %d ns", a.number, d)
		}
	}
	if late < 30 || late > 90 {
		t.Errorf("%d of %d left later, want about 60", late, n)
	}
	if c := b.link().counters; c.Reordered == 0 || c.Reordered > late {
		t.Errorf("%d reordered of %d that left later", c.Reordered, late)
	}
}

func ms2(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// The numbers behind a decision are drawn whether or not it matters, so what is lost stays lost
// when copies are asked for too; and another seed means another fate.
func TestDecisionsAreIndependentAndRepeatable(t *testing.T) {
	lost := func(l topology.Link, seed uint64) (out []uint32) {
		b := newBench(l, seed)
		var there [500]bool
		for i := range uint32(500) {
			b.send(i, 100)
		}
		b.until(1000 * ms)
		for _, a := range b.out {
			there[a.number] = true
		}
		for i, ok := range there {
			if !ok {
				out = append(out, uint32(i))
			}
		}
		return out
	}
	plain := lost(topology.Link{Loss: 0.2}, 1)
	if len(plain) < 60 || len(plain) > 140 {
		t.Errorf("%d of 500 lost, want about 100", len(plain))
	}
	if again := lost(topology.Link{Loss: 0.2}, 1); !slices.Equal(plain, again) {
		t.Error("the same seed lost others")
	}
	if more := lost(topology.Link{Loss: 0.2, Duplicate: 0.5, Reorder: 0.5, ReorderBy: 1, Jitter: 1000}, 1); !slices.Equal(plain, more) {
		t.Error("copies and reordering changed what is lost")
	}
	if other := lost(topology.Link{Loss: 0.2}, 2); slices.Equal(plain, other) {
		t.Error("another seed lost the same")
	}
}

func TestPacketsOnTheirWayAreBounded(t *testing.T) {
	b := newBench(topology.Link{Delay: time.Second, Duplicate: 1}, 1)
	const most = 1000
	b.pool.most = most
	for i := range uint32(most) {
		b.send(i, 40)
	}
	if b.pool.made > most {
		t.Errorf("%d packets in being, want at most %d", b.pool.made, most)
	}
	b.until(5000 * ms)
	c := b.link().counters
	if c.QueueDropped == 0 || c.In != most || c.InFlight() != 0 || c.Delivered != uint64(len(b.out)) {
		t.Errorf("%+v, %d arrived", c, len(b.out))
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	b := newBench(topology.Link{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.1, Duplicate: 0.1, Rate: 1e9}, 1)
	round := func() {
		for i := range uint32(10) {
			b.send(i, 100)
		}
		for {
			due, ok := b.next()
			if !ok {
				break
			}
			b.now = due
			b.left(b.due(due), true, Stamp{Mono: due, Wall: due})
		}
	}
	for range 300 { // until the ring is full
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%g allocations for ten packets", n)
	}
}
