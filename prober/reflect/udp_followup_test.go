package reflect

import (
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire/stamp"
)

// followed is a sample's packet with a follow-up to be filled in.
func (s *source) followed(sequence uint32) []byte {
	b := stamp.NewFollowed(s.session.RequestBytes)
	stamp.PutRequest(b, stamp.Authenticated, s.request(sequence))
	s.key.SignFollowed(b)
	return b
}

// follows asks with a sample, and returns its reply with the follow-up in it.
func (s *source) follows(t *testing.T, sequence uint32) (a stamp.Reply, f stamp.FollowUp, known bool) {
	t.Helper()
	b := s.ask(t, s.followed(sequence))
	a, _ = stamp.ParseReply(b, stamp.Authenticated)
	if !s.key.Verify(b) || s.key.VerifyTLVs(b, stamp.Authenticated) != stamp.Valid || b[stamp.AuthenticatedBytes] != 0 {
		t.Fatalf("sample %d: a reply with the flags %#x that does not verify", sequence, b[stamp.AuthenticatedBytes])
	}
	f, known = s.key.FollowUp(b, stamp.Authenticated)
	return a, f, known
}

// leftBetween checks that a follow-up tells of a reply, and of a time between its T3 and now.
func leftBetween(t *testing.T, a stamp.Reply, f stamp.FollowUp, known bool) {
	t.Helper()
	if !socket.Stamps {
		if known {
			t.Errorf("a follow-up %+v without the kernel's stamps", f)
		}
		return
	}
	now := time.Now().UnixNano()
	_, _, t3, _ := a.Times(now)
	at, ok := f.At.Unix(a.Estimate, now)
	if !known || !ok || f.Sequence != a.Sequence || f.Method != stamp.MethodSoftware || at < t3 || at > now {
		t.Errorf("the follow-up to %d is %+v, %t: %d ns after its T3; want that it left after that and before now", a.Sequence, f, known, at-t3)
	}
}

func TestAUDPReplyTellsWhenTheOneBeforeLeft(t *testing.T) {
	r, _ := openUDP(t, stampOf(1), stampOf(2))
	s, other := sourceOfSession(t, r.address, stampOf(1)), sourceOfSession(t, r.address, stampOf(2))
	s.reports(t, 0)
	other.reports(t, 0)
	before, f, known := s.follows(t, stamp.WarmupFrom)
	if known || f != (stamp.FollowUp{}) {
		t.Errorf("the first reply follows up %+v", f)
	}
	for _, sequence := range []uint32{0, 1, 1, 7, stamp.WarmupFrom + 1, 5, 6} {
		if _, _, known := other.follows(t, sequence); sequence == 0 && known {
			t.Error("a session's first reply follows up another's")
		}
		a, f, known := s.follows(t, sequence)
		leftBetween(t, before, f, known)
		before = a
	}
	for attempt := range uint32(2) { // the one that is asked again as well
		b := s.ask(t, s.control(1+attempt))
		c, ok := stamp.ParseControl(b)
		if !ok || !c.Recognized || !s.key.VerifyControl(b) {
			t.Fatalf("a control packet was answered with %+v", c)
		}
		leftBetween(t, before, c.FollowUp, c.FollowUp.Departed())
	}
}

// Only the newest reply is told of: a stamp that comes when another has left is nobody's, and so is one
// with a number that is not in use.
func TestAUDPStampThatComesTooLateIsNotTold(t *testing.T) {
	h := newHand(t)
	h.departures.told = true
	queue := &told{}
	reply := func(sequence, packet uint32) stamp.FollowUp {
		b := h.give(h.followed(sequence), h.remote)
		h.departures.sent(queue, packet, h.answering, h.answer)
		var f stamp.FollowUp
		w := stamp.Extensions(b, stamp.Authenticated)
		x, _ := w.Next()
		f, _ = x.FollowUp()
		return f
	}
	left := func(packet uint32, at int64) socket.Notice { return socket.Notice{Left: true, Number: packet, At: at} }
	const t0 = 1_790_000_000_000_000_000
	queue.waiting = []socket.Notice{left(70, t0)}
	reply(0, 70)
	if f := reply(1, 71); f != (stamp.FollowUp{Sequence: 0, At: stamp.NTP(t0), Method: stamp.MethodSoftware}) {
		t.Errorf("told %+v", f)
	}
	if f := reply(2, 72); f != (stamp.FollowUp{}) { // 71's has not come
		t.Errorf("told %+v", f)
	}
	for _, n := range []socket.Notice{left(71, t0+1), left(72+256, t0+2), left(72+1<<20, t0+3), {Number: 72, At: t0 + 4}} {
		h.departures.left(&n)
	}
	if f := reply(3, 73); f != (stamp.FollowUp{}) {
		t.Errorf("told %+v of what is not the reply before", f)
	}
	late := left(73, t0+5)
	h.departures.left(&late)
	if f := reply(4, 74); f != (stamp.FollowUp{Sequence: 3, At: stamp.NTP(t0 + 5), Method: stamp.MethodSoftware}) {
		t.Errorf("told %+v", f)
	}
	h.departures.forget()
	late = left(74, t0+6)
	h.departures.left(&late)
	if f := reply(5, 0); f != (stamp.FollowUp{}) {
		t.Errorf("told %+v by numbers that were begun anew", f)
	}
}

// told is a carrier whose error queue holds what it is given.
type told struct {
	carrier
	waiting []socket.Notice
}

func (c *told) Notice(_ []byte, n *socket.Notice) error {
	if len(c.waiting) == 0 {
		return socket.ErrWait
	}
	*n, c.waiting = c.waiting[0], c.waiting[1:]
	return nil
}
