package stamp

import "encoding/binary"

// ControlBytes is the length of a control packet, request and reply:
//
//	authenticated base (112) | TLV 245: session id (16) | TLV 246: report (16) | TLV 7: follow-up (16) | TLV 8: HMAC (16)
//
// Control packets open and close Isochrone's own sessions: with its reply the reflector proves
// that it holds the key. They are what every reflector with RFC 8972 can send back; one that does
// not know the two experimental types leaves their flags set. The follow-up is for the last sample of
// a session: no other reply comes after its own.
const ControlBytes = AuthenticatedBytes + 3*(HeaderBytes+valueBytes) + HeaderBytes + DigestBytes

// Sequence numbers of Isochrone's own sessions. Samples count from 0; the others are in no count of
// a reflector's, and answered with the sender's number.
const (
	WarmupFrom  = 0xF000_0000 // the warm-up's first
	ControlFrom = 0xFFFF_FF00 // the first of 256 for control packets
	// ClosingFrom is the first of the control packets that close a session. Openings repeat the
	// ones before it.
	ClosingFrom = 0xFFFF_FFF0
)

const valueBytes = 16 // of a session, of a report, and of a follow-up

// Report is what a reflector counted in a session: u32 each, in this order.
type Report struct {
	Received   uint32 // requests, each once
	Duplicates uint32 // further copies of requests
	Reordered  uint32 // requests, by RFC 4737, section 3
	Replies    uint32 // sent
}

// Control is what a control packet says beside its base packet.
type Control struct {
	Session    [16]byte
	Report     Report   // zero in a request
	FollowUp   FollowUp // of the last reply to a sample or warm-up; zero in a request
	Recognized bool     // a reflector understood all its TLVs; false in a request
}

// PutControl writes a control packet over the first ControlBytes octets of b, signed, and panics
// if b is shorter.
func (a *Authenticator) PutControl(b []byte, q Request, session [16]byte) {
	_ = b[ControlBytes-1] // not beyond its length, whatever its capacity
	PutRequest(b, Authenticated, q)
	p := appendHeader(b[:AuthenticatedBytes:ControlBytes], TypeSession, valueBytes)
	p = append(p, session[:]...)
	p = appendHeader(p, TypeReport, valueBytes)
	p = appendReport(p, Report{})
	p = appendFollowUp(p, FollowUp{})
	a.AppendHMAC(p, Authenticated)
	a.Sign(b)
}

// PutControlReply writes the reply to a control packet over the first ControlBytes octets of b,
// signed, and panics if b is shorter. It is what Reflect would write.
func (a *Authenticator) PutControlReply(b []byte, r Reply, session [16]byte, report Report, last FollowUp) {
	_ = b[ControlBytes-1]
	PutReply(b, Authenticated, r)
	p := appendHeader(b[:AuthenticatedBytes:ControlBytes], TypeSession, valueBytes)
	p = append(p, session[:]...)
	p = appendHeader(p, TypeReport, valueBytes)
	p = appendReport(p, report)
	p = appendFollowUp(p, last)
	b[sessionAt], b[reportAt], b[followUpAt] = 0, 0, 0 // before the digest, which covers the flags
	a.AppendHMAC(p, Authenticated)
	b[hmacAt] = 0
	a.Sign(b)
}

const (
	sessionAt  = AuthenticatedBytes
	reportAt   = sessionAt + HeaderBytes + valueBytes
	followUpAt = reportAt + HeaderBytes + valueBytes
	hmacAt     = followUpAt + HeaderBytes + valueBytes
)

// ParseControl reads the TLVs of a control packet, of either direction; ParseRequest or
// ParseReply reads its base packet. False says that b is no control packet. What it says is not
// to be believed before VerifyControl.
func ParseControl(b []byte) (Control, bool) {
	if len(b) != ControlBytes {
		return Control{}, false
	}
	w := Extensions(b, Authenticated)
	session, _ := w.Next()
	report, _ := w.Next()
	last, _ := w.Next()
	digest, _ := w.Next()
	var c Control
	var ok1, ok2, ok3 bool
	c.Session, ok1 = session.Session()
	c.Report, ok2 = report.Report()
	c.FollowUp, ok3 = last.FollowUp()
	c.Recognized = session.Flags|report.Flags|last.Flags|digest.Flags == 0
	return c, ok1 && ok2 && ok3 && digest.Type == TypeHMAC && len(digest.Value) == DigestBytes
}

// VerifyControl says whether the holder of the key made a control packet, its base packet and
// its TLVs. In a reply that was not Recognized the TLVs prove nothing.
func (a *Authenticator) VerifyControl(b []byte) bool {
	return len(b) == ControlBytes && a.Verify(b) && a.VerifyTLVs(b, Authenticated) == Valid
}

// Session is the session id in a TLV of TypeSession; false: it is none, or has another length.
func (t TLV) Session() ([16]byte, bool) {
	if t.Type != TypeSession || len(t.Value) != valueBytes {
		return [16]byte{}, false
	}
	return [16]byte(t.Value), true
}

// Report is the report in a TLV of TypeReport; false: it is none, or has another length.
func (t TLV) Report() (Report, bool) {
	if t.Type != TypeReport || len(t.Value) != valueBytes {
		return Report{}, false
	}
	return Report{
		Received:   binary.BigEndian.Uint32(t.Value),
		Duplicates: binary.BigEndian.Uint32(t.Value[4:]),
		Reordered:  binary.BigEndian.Uint32(t.Value[8:]),
		Replies:    binary.BigEndian.Uint32(t.Value[12:]),
	}, true
}

func appendReport(b []byte, r Report) []byte {
	b = binary.BigEndian.AppendUint32(b, r.Received)
	b = binary.BigEndian.AppendUint32(b, r.Duplicates)
	b = binary.BigEndian.AppendUint32(b, r.Reordered)
	return binary.BigEndian.AppendUint32(b, r.Replies)
}
