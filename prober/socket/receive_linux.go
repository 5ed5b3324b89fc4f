package socket

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// controlBytes is room for every control message that Options can ask for, and an ICMP error.
const controlBytes = 512

// Receiver holds what recvmsg(2) needs, so that receiving allocates nothing. It is not for use by
// several goroutines at a time.
type Receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	from    unix.RawSockaddrInet6 // large enough for IPv4's too
	control [controlBytes / 8]uint64
}

// NewReceiver makes a receiver. It serves any number of sockets in turn.
func NewReceiver() *Receiver {
	r := new(Receiver)
	r.header.Name = (*byte)(unsafe.Pointer(&r.from))
	r.header.Iov, r.header.Iovlen = &r.vector, 1
	r.header.Control = (*byte)(unsafe.Pointer(&r.control))
	return r
}

// Receive receives one packet, or what is there of a stream, into b, which must not be empty. It
// does not wait: ErrWait says that nothing is there.
func (r *Receiver) Receive(fd uintptr, b []byte, p *Packet) error {
	n, err := r.call(fd, b, 0)
	if err != nil {
		return err
	}
	*p = Packet{Bytes: n, Cut: r.header.Flags&unix.MSG_TRUNC != 0, TTL: -1, Remote: r.remote()}
	for m, rest, ok := nextMessage(r.messages()); ok; m, rest, ok = nextMessage(rest) {
		switch {
		case m.level == unix.SOL_SOCKET && m.kind == unix.SO_TIMESTAMPING:
			p.At = readStamp(m.data)
		case m.level == unix.IPPROTO_IP && m.kind == unix.IP_TTL, m.level == unix.IPPROTO_IPV6 && m.kind == unix.IPV6_HOPLIMIT:
			if len(m.data) >= 4 {
				p.TTL = int(binary.NativeEndian.Uint32(m.data))
			}
		case m.level == unix.IPPROTO_IP && m.kind == unix.IP_PKTINFO:
			if len(m.data) >= unix.SizeofInet4Pktinfo && !p.Local.IsValid() {
				p.Local = netip.AddrFrom4((*unix.Inet4Pktinfo)(unsafe.Pointer(&m.data[0])).Spec_dst)
			}
		case m.level == unix.IPPROTO_IPV6 && m.kind == unix.IPV6_PKTINFO:
			if len(m.data) >= unix.SizeofInet6Pktinfo && !p.Local.IsValid() {
				p.Local = netip.AddrFrom16((*unix.Inet6Pktinfo)(unsafe.Pointer(&m.data[0])).Addr).Unmap()
			}
		}
	}
	return nil
}

// Notice reads one entry of the error queue; what an ICMP error quotes goes into b. It does not
// wait: ErrWait says that there is none.
func (r *Receiver) Notice(fd uintptr, b []byte, n *Notice) error {
	quoted, err := r.call(fd, b, unix.MSG_ERRQUEUE)
	if err != nil {
		return err
	}
	*n = Notice{Quoted: quoted}
	for m, rest, ok := nextMessage(r.messages()); ok; m, rest, ok = nextMessage(rest) {
		switch {
		case m.level == unix.SOL_SOCKET && m.kind == unix.SO_TIMESTAMPING:
			n.At = readStamp(m.data)
		case m.level == unix.IPPROTO_IP && m.kind == unix.IP_RECVERR, m.level == unix.IPPROTO_IPV6 && m.kind == unix.IPV6_RECVERR:
			if len(m.data) < int(unsafe.Sizeof(unix.SockExtendedErr{})) {
				continue
			}
			e := (*unix.SockExtendedErr)(unsafe.Pointer(&m.data[0]))
			if e.Origin == unix.SO_EE_ORIGIN_TIMESTAMPING {
				n.Left, n.Number = true, e.Data
				continue
			}
			n.Error, n.ICMPType, n.ICMPCode = syscall.Errno(e.Errno), e.Type, e.Code
		}
	}
	return nil
}

// call is recvmsg(2). The sockets of package net do not block, so it returns at once.
func (r *Receiver) call(fd uintptr, b []byte, flags uintptr) (int, error) {
	r.vector.Base = unsafe.SliceData(b)
	r.vector.SetLen(len(b))
	r.from.Family = unix.AF_UNSPEC
	r.header.Namelen = uint32(unsafe.Sizeof(r.from))
	r.header.SetControllen(controlBytes)
	r.header.Flags = 0
	for {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.header)), flags|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return 0, ErrWait
		}
		return 0, errno
	}
}

// message is one control message.
type message struct {
	level, kind int32
	data        []byte
}

// messages is what came in the way of control messages, for nextMessage to take apart.
func (r *Receiver) messages() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&r.control)), controlBytes)[:min(int(r.header.Controllen), controlBytes)]
}

// nextMessage splits the first control message off.
func nextMessage(all []byte) (m message, rest []byte, ok bool) {
	if len(all) < unix.SizeofCmsghdr {
		return message{}, nil, false
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&all[0]))
	length := int(h.Len)
	if length < unix.CmsgLen(0) || length > len(all) {
		return message{}, nil, false
	}
	rest = all[min(unix.CmsgSpace(length-unix.CmsgLen(0)), len(all)):]
	return message{level: h.Level, kind: h.Type, data: all[unix.CmsgLen(0):length]}, rest, true
}

func (r *Receiver) remote() netip.AddrPort {
	switch r.from.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(&r.from))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), hostOrder(&a.Port))
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(r.from.Addr).Unmap(), hostOrder(&r.from.Port))
	}
	return netip.AddrPort{}
}

// readStamp reads the software stamp, the first of three, as Unix nanoseconds.
func readStamp(data []byte) int64 {
	if len(data) < int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()
}
