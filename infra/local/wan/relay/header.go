package relay

import (
	"encoding/binary"
	"net/netip"
)

// Protocol numbers (IANA) of which the relay reads more than the IP header.
const (
	protocolICMP = 1
	protocolTCP  = 6
	protocolUDP  = 17
)

// header is what the relay reads of an IPv4 packet.
type header struct {
	source, destination         uint32
	sourcePort, destinationPort uint16 // 0 unless TCP or UDP in one piece
	protocol                    uint8
	length                      uint16 // of the IP packet, bytes
	payload                     uint16 // behind the headers of TCP, UDP or ICMP; else behind that of IP
	segment                     uint16 // of a super-packet: the payload of every packet that it stands for but the last, bytes
}

// parse reads an IPv4 packet (RFC 791, section 3.1). ok is false for anything else.
func parse(b []byte) (h header, ok bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return h, false
	}
	headerLength := int(b[0]&0xf) * 4
	length := int(binary.BigEndian.Uint16(b[2:]))
	if headerLength < 20 || length < headerLength || length != len(b) {
		return h, false
	}
	h = header{
		source: binary.BigEndian.Uint32(b[12:]), destination: binary.BigEndian.Uint32(b[16:]),
		protocol: b[9], length: uint16(length), payload: uint16(length - headerLength),
	}
	// Only the first fragment holds the ports, so no fragment is told apart by them.
	const moreFragments, offset = 0x2000, 0x1fff
	if binary.BigEndian.Uint16(b[6:])&(moreFragments|offset) != 0 {
		return h, true
	}
	inner := b[headerLength:]
	behind := 0
	switch h.protocol {
	case protocolTCP:
		if len(inner) < 20 {
			return h, true
		}
		behind = int(inner[12]>>4) * 4
	case protocolUDP, protocolICMP:
		behind = 8
	}
	if behind > len(inner) {
		return h, true
	}
	h.payload -= uint16(behind)
	if h.protocol == protocolTCP || h.protocol == protocolUDP {
		h.sourcePort, h.destinationPort = binary.BigEndian.Uint16(inner), binary.BigEndian.Uint16(inner[2:])
	}
	return h, true
}

// key is the 5-tuple that makes packets one flow.
type key struct {
	source, destination         uint32
	sourcePort, destinationPort uint16
	protocol                    uint8
}

func (h header) key() key {
	return key{h.source, h.destination, h.sourcePort, h.destinationPort, h.protocol}
}

func address(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}
