package stamp

import "crypto/hmac"

// AppendHMAC appends the TLV that protects a packet's TLVs (RFC 8972, section 4.8): its digest
// covers the packet's sequence number and the TLVs so far. Only Extra Padding may follow it. b
// is the whole packet so far, and at least its base packet.
func (a *Authenticator) AppendHMAC(b []byte, m Mode) []byte {
	return AppendTLV(b, TypeHMAC, a.digest(b[:sequenceBytes], b[m.Bytes():]))
}

const sequenceBytes = 4

// Protection says what is known of the integrity of a packet's TLVs.
type Protection uint8

const (
	// Absent: no TLV protects them, and by the mode none is needed.
	Absent Protection = iota
	// Valid: the holder of the key made them.
	Valid
	// Forged: the digest is wrong or not where it must be, or it is missing and the mode demands
	// it: in the authenticated mode only a lone Extra Padding goes without.
	Forged
)

// VerifyTLVs says, in constant time for each octet covered, whether the TLVs of a packet are as
// the holder of the key sent them. A nil Authenticator has no key: it takes no digest for valid.
//
// RFC 8972 leaves open what a missing digest means where it is obligatory, and a packet whose
// TLVs cannot be gone through to their end: nothing that was not verified is believed.
func (a *Authenticator) VerifyTLVs(b []byte, m Mode) Protection {
	w, n, others, seen := Extensions(b, m), 0, 0, false
	protection := Absent
	for t, ok := w.Next(); ok; t, ok = w.Next() {
		n++
		switch {
		case t.Type == TypeExtraPadding: // allowed anywhere
		case seen: // something follows the digest
			return Forged
		case t.Type == TypeHMAC:
			seen = true
			if a == nil || !hmac.Equal(t.Value, a.digest(b[:sequenceBytes], b[m.Bytes():w.At()])) {
				return Forged
			}
			protection = Valid
		default:
			others++
		}
	}
	lone := n == 0 || n == 1 && others == 0 // no TLV, or a single Extra Padding
	if !seen && m == Authenticated && !lone {
		return Forged
	}
	return protection
}
