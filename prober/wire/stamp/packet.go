package stamp

import "encoding/binary"

// Request is what a Session-Sender's base packet says (RFC 8762, section 4.2; the SSID is RFC
// 8972, section 3).
type Request struct {
	Sequence uint32
	T1       Timestamp // when it left the sender, in the format that Estimate names
	Estimate ErrorEstimate
	SSID     uint16 // 0: none
}

// Reply is what a Session-Reflector's base packet says (RFC 8762, section 4.3).
type Reply struct {
	Sequence uint32    // the reflector's own count, or the sender's where it keeps none
	T3       Timestamp // when it left the reflector, in the format that Estimate names
	Estimate ErrorEstimate
	SSID     uint16    // 0: none, or a reflector without RFC 8972
	T2       Timestamp // when the request reached the reflector, in the format that Estimate names

	SenderSequence uint32
	T1             Timestamp // the request's, in the format that SenderEstimate names
	SenderEstimate ErrorEstimate
	TTL            uint8 // the request's when it reached the reflector; 0: not told
}

// layout says at which octet each field of a base packet begins.
type layout struct{ sent, estimate, ssid, received, senderSequence, senderSent, senderEstimate, ttl int }

var layouts = [...]layout{
	Unauthenticated: {sent: 4, estimate: 12, ssid: 14, received: 16, senderSequence: 24, senderSent: 28, senderEstimate: 36, ttl: 40},
	Authenticated:   {sent: 16, estimate: 24, ssid: 26, received: 32, senderSequence: 48, senderSent: 64, senderEstimate: 72, ttl: 80},
}

// PutRequest writes a request's base packet over the first m.Bytes() octets of b, and panics if
// b is shorter. In the authenticated mode Sign comes after it.
func PutRequest(b []byte, m Mode, r Request) {
	_ = b[m.Bytes()-1] // not beyond its length, whatever its capacity
	b = b[:m.Bytes()]
	clear(b)
	at := &layouts[m]
	binary.BigEndian.PutUint32(b, r.Sequence)
	binary.BigEndian.PutUint64(b[at.sent:], uint64(r.T1))
	binary.BigEndian.PutUint16(b[at.estimate:], uint16(r.Estimate))
	binary.BigEndian.PutUint16(b[at.ssid:], r.SSID)
}

// ParseRequest reads a request's base packet; false says that b is too short to hold one.
func ParseRequest(b []byte, m Mode) (Request, bool) {
	if len(b) < m.Bytes() {
		return Request{}, false
	}
	at := &layouts[m]
	return Request{
		Sequence: binary.BigEndian.Uint32(b),
		T1:       Timestamp(binary.BigEndian.Uint64(b[at.sent:])),
		Estimate: ErrorEstimate(binary.BigEndian.Uint16(b[at.estimate:])),
		SSID:     binary.BigEndian.Uint16(b[at.ssid:]),
	}, true
}

// ReplyTo begins the reply to a request: the fields that a reflector copies are set.
func ReplyTo(q Request, ttl uint8) Reply {
	return Reply{Sequence: q.Sequence, SSID: q.SSID, SenderSequence: q.Sequence, T1: q.T1, SenderEstimate: q.Estimate, TTL: ttl}
}

// PutReply writes a reply's base packet over the first m.Bytes() octets of b, and panics if b is
// shorter. In the authenticated mode Sign comes after it.
func PutReply(b []byte, m Mode, r Reply) {
	_ = b[m.Bytes()-1]
	b = b[:m.Bytes()]
	clear(b)
	at := &layouts[m]
	binary.BigEndian.PutUint32(b, r.Sequence)
	binary.BigEndian.PutUint64(b[at.sent:], uint64(r.T3))
	binary.BigEndian.PutUint16(b[at.estimate:], uint16(r.Estimate))
	binary.BigEndian.PutUint16(b[at.ssid:], r.SSID)
	binary.BigEndian.PutUint64(b[at.received:], uint64(r.T2))
	binary.BigEndian.PutUint32(b[at.senderSequence:], r.SenderSequence)
	binary.BigEndian.PutUint64(b[at.senderSent:], uint64(r.T1))
	binary.BigEndian.PutUint16(b[at.senderEstimate:], uint16(r.SenderEstimate))
	b[at.ttl] = r.TTL
}

// PutSent writes a reply's T3 alone over the one of a base packet that PutReply has written.
func PutSent(b []byte, m Mode, t3 Timestamp) {
	binary.BigEndian.PutUint64(b[layouts[m].sent:], uint64(t3))
}

// ParseReply reads a reply's base packet; false says that b is too short to hold one. An
// unauthenticated reply may be as short as TWAMP-Light makes it; TTL is 0 where it has none.
func ParseReply(b []byte, m Mode) (Reply, bool) {
	least := m.Bytes()
	if m == Unauthenticated {
		least = TWAMPLightReplyBytes
	}
	if len(b) < least {
		return Reply{}, false
	}
	at := &layouts[m]
	r := Reply{
		Sequence:       binary.BigEndian.Uint32(b),
		T3:             Timestamp(binary.BigEndian.Uint64(b[at.sent:])),
		Estimate:       ErrorEstimate(binary.BigEndian.Uint16(b[at.estimate:])),
		SSID:           binary.BigEndian.Uint16(b[at.ssid:]),
		T2:             Timestamp(binary.BigEndian.Uint64(b[at.received:])),
		SenderSequence: binary.BigEndian.Uint32(b[at.senderSequence:]),
		T1:             Timestamp(binary.BigEndian.Uint64(b[at.senderSent:])),
		SenderEstimate: ErrorEstimate(binary.BigEndian.Uint16(b[at.senderEstimate:])),
	}
	if len(b) > at.ttl {
		r.TTL = b[at.ttl]
	}
	return r, true
}

// Answers says whether the reply carries back what the request said. A reply without an SSID is
// taken for one of a reflector without RFC 8972. A request that was merely echoed does not pass,
// unless it has sequence, T1 and Error Estimate all zero.
func (r Reply) Answers(q Request) bool {
	return r.SenderSequence == q.Sequence && r.T1 == q.T1 && r.SenderEstimate == q.Estimate && (r.SSID == q.SSID || r.SSID == 0)
}

// Times gives the reply's time stamps as Unix nanoseconds, each in its sender's format: T1 by
// the sender's Error Estimate, T2 and T3 by the reflector's. near is any instant within 68
// years, the clock's reading for one. False says that one of them is no time.
func (r Reply) Times(near int64) (t1, t2, t3 int64, ok bool) {
	t1, ok1 := r.T1.Unix(r.SenderEstimate, near)
	t2, ok2 := r.T2.Unix(r.Estimate, near)
	t3, ok3 := r.T3.Unix(r.Estimate, near)
	return t1, t2, t3, ok1 && ok2 && ok3
}
