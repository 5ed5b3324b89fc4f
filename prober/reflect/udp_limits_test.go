package reflect

import (
	"net/netip"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

func TestAUDPSessionEndsWithItsTime(t *testing.T) {
	listed := stampOf(1)
	r, c := openUDP(t, listed)
	s := sourceOfSession(t, r.address, listed)
	s.reports(t, 0)
	s.answered(t, 0)
	r.Admit(nil) // not listed any more: it stays open
	s.answered(t, 1)
	c.set(-time.Hour) // the wall clock's steps do not move its end
	s.answered(t, 2)
	c.set(time.Hour)
	s.answered(t, 3)
	c.set(0)
	c.move(2 * time.Minute)
	s.send(t, s.sample(4))
	s.send(t, s.control(1))
	r.expect(t, 1, map[Reason]int{ReasonTooLate: 2})
	next := stampOf(2)
	next.NotBefore, next.Deadline = c.now(), c.now().Add(time.Minute)
	late := sourceOfSession(t, r.address, next)
	r.Admit([]wire.Session{next})
	c.move(2 * time.Minute)
	late.send(t, late.control(0))
	r.expect(t, 1, map[Reason]int{ReasonTooLate: 3})
	unanswered(t, s, late)
}

func TestAUDPSessionIsForgottenWhenItIsOver(t *testing.T) {
	r, c := openUDP(t, stampOf(1))
	s := sourceOfSession(t, r.address, stampOf(1))
	s.reports(t, 0)
	left := func() (sessions, peers, octets int) {
		r.door.mu.Lock()
		defer r.door.mu.Unlock()
		return len(r.door.sessions), len(r.door.peers), r.door.tracked
	}
	if n, p, o := left(); n != 1 || p != 1 || o == 0 {
		t.Errorf("open: %d sessions, %d peers, %d octets", n, p, o)
	}
	c.move(time.Hour)
	r.Admit(nil)
	if n, p, o := left(); n != 0 || p != 0 || o != 0 {
		t.Errorf("over: %d sessions, %d peers, %d octets; want none", n, p, o)
	}
	s.send(t, s.control(1))
	r.expect(t, 1, map[Reason]int{ReasonUnknownSession: 1})
	unanswered(t, s)
}

// A reflector that was restarted does not know what it answered before.
func TestAUDPSessionFromBeforeTheStartIsNotOpened(t *testing.T) {
	s := stampOf(1)
	s.NotBefore = time.Now().Add(-time.Second)
	r, _ := openUDP(t, s)
	from := sourceOfSession(t, r.address, s)
	from.send(t, from.control(0))
	r.expect(t, 0, map[Reason]int{ReasonBeforeStart: 1})
	unanswered(t, from)
}

func TestAUDPReflectorDoesNotAnswerItself(t *testing.T) {
	r, _ := openUDP(t, stampOf(1))
	s := sourceOfSession(t, r.address, stampOf(1))
	own := netip.MustParseAddrPort(r.address)
	reply := newStampServer(r.Reflector, own.Port()).handle(s.control(0), &socket.Packet{Remote: own, Local: own.Addr(), TTL: 64})
	if reply != nil {
		t.Errorf("it answered its own address with %d octets", len(reply))
	}
	r.expect(t, 0, map[Reason]int{ReasonOwnReply: 1})
}

func TestWhatUDPSessionsRememberIsBounded(t *testing.T) {
	big := make([]wire.Session, 0, 1500)
	for i := range cap(big) {
		s := stampOf(1)
		s.ID, s.MaxRequests = wire.SessionID{1, byte(i >> 8), byte(i)}, 2*wire.MaxSamples
		big = append(big, s)
	}
	r, _ := openUDP(t, big...)
	before := heap()
	one := sourceOfSession(t, r.address, big[0])
	for i := range big {
		s := &source{UDPConn: one.UDPConn, session: big[i], key: stamp.NewAuthenticator(big[i].Key[:])}
		s.send(t, s.control(0))
		if i%50 == 49 { // not more than the socket's buffers hold
			r.decided(t, i+1)
		}
	}
	admitted, refused := r.counts.snapshot()
	if each := tracked(&big[0]); admitted != maxTracked/each || refused[ReasonSessionLimit] != len(big)-admitted {
		t.Errorf("admitted %d sessions of %d octets each, refused %v; want %d octets at the most", admitted, each, refused, maxTracked)
	}
	if grown := int64(heap()) - int64(before); grown > maxTracked+16<<20 {
		t.Errorf("the heap has grown by %d octets", grown)
	}
}

// decided waits until n packets were decided over.
func (r *running) decided(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		admitted, refused := r.counts.snapshot()
		for _, k := range refused {
			admitted += k
		}
		if admitted >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d packets were not decided over", n)
}

func TestAUDPSessionsRepliesAreBoundedInAll(t *testing.T) {
	listed := stampOf(1)
	listed.MaxRequests = 2
	r, _ := openUDP(t, listed)
	s := sourceOfSession(t, r.address, listed)
	s.reports(t, 0)
	for range 3 {
		s.answered(t, 0)
		s.answered(t, stamp.WarmupFrom+1)
	}
	s.send(t, s.sample(1))
	r.expect(t, 1, map[Reason]int{ReasonExhausted: 1})
	unanswered(t, s)
	// It was not answered, but it came.
	if got, want := s.reports(t, 1), (stamp.Report{Received: 2, Duplicates: 2, Replies: 3}); got != want {
		t.Errorf("it reports %+v, want %+v", got, want)
	}
}
