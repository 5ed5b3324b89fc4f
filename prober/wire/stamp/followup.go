package stamp

import "encoding/binary"

// Method is how a time stamp was taken (RFC 8972, section 4.3).
type Method uint8

const (
	MethodHardware     Method = 1
	MethodSoftware     Method = 2 // by the system, as it hands the packet to the device
	MethodControlPlane Method = 3
)

// FollowUp is what a stateful reflector says of the reply to a session that it sent before this
// one: when that left, which it could not know as it wrote it (RFC 8972, section 4.7). All zero
// where it knows none, and in a request.
type FollowUp struct {
	Sequence uint32    // that reply's, by the reflector's count
	At       Timestamp // in the format that the reflector's Error Estimate names
	Method   Method    // how At was taken
}

const followUpBytes = 16

// FollowedBytes is the length of the shortest authenticated packet with a follow-up: base packet,
// the TLV itself, and the HMAC TLV that then is obligatory.
const FollowedBytes = AuthenticatedBytes + HeaderBytes + followUpBytes + HeaderBytes + DigestBytes

// HasFollowUp says whether NewFollowed makes packets of that many octets.
func HasFollowUp(bytes int) bool {
	padding := bytes - FollowedBytes
	return padding == 0 || padding >= HeaderBytes
}

// NewFollowed returns an authenticated request of that many octets with its TLVs: the follow-up to
// be filled in, Extra Padding where there is room left, and the HMAC TLV, which is last. SignFollowed
// makes the digests for each packet that is sent. It panics if HasFollowUp does not hold.
func NewFollowed(bytes int) []byte {
	if !HasFollowUp(bytes) {
		panic("stamp: a packet of this length has no room for a follow-up")
	}
	b := appendFollowUp(make([]byte, AuthenticatedBytes, bytes), FollowUp{})
	b = AppendPadding(b, bytes-FollowedBytes)
	return AppendTLV(b, TypeHMAC, make([]byte, DigestBytes))
}

// SignFollowed is Sign for a packet of NewFollowed, and writes the HMAC TLV's digest as well.
func (a *Authenticator) SignFollowed(b []byte) {
	a.AppendHMAC(b[:len(b)-HeaderBytes-DigestBytes:len(b)], Authenticated)
	a.Sign(b)
}

// FollowUp reads the follow-up that a reply carries. False says that there is none to be believed: a
// reflector has not understood it, knows nothing of the reply before, or took the stamp where it
// says nothing of the device; or the holder of the key has not made the TLVs.
func (a *Authenticator) FollowUp(reply []byte, m Mode) (FollowUp, bool) {
	w := Extensions(reply, m)
	for t, ok := w.Next(); ok && t.Flags == 0; t, ok = w.Next() {
		if f, ok := t.FollowUp(); ok {
			return f, f.Departed() && a.VerifyTLVs(reply, m) == Valid
		}
	}
	return FollowUp{}, false
}

// Departed says whether the follow-up tells when a packet left, as the system or the device stamped it.
func (f FollowUp) Departed() bool {
	return f.At != 0 && (f.Method == MethodSoftware || f.Method == MethodHardware)
}

// FollowUp reads a TLV of TypeFollowUp; false: it is none, or has another length.
func (t TLV) FollowUp() (FollowUp, bool) {
	if t.Type != TypeFollowUp || len(t.Value) != followUpBytes {
		return FollowUp{}, false
	}
	return FollowUp{
		Sequence: binary.BigEndian.Uint32(t.Value),
		At:       Timestamp(binary.BigEndian.Uint64(t.Value[4:])),
		Method:   Method(t.Value[12]),
	}, true
}

// SetFollowUp writes into a TLV of TypeFollowUp; false: it is none, or has another length.
func (t TLV) SetFollowUp(f FollowUp) bool {
	if _, ok := t.FollowUp(); !ok {
		return false
	}
	putFollowUp(t.Value, f)
	return true
}

func putFollowUp(value []byte, f FollowUp) {
	clear(value)
	binary.BigEndian.PutUint32(value, f.Sequence)
	binary.BigEndian.PutUint64(value[4:], uint64(f.At))
	value[12] = byte(f.Method)
}

// appendFollowUp appends the whole TLV, as AppendTLV does.
func appendFollowUp(b []byte, f FollowUp) []byte {
	var value [followUpBytes]byte
	putFollowUp(value[:], f)
	return AppendTLV(b, TypeFollowUp, value[:])
}
