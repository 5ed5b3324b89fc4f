package relay

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/wan/topology"
)

// The sizes of a super-packet in these tests.
const (
	ipOptions   = 4
	ipHeader    = 20 + ipOptions
	tcpHeader   = 32
	segmentSize = topology.MTU - ipHeader - tcpHeader
)

// superPacket is one of TCP from a to b, with every flag, as a kernel hands it over.
func superPacket(payload int) (offload, []byte) {
	b := make([]byte, ipHeader+tcpHeader+payload)
	b[0], b[8], b[9] = 0x40|ipHeader/4, 64, protocolTCP
	order := binary.BigEndian
	order.PutUint16(b[2:], uint16(len(b)))
	order.PutUint16(b[4:], 0xfffe) // it wraps around
	copy(b[12:], ends[0].AsSlice())
	copy(b[16:], ends[1].AsSlice())
	order.PutUint16(b[10:], ^fold(add(0, b[:ipHeader])))
	tcp := b[ipHeader:]
	order.PutUint16(tcp, 1000)
	order.PutUint16(tcp[2:], 9)
	order.PutUint32(tcp[4:], 0xffff_ff00) // it wraps around too
	tcp[12], tcp[13] = tcpHeader/4<<4, 0xff
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(tcp[tcpHeader:])
	return offload{flags: needsSum, kind: tcp4Segments, headers: ipHeader + tcpHeader, segment: segmentSize, sumStart: ipHeader, sumOffset: tcpSumOffset}, b
}

// frames sends a super-packet over a link and returns what leaves it, with the time of each.
func frames(b *bench, o offload, ip []byte) (out [][]byte, at []int64) {
	b.arrive(0, o, ip, Stamp{Mono: b.now, Wall: b.now})
	for {
		due, ok := b.next()
		if !ok {
			return out, at
		}
		p := b.due(due)
		out, at = append(out, slices.Clone(p.bytes())), append(at, due)
		b.left(p, true, Stamp{Mono: due, Wall: due})
	}
}

// complete does what the kernel does that takes a frame: it makes the checksum.
func complete(t *testing.T, frame []byte) (offload, []byte) {
	t.Helper()
	o, ip := readOffload(frame), frame[offloadBytes:]
	if o.flags != needsSum || o.sumStart != ipHeader || o.sumOffset != tcpSumOffset {
		t.Fatalf("%+v: want the checksum left to the kernel", o)
	}
	if fold(add(0, ip[:ipHeader])) != 0xffff {
		t.Errorf("the checksum of the IP header is wrong: %x", ip[:ipHeader])
	}
	tcp := ip[ipHeader:]
	even := append(slices.Clone(tcp), 0)
	binary.BigEndian.PutUint16(tcp[tcpSumOffset:], ^fold(add(0, even)))
	return o, ip
}

// tcpSumIsRight adds up a whole segment as RFC 9293, section 3.1, says.
func tcpSumIsRight(ip []byte) bool {
	tcp := append(slices.Clone(ip[ipHeader:]), 0)
	pseudo := append(slices.Clone(ip[12:20]), 0, protocolTCP, 0, 0)
	binary.BigEndian.PutUint16(pseudo[10:], uint16(len(ip)-ipHeader))
	return fold(add(add(0, pseudo), tcp)) == 0xffff
}

func TestSuperPacketIsCutWherePacketsHaveFatesOfTheirOwn(t *testing.T) {
	const payload = 3*segmentSize + 101
	o, ip := superPacket(payload)
	b := newBench(topology.Link{Delay: time.Millisecond, Jitter: 1}, 1)
	out, _ := frames(b, o, slices.Clone(ip))
	if len(out) != 4 {
		t.Fatalf("%d packets, want 4", len(out))
	}
	var data []byte
	for i, frame := range out {
		o, got := complete(t, frame)
		if o.kind != noSegments || o.segment != 0 {
			t.Errorf("packet %d is to be cut again: %+v", i, o)
		}
		order := binary.BigEndian
		tcp := got[ipHeader:]
		wantFlags := byte(0xff)
		if i < 3 {
			wantFlags &^= flagFIN | flagPSH
		}
		if i > 0 {
			wantFlags &^= flagCWR
		}
		if length, id, seq := order.Uint16(got[2:]), order.Uint16(got[4:]), order.Uint32(tcp[4:]); int(length) != len(got) ||
			id != uint16(0xfffe+i) || seq != uint32(0xffff_ff00+i*segmentSize) || tcp[13] != wantFlags {
			t.Errorf("packet %d: length %d, id %d, sequence number %d, flags %x", i, length, id, seq, tcp[13])
		}
		if !tcpSumIsRight(got) {
			t.Errorf("packet %d: the checksum of TCP is wrong", i)
		}
		data = append(data, tcp[tcpHeader:]...)
	}
	if !bytes.Equal(data, ip[ipHeader+tcpHeader:]) {
		t.Error("the payload has changed")
	}
}

func TestSuperPacketPassesWholeWhereThatChangesNothing(t *testing.T) {
	o, ip := superPacket(40*segmentSize + 1)
	out, at := frames(newBench(topology.Link{Delay: time.Millisecond}, 1), o, ip)
	if len(out) != 1 || at[0] != ms {
		t.Fatalf("%d frames at %v, want one after 1 ms", len(out), at)
	}
	got, whole := complete(t, out[0])
	if got.kind != tcp4Segments || got.segment != segmentSize || len(whole) != len(ip) || !tcpSumIsRight(whole) {
		t.Errorf("%+v, %d bytes", got, len(whole))
	}
}

// Whether it travels whole or in parts, a super-packet is counted as what it is on the wire.
func TestSuperPacketCountsAsItsPackets(t *testing.T) {
	const payload = 40*segmentSize + 1
	want := Counters{
		In: 41, InBytes: payload + 41*(ipHeader+tcpHeader), Delivered: 41,
		DeliveredBytes: payload + 41*(ipHeader+tcpHeader), DeliveredPayload: payload,
	}
	var before []Packet
	for _, l := range []topology.Link{{}, {Rate: 1e9}, {Rate: 1e6, Queue: 1 << 20}, {Jitter: 1}} {
		b := newBench(l, 1)
		o, ip := superPacket(payload)
		frames(b, o, ip)
		got := b.link()
		all := b.reportPackets(filter{})
		if got.counters != want || Tally(all) != want || got.delays.TotalCount() != 41 || len(all) != 41 {
			t.Errorf("%+v: %+v, and of %d records %+v", l, got.counters, len(all), Tally(all))
		}
		for i := range all {
			all[i].Arrived, all[i].Left = Stamp{}, Stamp{}
		}
		if before != nil && !slices.Equal(all, before) {
			t.Errorf("%+v: other records than those of the link before", l)
		}
		before = all
		if short := b.reportPackets(filter{length: ipHeader + tcpHeader + 1}); len(short) != 1 || short[0].Index != 40 {
			t.Errorf("%+v: packets of the last one's length: %+v", l, short)
		}
		if b.pool.used != 0 {
			t.Errorf("%+v: memory for %d packets was not given back", l, b.pool.used)
		}
	}
}

func TestRateSerialisesEveryPacketOfASuperPacket(t *testing.T) {
	const wire = 40 * topology.MTU // bytes
	for _, c := range []struct {
		rate     int64
		together int
	}{{30e6, 1}, {500e6, 8}, {1e9, 16}, {3.3e9, 40}} {
		b := newBench(topology.Link{Rate: c.rate, Queue: 1 << 20}, 1)
		o, ip := superPacket(40 * segmentSize)
		out, at := frames(b, o, ip)
		if want := (40 + c.together - 1) / c.together; len(out) != want {
			t.Errorf("%d bits/s: %d frames, want %d", c.rate, len(out), want)
		}
		for i, when := range at {
			bits := float64(min((i+1)*c.together*topology.MTU, wire) * 8)
			if want := int64(bits / float64(c.rate) * 1e9); when < want-100 || when > want {
				t.Errorf("%d bits/s: frame %d leaves after %d ns, want %d", c.rate, i, when, want)
			}
		}
	}
}

func TestQueueTakesThePacketsOfASuperPacketThatItHasRoomFor(t *testing.T) {
	for _, rate := range []int64{1e6, 1e9} {
		b := newBench(topology.Link{Rate: rate, Queue: 20*topology.MTU + 500}, 1)
		o, ip := superPacket(40*segmentSize + 1) // the last is so short that it finds room
		frames(b, o, ip)
		if c := b.link().counters; c.Delivered != 21 || c.QueueDropped != 20 || c.DeliveredPayload != 20*segmentSize+1 {
			t.Errorf("%d bits/s: %+v, want 21 delivered, the last among them, and 20 dropped", rate, c)
		}
	}
}

func TestWrongSuperPacketsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*offload, []byte){
		"of another kind":    func(o *offload, _ []byte) { o.kind = 3 },
		"without a sum":      func(o *offload, _ []byte) { o.flags = 0 },
		"segments of 0":      func(o *offload, _ []byte) { o.segment = 0 },
		"segments too large": func(o *offload, _ []byte) { o.segment++ },
		"a sum elsewhere":    func(o *offload, _ []byte) { o.sumStart-- },
		"UDP":                func(_ *offload, b []byte) { b[9] = protocolUDP },
		"a fragment":         func(_ *offload, b []byte) { b[6] = 0x20 },
		"one large packet":   func(o *offload, _ []byte) { *o = offload{} },
	} {
		b := newBench(topology.Link{}, 1)
		o, ip := superPacket(2 * segmentSize)
		spoil(&o, ip)
		if out, _ := frames(b, o, ip); len(out) != 0 || b.unroutable.Load() != 1 {
			t.Errorf("%s: %d frames left", name, len(out))
		}
	}
}

// Memory is bounded whatever the sizes of the packets that come first.
func TestMemoryOfAllSizesIsBounded(t *testing.T) {
	b := newBench(topology.Link{Delay: time.Second}, 1)
	b.pool.most = 100
	for _, size := range []int{1, 40, 3, 1, 8} {
		for range 200 {
			o, ip := superPacket(size * segmentSize)
			b.arrive(0, o, ip, Stamp{Mono: b.now, Wall: b.now})
			if b.pool.made > b.pool.most || b.pool.used > b.pool.made {
				t.Fatalf("%+v", b.pool)
			}
		}
		if b.pool.used == 0 {
			t.Errorf("no packet of %d segments found room", size)
		}
		b.until(b.now + 2000*ms)
		if b.pool.used != 0 {
			t.Errorf("memory for %d packets was not given back", b.pool.used)
		}
	}
	if c := b.link().counters; c.InFlight() != 0 || c.QueueDropped == 0 {
		t.Errorf("%+v", c)
	}
}
