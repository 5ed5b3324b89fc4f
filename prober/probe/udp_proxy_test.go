package probe

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// treatment is what the proxy does to one packet.
type treatment struct {
	drop  bool
	twice bool
	// overtaken keeps it back until the next packet of its direction has passed.
	overtaken bool
	delay     time.Duration
}

// proxy passes UDP packets on between a source and a target, treating samples by the sequence number
// that the source gave them.
type proxy struct {
	forward, reverse map[uint32]treatment
	all              treatment          // of every reply to a sample that has none of its own
	closings         bool               // drop the packets that close the session
	seen             func(reply []byte) // is told of every reply that is passed on; nil: nobody is
}

func (p *proxy) start(t *testing.T, target string) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front, back := c.(*net.UDPConn), sender(t, target)
	var mu sync.Mutex
	var source *net.UDPAddr
	var both sync.WaitGroup
	pass := func(from *net.UDPConn, sequenceAt int, by map[uint32]treatment, rest treatment, send func([]byte)) {
		b := make([]byte, 2000)
		var kept []byte
		for {
			n, a, err := from.ReadFromUDP(b)
			if err != nil {
				if !isOpen(from) {
					return
				}
				continue
			}
			if from == front {
				mu.Lock()
				source = a
				mu.Unlock()
			}
			packet := append([]byte(nil), b[:n]...)
			sequence := binary.BigEndian.Uint32(packet[sequenceAt:])
			how, named := by[sequence]
			if !named && sequence < stamp.WarmupFrom {
				how = rest
			}
			if p.closings && sequence >= stamp.ClosingFrom {
				how.drop = true
			}
			switch {
			case how.drop:
				continue
			case how.overtaken:
				kept = packet
				continue
			case how.delay > 0:
				time.AfterFunc(how.delay, func() { send(packet) })
				continue
			case how.twice:
				send(packet)
			}
			if send(packet); kept != nil {
				send(kept)
				kept = nil
			}
		}
	}
	both.Go(func() {
		pass(front, 0, p.forward, treatment{}, func(b []byte) { _, _ = back.Write(b) })
	})
	both.Go(func() {
		pass(back, 48, p.reverse, p.all, func(b []byte) {
			if p.seen != nil {
				p.seen(b)
			}
			mu.Lock()
			defer mu.Unlock()
			_, _ = front.WriteToUDP(b, source)
		})
	})
	t.Cleanup(func() {
		_ = front.Close()
		_ = back.Close()
		both.Wait()
	})
	return front.LocalAddr().String()
}

// isOpen tells an ICMP error on a connected socket from its end.
func isOpen(c *net.UDPConn) bool { return c.SetReadDeadline(time.Time{}) == nil }

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func count(n int) *int { return &n }

func TestUDPTellsTheDirectionsApart(t *testing.T) { bothUDPWays(t, tellsTheDirectionsApart) }

func tellsTheDirectionsApart(t *testing.T, p *Prober) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	through := proxy{
		forward: map[uint32]treatment{3: {drop: true}, 7: {twice: true}, 11: {overtaken: true}, 20: {drop: true}, 30: {overtaken: true}},
		reverse: map[uint32]treatment{5: {drop: true}, 9: {twice: true}, 14: {overtaken: true}, 21: {drop: true}, 22: {drop: true}},
	}
	run := p.Make(t.Context(), udpRequest(through.start(t, r.address), 40))
	valid(t, run)
	sameCounts(t, run, wire.Counts{
		Warmup: 3, Sent: 40, Received: 35, Lost: 5, Duplicate: 2, Reordered: 3,
		LostForward: count(2), LostReverse: count(3), DuplicateForward: count(1), DuplicateReverse: count(1),
		ReorderedForward: count(2), ReorderedReverse: count(1),
	})
	for _, i := range []int{3, 5, 20, 21, 22} {
		if run.Samples.Failure[i] != wire.FailureTimeout || run.Samples.RTTNS[i] != wire.Null {
			t.Errorf("sample %d: failure %q, round trip %d; want a timeout", i, run.Samples.Failure[i], run.Samples.RTTNS[i])
		}
	}
	if run.Failure != "" {
		t.Errorf("failure %q (%s)", run.Failure, run.Detail)
	}
}

// The first copy's reply may be the one that is lost: the sample is answered, and neither lost nor
// doubled on the way back.
func TestUDPACopyMayMakeGoodALoss(t *testing.T) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	p := proxy{forward: map[uint32]treatment{4: {twice: true}, 6: {twice: true}}, reverse: map[uint32]treatment{6: {drop: true}}}
	run := stampProber().Make(t.Context(), udpRequest(p.start(t, r.address), 20))
	valid(t, run)
	sameCounts(t, run, wire.Counts{
		Warmup: 3, Sent: 20, Received: 19, Lost: 1, Duplicate: 1,
		LostForward: count(0), LostReverse: count(1), DuplicateForward: count(2), DuplicateReverse: count(0),
		ReorderedForward: count(0), ReorderedReverse: count(0),
	})
}

func TestUDPALateReplyIsLostAndCounted(t *testing.T) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	p := proxy{reverse: map[uint32]treatment{1: {delay: 1500 * time.Millisecond}, 2: {drop: true}}}
	req := udpRequest(p.start(t, r.address), 100)
	req.Spec.Interval, req.Spec.Timeout = 10*time.Millisecond, time.Second
	late := 0
	req.Observe = func(r Reply) {
		if r.Late {
			late++
			if r.Sequence != 1 || r.RTT < 1400*time.Millisecond {
				t.Errorf("late: %+v, want sample 1 after 1.5 s", r)
			}
		}
	}
	run := stampProber().Make(t.Context(), req)
	valid(t, run)
	sameCounts(t, run, wire.Counts{
		Warmup: 3, Sent: 100, Received: 98, Lost: 2, Late: 1,
		LostForward: count(0), LostReverse: count(1), DuplicateForward: count(0), DuplicateReverse: count(0),
		ReorderedForward: count(0), ReorderedReverse: run.Counts.ReorderedReverse,
	})
	if late != 1 || *run.Counts.ReorderedReverse != 1 { // it was overtaken, too
		t.Errorf("%d late replies observed, %d reordered; want 1 each", late, *run.Counts.ReorderedReverse)
	}
}

func TestUDPWithoutAReportTheDirectionsAreUnknown(t *testing.T) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	p := proxy{closings: true, reverse: map[uint32]treatment{5: {drop: true}}}
	run := stampProber().Make(t.Context(), udpRequest(p.start(t, r.address), 20))
	valid(t, run)
	sameCounts(t, run, wire.Counts{Warmup: 3, Sent: 20, Received: 19, Lost: 1})
}

func TestUDPAClosedLoopWaitsForEveryReply(t *testing.T) {
	bothUDPWays(t, aClosedLoopWaitsForEveryReply)
}

func aClosedLoopWaitsForEveryReply(t *testing.T, p *Prober) {
	r := startStampTarget(t, nil, testStampSession(192, 203))
	const delay = 20 * time.Millisecond
	through := proxy{all: treatment{delay: delay}, reverse: map[uint32]treatment{4: {drop: true}}}
	req := udpRequest(through.start(t, r.address), 10)
	req.Spec.Interval, req.Spec.Timeout = 0, time.Second
	run := p.Make(t.Context(), req)
	valid(t, run)
	sameCounts(t, run, wire.Counts{
		Warmup: 3, Sent: 10, Received: 9, Lost: 1,
		LostForward: count(0), LostReverse: count(1), DuplicateForward: count(0), DuplicateReverse: count(0),
		ReorderedForward: count(0), ReorderedReverse: count(0),
	})
	for i := 1; i < 10; i++ {
		least := delay
		if i-1 == 4 {
			least = req.Spec.Timeout
		}
		if gap := time.Duration(run.Samples.SentNS[i] - run.Samples.SentNS[i-1]); gap < least {
			t.Errorf("sample %d left %s after the one before, want %s at least", i, gap, least)
		}
		if run.Samples.DueNS[i] != run.Samples.SentNS[i] {
			t.Errorf("sample %d was due at %d, sent at %d; want the same", i, run.Samples.DueNS[i], run.Samples.SentNS[i])
		}
	}
}
