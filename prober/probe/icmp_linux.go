package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/socket"
)

// openEcho opens a socket for ICMP that is connected to the address. A datagram socket needs no
// privilege, but the consent of net.ipv4.ping_group_range, which holds for IPv6 too; a raw one needs
// CAP_NET_RAW.
func openEcho(to netip.Addr) (*echoConn, error) {
	conn, err := openEchoType(to, unix.SOCK_DGRAM)
	if err == nil || !refusesSocket(err) {
		return conn, err
	}
	raw, rawErr := openEchoType(to, unix.SOCK_RAW)
	if refusesSocket(rawErr) {
		return nil, fmt.Errorf("%w: grant this program CAP_NET_RAW, or widen the sysctl net.ipv4.ping_group_range to its group %d (datagram: %w; raw: %w)",
			errNotPermitted, os.Getegid(), err, rawErr)
	}
	return raw, rawErr
}

// refusesSocket says whether the system refused the kind of socket, and not the address.
func refusesSocket(err error) bool {
	var s *os.SyscallError
	return errors.As(err, &s) && s.Syscall == "socket" &&
		(errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ESOCKTNOSUPPORT))
}

// linuxEcho is a socket of package net with its kernel stamps.
type linuxEcho struct {
	*socket.Datagrams
	conn net.PacketConn
}

func (l linuxEcho) SetReadDeadline(t time.Time) error { return l.conn.SetReadDeadline(t) }

func (l linuxEcho) SetWriteDeadline(t time.Time) error { return l.conn.SetWriteDeadline(t) }

func (l linuxEcho) Close() error { return l.conn.Close() }

func openEchoType(to netip.Addr, kind int) (*echoConn, error) {
	conn, err := connectEcho(to, kind)
	if err != nil {
		return nil, fmt.Errorf("opening an ICMP socket to %q: %w", to, err)
	}
	datagrams, err := socket.NewDatagrams(conn.(syscall.Conn), socket.Options{Arrivals: true, Departures: true, Errors: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening an ICMP socket to %q: %w", to, err), conn.Close())
	}
	if b, ok := conn.(interface{ SetReadBuffer(int) error }); ok {
		_ = b.SetReadBuffer(readBuffer) // the system may grant less: then it is as it was
	}
	c := &echoConn{echoSocket: linuxEcho{datagrams, conn}}
	if kind == unix.SOCK_RAW {
		c.id, c.headed = uint16(1+rand.N(0xFFFF)), to.Is4()
	}
	return c, nil
}

func connectEcho(to netip.Addr, kind int) (net.PacketConn, error) {
	family, protocol := unix.AF_INET6, unix.IPPROTO_ICMPV6
	if to.Is4() {
		family, protocol = unix.AF_INET, unix.IPPROTO_ICMP
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "icmp")
	defer file.Close() // package net has its own descriptor of the socket
	if kind == unix.SOCK_RAW {
		if err := onlyReplies(fd, to); err != nil {
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	// Connected, the socket gets what comes from the target, and not every host's.
	if err := unix.Connect(fd, socketName(to)); err != nil {
		return nil, os.NewSyscallError("connect", err)
	}
	return net.FilePacketConn(file)
}

// onlyReplies keeps everything but echo replies from a raw socket, which else gets all ICMP that
// comes from the target. Errors come by the error queue all the same.
func onlyReplies(fd int, to netip.Addr) error {
	if to.Is4() {
		const icmpFilter = 1 // of SOL_RAW: the types to be dropped (raw(7))
		return unix.SetsockoptInt(fd, unix.SOL_RAW, icmpFilter, ^(1 << echoReply4))
	}
	var drop unix.ICMPv6Filter // RFC 3542, section 3.2; on Linux a bit that is set drops
	for i := range drop.Data {
		drop.Data[i] = ^uint32(0)
	}
	drop.Data[echoReply6/32] &^= 1 << (echoReply6 % 32)
	return unix.SetsockoptICMPv6Filter(fd, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &drop)
}

func socketName(to netip.Addr) unix.Sockaddr {
	if to.Is4() {
		return &unix.SockaddrInet4{Addr: to.As4()}
	}
	name := &unix.SockaddrInet6{Addr: to.As16()}
	if zone := to.Zone(); zone != "" {
		if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			name.ZoneId = uint32(n)
		} else if i, err := net.InterfaceByName(zone); err == nil {
			name.ZoneId = uint32(i.Index)
		}
	}
	return name
}
