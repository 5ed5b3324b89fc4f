// Package stamp is the Simple Two-way Active Measurement Protocol on the wire (RFC 8762 with the
// extensions of RFC 8972): octets to values, values to octets, without sockets or clocks.
//
// Nothing in a packet tells a request from a reply, or one mode from the other: who calls must
// know which it expects. A request's digest verifies as a reply's too, so a sender checks with
// Reply.Answers that what came back is more than its own packet, echoed.
//
// All integers are big-endian. What must be zero is written as zero and not looked at on receipt.
// Nothing here allocates, except NewAuthenticator.
package stamp

// Mode is how a session's packets are laid out (RFC 8762, section 4).
type Mode uint8

const (
	Unauthenticated Mode = iota
	Authenticated
)

// Lengths of the base packets, in octets; TLVs follow.
const (
	UnauthenticatedBytes = 44
	AuthenticatedBytes   = 112
)

// TWAMPLightReplyBytes is the shortest unauthenticated reply that ParseReply reads: TWAMP-Light
// (RFC 5357) has no octets after the sender's TTL, and some reflectors leave out that one, with
// the two before it.
const TWAMPLightReplyBytes = 38

// TTL is what both sides set as the TTL or hop limit of what they send (RFC 8762, section 4.3):
// 255 less the one received is the number of hops.
const TTL = 255

// Bytes is the length of the mode's base packets, in octets.
func (m Mode) Bytes() int {
	if m == Authenticated {
		return AuthenticatedBytes
	}
	return UnauthenticatedBytes
}
