package stamp

import "encoding/binary"

// Flags are a TLV's flags (RFC 8972, section 4).
type Flags uint8

const (
	Unrecognized Flags = 0x80 // set by the sender, cleared by a reflector that understood the TLV
	Malformed    Flags = 0x40 // set by a reflector that could not read it: what follows was not looked at
	Integrity    Flags = 0x20 // set by a reflector in all TLVs when their digest did not verify
)

// Type is what a TLV holds (RFC 8972, section 5.1).
type Type uint8

const (
	TypeExtraPadding         Type = 1
	TypeTimestampInformation Type = 3
	TypeFollowUp             Type = 7
	TypeHMAC                 Type = 8
	TypeSession              Type = 245 // experimental: Isochrone's session id
	TypeReport               Type = 246 // experimental: Isochrone's counts at the reflector
)

// HeaderBytes is the length of what stands before a TLV's value: flags (1), type (1), length of
// the value (2).
const HeaderBytes = 4

// TLV is one extension of a packet. Value is part of the packet, not a copy.
type TLV struct {
	Flags Flags
	Type  Type
	Value []byte
}

// TLVs goes through the TLVs of a packet.
type TLVs struct {
	b         []byte
	at, next  int
	malformed bool
}

// Extensions returns the TLVs that stand after the base packet at the beginning of b. A b
// without any has none, one shorter than the base packet too.
func Extensions(b []byte, m Mode) TLVs {
	at := min(m.Bytes(), len(b))
	return TLVs{b: b, at: at, next: at}
}

// Next returns the next TLV, until there is none or the next is longer than the packet. Each
// call advances by HeaderBytes at least.
func (w *TLVs) Next() (TLV, bool) {
	rest := w.b[w.next:]
	if len(rest) == 0 {
		return TLV{}, false
	}
	w.at = w.next
	if len(rest) < HeaderBytes || len(rest)-HeaderBytes < int(binary.BigEndian.Uint16(rest[2:])) {
		w.malformed = true
		return TLV{}, false
	}
	end := HeaderBytes + int(binary.BigEndian.Uint16(rest[2:]))
	w.next += end
	return TLV{Flags: Flags(rest[0]), Type: Type(rest[1]), Value: rest[HeaderBytes:end:end]}, true
}

// Malformed says whether Next ended at octets that are no whole TLV.
func (w *TLVs) Malformed() bool { return w.malformed }

// At is the octet of the packet at which the TLV begins that Next returned last, or the
// malformed one at which it ended.
func (w *TLVs) At() int { return w.at }

// AppendTLV appends a TLV as a sender makes it: not yet recognized. It panics if the value is
// longer than 65,535 octets.
func AppendTLV(b []byte, t Type, value []byte) []byte {
	return append(appendHeader(b, t, len(value)), value...)
}

// AppendPadding lets a packet grow by n octets: an Extra Padding TLV (RFC 8972, section 4.1)
// with zeros. Less than HeaderBytes cannot hold one; then they are plain zeros, which a
// reflector with RFC 8972 sends back as a malformed remainder, without a flag to say so. It
// panics if n is greater than HeaderBytes and 65,535.
func AppendPadding(b []byte, n int) []byte {
	if n >= HeaderBytes {
		n -= HeaderBytes
		b = appendHeader(b, TypeExtraPadding, n)
	}
	for ; n > 0; n-- {
		b = append(b, 0)
	}
	return b
}

func appendHeader(b []byte, t Type, n int) []byte {
	if n != int(uint16(n)) {
		panic("stamp: a TLV's value is too long")
	}
	return append(b, byte(Unrecognized), byte(t), byte(n>>8), byte(n))
}
