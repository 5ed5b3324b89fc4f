package probe

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// Echo messages of ICMP (RFC 792) and ICMPv6 (RFC 4443, section 4): type, code, checksum,
// identifier and sequence number, then the payload, which the reply repeats. Ours begins with the
// run's mark and the sample's whole number, as the sequence number has 16 bits and begins anew
// after 65,536 samples.
const (
	echoHeader    = 8
	echoMark      = 8
	echoSequence  = 8
	maxIPv4Header = 60

	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129
)

// echoMessage makes a run's requests, and knows their replies.
type echoMessage struct {
	requestType, replyType byte
	id                     uint16 // 0: the system's, which also sees to it that replies are ours
	mark                   [echoMark]byte
	b                      []byte // the request
	sum                    uint32 // of what is the same in every request
}

// newEchoMessage makes requests with payload octets of payload.
func newEchoMessage(payload int, ipv6 bool, id uint16) *echoMessage {
	m := &echoMessage{requestType: echoRequest4, replyType: echoReply4, id: id, b: make([]byte, echoHeader+payload)}
	if ipv6 {
		m.requestType, m.replyType = echoRequest6, echoReply6
	}
	_, _ = rand.Read(m.mark[:]) // never fails
	m.b[0] = m.requestType
	binary.BigEndian.PutUint16(m.b[4:], id)
	copy(m.b[echoHeader:], m.mark[:])
	m.sum = sum16(m.b)
	return m
}

// request is the request of sample i, valid until the next. The checksum of ICMPv6 covers
// addresses, and is the system's to make; so is that of a datagram socket, which writes its own
// identifier.
func (m *echoMessage) request(i int) []byte {
	binary.BigEndian.PutUint16(m.b[6:], uint16(i))
	binary.BigEndian.PutUint64(m.b[echoHeader+echoMark:], uint64(i))
	sum := m.sum + sum16(m.b[6:8]) + sum16(m.b[echoHeader+echoMark:][:echoSequence])
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	binary.BigEndian.PutUint16(m.b[2:], ^uint16(sum))
	return m.b
}

// sum16 is the sum of b's 16-bit words (RFC 1071). b is short enough not to overflow.
func sum16(b []byte) uint32 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

// reply reads the sample of one of our replies; anything else is not ok.
func (m *echoMessage) reply(b []byte) (sample uint64, ok bool) {
	if len(b) != len(m.b) || b[0] != m.replyType || b[1] != 0 || !m.isOurs(b) {
		return 0, false
	}
	sample = binary.BigEndian.Uint64(b[echoHeader+echoMark:])
	return sample, uint16(sample) == binary.BigEndian.Uint16(b[6:])
}

func (m *echoMessage) isOurs(b []byte) bool {
	if m.id != 0 && binary.BigEndian.Uint16(b[4:]) != m.id {
		return false
	}
	return [echoMark]byte(b[echoHeader:]) == m.mark
}

// quoted reads the sample of one of our requests that an ICMP error quotes. Many routers quote
// eight octets of it alone (RFC 792): then it is the latest with the sequence number, which latest
// tells, or a negative number.
func (m *echoMessage) quoted(b []byte, latest func(sequence uint16) int) (sample int, ok bool) {
	if len(b) < echoHeader || b[0] != m.requestType || b[1] != 0 || m.id != 0 && binary.BigEndian.Uint16(b[4:]) != m.id {
		return 0, false
	}
	if len(b) >= echoHeader+echoMark && !m.isOurs(b) {
		return 0, false
	}
	sequence := binary.BigEndian.Uint16(b[6:])
	sample = latest(sequence)
	if len(b) >= echoHeader+echoMark+echoSequence {
		whole := binary.BigEndian.Uint64(b[echoHeader+echoMark:])
		if bits.Len64(whole) > 31 || uint16(whole) != sequence || int(whole) > sample {
			return 0, false
		}
		sample = int(whole)
	}
	return sample, sample >= 0
}

// withoutIPv4Header is the payload of an IPv4 packet; nothing if it has none.
func withoutIPv4Header(b []byte) []byte {
	if len(b) < 20 || b[0]>>4 != 4 {
		return nil
	}
	n := int(b[0]&0xF) * 4
	if n < 20 || n > len(b) {
		return nil
	}
	return b[n:]
}
