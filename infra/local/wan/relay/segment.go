package relay

import "encoding/binary"

// A packet of TCP may be a super-packet: the kernel hands over up to 64 KiB at a time, as to a
// network card that cuts them into segments of the MTU, and takes as many at a time, as from a
// card that puts segments together. On the wire it is packets(), and that is what every link
// works with and every counter counts.

// headers is how many bytes are before the payload.
func (h header) headers() uint16 { return h.length - h.payload }

// packets is how many there are on the wire.
func (h header) packets() int {
	if h.segment == 0 {
		return 1
	}
	return (int(h.payload) + int(h.segment) - 1) / int(h.segment)
}

// bytes is how many there are on the wire, every packet with headers of its own.
func (h header) bytes() int { return h.packets()*int(h.headers()) + int(h.payload) }

// part is the header of the n packets from the number first on.
func (h header) part(first, n int) header {
	if first == 0 && n == h.packets() {
		return h
	}
	headers := h.headers()
	begin, end := h.span(first, n)
	h.payload = uint16(end - begin)
	h.length = headers + h.payload
	if n == 1 {
		h.segment = 0
	}
	return h
}

// span is where the payload of the n packets from the number first on lies in that of all.
func (h header) span(first, n int) (begin, end int) {
	return first * int(h.segment), min((first+n)*int(h.segment), int(h.payload))
}

// TCP's flags (RFC 9293, section 3.1; RFC 3168, section 6.1).
const (
	flagFIN = 0x01
	flagPSH = 0x08
	flagCWR = 0x80
)

// cut writes the n packets from the number first on of a super-packet as one frame: those that
// end nothing have no FIN and no PSH, and the checksum is left to the kernel that takes it.
func (h header) cut(frame, ip []byte, first, n int) {
	begin, end := h.span(first, n)
	headers, ipHeader := int(h.headers()), int(ip[0]&0xf)*4
	o := offload{flags: needsSum, headers: uint16(headers), sumStart: uint16(ipHeader), sumOffset: tcpSumOffset}
	if n > 1 {
		o.kind, o.segment = tcp4Segments, h.segment
	}
	o.write(frame)
	out := frame[offloadBytes:]
	copy(out, ip[:headers])
	copy(out[headers:], ip[headers+begin:headers+end])

	order := binary.BigEndian
	length := headers + end - begin
	order.PutUint16(out[2:], uint16(length))
	order.PutUint16(out[4:], order.Uint16(ip[4:])+uint16(first)) // a number of its own for each
	order.PutUint16(out[10:], 0)
	order.PutUint16(out[10:], ^fold(add(0, out[:ipHeader])))

	tcp := out[ipHeader:]
	order.PutUint32(tcp[4:], order.Uint32(tcp[4:])+uint32(begin))
	if end < int(h.payload) {
		tcp[13] &^= flagFIN | flagPSH
	}
	if first > 0 {
		tcp[13] &^= flagCWR
	}
	// Of the checksum only the pseudo-header's part, as the kernel that completes it expects.
	pseudo := add(0, out[12:20]) + protocolTCP + uint32(length-ipHeader)
	order.PutUint16(tcp[tcpSumOffset:], fold(pseudo))
}

// add adds the words of b, an even number of bytes, to a sum of the Internet checksum (RFC 1071).
func add(sum uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	return sum
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
