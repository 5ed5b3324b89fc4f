package reflect

import (
	"net/netip"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

const (
	// maxAnswers is how often one sequence number is answered. A copy that the network made is, so
	// that it shows; more are a replay.
	maxAnswers = 3
	// maxControl is how many control packets of a session are answered.
	maxControl = 64
	// maxWarmup bounds the warm-up's sequence numbers; see wire.Spec.
	maxWarmup = 10_000
	// maxTracked bounds the octets in which all sessions together remember what they answered. The
	// design point needs less than one in a hundred of it.
	maxTracked = 64 << 20
)

// peer names a session as its packets do (RFC 8972, section 3).
type peer struct {
	from netip.AddrPort
	ssid uint16
}

// stampSession is a session of the udp kind that has been opened. It belongs to the first peer that
// proved the key: whoever else sends with it, or repeats what was overheard, is not answered.
type stampSession struct {
	id     wire.SessionID
	peer   peer
	auth   *stamp.Authenticator
	bytes  int           // of a sample
	octets int           // of maxTracked
	until  time.Duration // the uptime at its deadline, which no step of the wall clock moves

	samples, warmup, control tally
	controls                 int    // control packets answered
	left                     int    // replies to samples and warm-up that may still be sent
	next                     uint32 // the number of the next reply to a sample
	highest                  int64  // sample received; -1: none
	report                   stamp.Report
	newest                   uint32         // the number of the reply to a sample or warm-up that was made last
	last                     stamp.FollowUp // of that reply; zero as long as it is not known when it left
}

func newStampSession(s *wire.Session, from peer, now moment) *stampSession {
	return &stampSession{
		id: s.ID, peer: from, auth: stamp.NewAuthenticator(s.Key[:]), bytes: s.RequestBytes, octets: tracked(s),
		until:   now.uptime + s.Deadline.Sub(now.wall),
		samples: newTally(s.MaxRequests), warmup: newTally(min(s.MaxRequests, maxWarmup)), control: newTally(256),
		highest: -1, left: maxAnswers * s.MaxRequests,
	}
}

// tracked is how many octets of maxTracked a session of so many requests takes.
func tracked(s *wire.Session) int { return (s.MaxRequests + min(s.MaxRequests, maxWarmup) + 256) / 4 }

// sample decides over a sample that was verified, and counts it.
func (s *stampSession) sample(sequence uint32) (reply uint32, reason Reason) {
	warmup := sequence >= stamp.WarmupFrom
	before, ok := 0, false
	if warmup {
		before, ok = s.warmup.add(sequence - stamp.WarmupFrom)
	} else if before, ok = s.samples.add(sequence); ok {
		s.count(sequence, before > 0)
	}
	switch {
	case !ok || s.left == 0:
		return 0, ReasonExhausted
	case before >= maxAnswers:
		return 0, ReasonReplayed
	}
	s.left--
	if warmup {
		return sequence, ""
	}
	reply = s.next
	s.next++
	s.report.Replies++
	return reply, ""
}

// leaves notes that a reply is made.
func (s *stampSession) leaves(number uint32) { s.newest, s.last = number, stamp.FollowUp{} }

// departed notes when the kernel let a reply go. Only the newest's is told of (RFC 8972, section 4.7).
func (s *stampSession) departed(number uint32, at int64) {
	if number == s.newest {
		s.last = stamp.FollowUp{Sequence: number, At: stamp.NTP(at), Method: stamp.MethodSoftware}
	}
}

// count counts a sample for the report.
func (s *stampSession) count(sequence uint32, again bool) {
	if again {
		s.report.Duplicates++
		return
	}
	s.report.Received++
	if int64(sequence) < s.highest { // RFC 4737, section 3
		s.report.Reordered++
	}
	s.highest = max(s.highest, int64(sequence))
}

// opened decides over a control packet that was verified.
func (s *stampSession) opened(sequence uint32) Reason {
	switch before, _ := s.control.add(sequence - stamp.ControlFrom); {
	case before >= maxAnswers:
		return ReasonReplayed
	case s.controls >= maxControl:
		return ReasonExhausted
	}
	s.controls++
	return ""
}

// tally counts to maxAnswers for each of n numbers, in two bits each.
type tally struct {
	n    uint32
	bits []byte
}

func newTally(n int) tally { return tally{n: uint32(n), bits: make([]byte, (n+3)/4)} }

// add counts number i, and returns how often it was counted before; false: there is no such number.
func (t tally) add(i uint32) (before int, ok bool) {
	if i >= t.n {
		return 0, false
	}
	shift := i % 4 * 2
	if before = int(t.bits[i/4] >> shift & 3); before < maxAnswers {
		t.bits[i/4] += 1 << shift
	}
	return before, true
}

// stampEnter decides over a control packet from the peer. A session that it opens is in admitted.
// d.mu is held.
func (d *door) stampEnter(b []byte, c stamp.Control, q stamp.Request, p *socket.Packet, now moment) (s *stampSession, admitted *wire.Session, reason Reason) {
	from := peer{from: p.Remote, ssid: q.SSID}
	id := wire.SessionID(c.Session)
	if s = d.peers[from]; s == nil || s.id != id {
		e, reason := d.find(id, wire.KindUDP, now, func(s *wire.Session) bool { return d.proves(s, b) })
		if reason != "" {
			return nil, nil, reason
		}
		if s, admitted, reason = d.bind(e, from, b, now); reason != "" {
			return nil, nil, reason
		}
	} else if !s.auth.VerifyControl(b) {
		return nil, nil, ReasonWrongKey
	}
	switch {
	case now.uptime >= s.until:
		reason = ReasonTooLate
	case isReply(b):
		reason = ReasonOwnReply
	default:
		reason = s.opened(q.Sequence)
	}
	if reason != "" {
		return nil, admitted, reason
	}
	return s, admitted, ""
}

// proves says whether the holder of the session's key made the control packet. The authenticator is
// kept for the next, which is likely of the same session: else whoever overheard an id could make
// garbage of one for each packet. d.mu is held.
func (d *door) proves(s *wire.Session, b []byte) bool {
	if d.prover == nil || d.proverKey != s.Key {
		d.prover, d.proverKey = stamp.NewAuthenticator(s.Key[:]), s.Key
	}
	return d.prover.VerifyControl(b)
}

// bind opens the entry's session for a peer that has proved the key, or finds it open. d.mu is held.
func (d *door) bind(e *entry, from peer, b []byte, now moment) (s *stampSession, admitted *wire.Session, reason Reason) {
	listed := &e.session
	switch {
	case listed.Kind != wire.KindUDP:
		return nil, nil, ReasonUnsupportedKind
	case isReply(b):
		return nil, nil, ReasonOwnReply
	case from.ssid != listed.ID.SSID():
		return nil, nil, ReasonMalformed
	case listed.NotBefore.Before(d.began(now)):
		return nil, nil, ReasonBeforeStart
	case now.wall.Before(listed.NotBefore):
		return nil, nil, ReasonTooEarly
	case !now.wall.Before(listed.Deadline):
		return nil, nil, ReasonTooLate
	case e.stamp != nil && e.stamp.peer != from:
		return nil, nil, ReasonInUse
	case e.stamp != nil: // another session's was opened from the same port since
		d.peers[from] = e.stamp
		return e.stamp, nil, ""
	case d.tracked+tracked(listed) > maxTracked:
		return nil, nil, ReasonSessionLimit
	}
	d.tracked += tracked(listed)
	e.stamp = newStampSession(listed, from, now)
	d.peers[from] = e.stamp
	return e.stamp, listed, ""
}

// drop forgets a session. d.mu is held.
func (d *door) drop(id wire.SessionID, e *entry) {
	delete(d.sessions, id)
	if e.stamp == nil {
		return
	}
	d.tracked -= e.stamp.octets
	if d.peers[e.stamp.peer] == e.stamp {
		delete(d.peers, e.stamp.peer)
	}
}

// isReply says whether the packet, which was verified, is a reply: one of ours, sent back. A
// request has nothing where a reply has its T2.
func isReply(b []byte) bool {
	r, _ := stamp.ParseReply(b, stamp.Authenticated)
	return r.T2 != 0
}
