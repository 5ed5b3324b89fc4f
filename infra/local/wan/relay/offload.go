package relay

import (
	"encoding/binary"

	"isochrone/infra/local/wan/topology"
)

// offload is what stands before every packet that comes from a TUN with IFF_VNET_HDR or goes to
// one: what its kernel has left undone, or what we leave to it (struct virtio_net_hdr in Linux's
// uapi/linux/virtio_net.h, of the legacy kind, in the machine's own byte order).
type offload struct {
	flags     uint8
	kind      uint8  // of the segments that the packet stands for
	headers   uint16 // bytes before the first segment's payload
	segment   uint16 // payload of every segment but the last, bytes; 0 for a packet that stands for itself
	sumStart  uint16 // where the checksum begins, which is still to be made
	sumOffset uint16 // from there to the checksum's own place
}

const (
	offloadBytes = 10

	needsSum      = 1 // flags: VIRTIO_NET_HDR_F_NEEDS_CSUM
	noSegments    = 0 // kind: VIRTIO_NET_HDR_GSO_NONE
	tcp4Segments  = 1 // kind: VIRTIO_NET_HDR_GSO_TCPV4
	tcpSumOffset  = 16
	largestPacket = 1<<16 - 1 // IPv4's, bytes
)

func readOffload(b []byte) offload {
	order := binary.NativeEndian
	return offload{
		flags: b[0], kind: b[1], headers: order.Uint16(b[2:]), segment: order.Uint16(b[4:]),
		sumStart: order.Uint16(b[6:]), sumOffset: order.Uint16(b[8:]),
	}
}

func (o offload) write(b []byte) {
	order := binary.NativeEndian
	b[0], b[1] = o.flags, o.kind
	order.PutUint16(b[2:], o.headers)
	order.PutUint16(b[4:], o.segment)
	order.PutUint16(b[6:], o.sumStart)
	order.PutUint16(b[8:], o.sumOffset)
}

// segmented adds to a header into which segments its packet is to be cut. ok is false where that
// cannot be done, which no kernel asks for.
func (o offload) segmented(h header, ip []byte) (_ header, ok bool) {
	if o.kind == noSegments {
		return h, int(h.length) <= topology.MTU
	}
	ipHeader := uint16(ip[0]&0xf) * 4
	ok = o.kind == tcp4Segments && o.flags&needsSum != 0 && o.segment > 0 &&
		h.protocol == protocolTCP && h.destinationPort != 0 && h.payload > 0 &&
		o.sumStart == ipHeader && o.sumOffset == tcpSumOffset &&
		int(h.headers())+int(o.segment) <= topology.MTU
	if ok && h.payload > o.segment {
		h.segment = o.segment
	}
	return h, ok
}
