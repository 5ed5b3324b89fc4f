package socket

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answer holds what sendmsg(2) needs to send from a chosen address, so that sending allocates
// nothing.
type answer struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control [8]uint64
	length  int // octets of control
}

// from chooses the source address: local, where it is valid. The family of the control message
// is that of the socket, as the remote address tells it.
func (a *answer) from(r *Receiver, local netip.Addr) {
	a.length = 0
	if !local.IsValid() {
		return
	}
	a.control = [8]uint64{}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&a.control))
	data := unsafe.Pointer(uintptr(unsafe.Pointer(&a.control)) + uintptr(unix.CmsgLen(0)))
	if r.from.Family == unix.AF_INET {
		h.Level, h.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		h.SetLen(unix.CmsgLen(unix.SizeofInet4Pktinfo))
		(*unix.Inet4Pktinfo)(data).Spec_dst = local.As4()
		a.length = unix.CmsgSpace(unix.SizeofInet4Pktinfo)
		return
	}
	h.Level, h.Type = unix.IPPROTO_IPV6, unix.IPV6_PKTINFO
	h.SetLen(unix.CmsgLen(unix.SizeofInet6Pktinfo))
	(*unix.Inet6Pktinfo)(data).Addr = local.As16() // of IPv4 the mapped one, as the remote address is
	if local.IsLinkLocalUnicast() {
		(*unix.Inet6Pktinfo)(data).Ifindex = r.from.Scope_id
	}
	a.length = unix.CmsgSpace(unix.SizeofInet6Pktinfo)
}

// send answers what r received last.
func (a *answer) send(fd uintptr, r *Receiver, b []byte) error {
	a.vector.Base = unsafe.SliceData(b)
	a.vector.SetLen(len(b))
	a.header.Iov, a.header.Iovlen = &a.vector, 1
	a.header.Name = (*byte)(unsafe.Pointer(&r.from))
	a.header.Namelen = r.header.Namelen
	a.header.Control = nil
	if a.length > 0 {
		a.header.Control = (*byte)(unsafe.Pointer(&a.control))
	}
	a.header.SetControllen(a.length)
	for {
		// It does not wait, so the runtime need not be told: that, and coming back from it, would stand
		// between the packet's time stamp and its leaving.
		_, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&a.header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return ErrWait
		}
		return errno
	}
}

func hostOrder(port *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(port))[:])
}
