//go:build !linux

package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/icmp"

	"isochrone/prober/socket"
)

// openEcho opens a socket for ICMP. macOS has datagram sockets for everybody; Windows has raw
// ones for administrators.
func openEcho(to netip.Addr) (*echoConn, error) {
	datagram, raw, local := "udp6", "ip6:ipv6-icmp", "::"
	if to.Is4() {
		datagram, raw, local = "udp4", "ip4:icmp", "0.0.0.0"
	}
	conn, err := icmp.ListenPacket(datagram, local)
	if err == nil {
		return &echoConn{echoSocket: &otherEcho{PacketConn: conn, from: to, to: &net.UDPAddr{IP: to.AsSlice(), Zone: to.Zone()}}}, nil
	}
	conn, rawErr := icmp.ListenPacket(raw, local)
	if rawErr == nil {
		id := uint16(1 + rand.N(0xFFFF))
		return &echoConn{id: id, echoSocket: &otherEcho{PacketConn: conn, from: to, to: &net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()}}}, nil
	}
	if refusesRaw(rawErr) {
		return nil, fmt.Errorf("%w: run this program as an administrator (datagram: %w; raw: %w)", errNotPermitted, err, rawErr)
	}
	return nil, fmt.Errorf("opening an ICMP socket to %q: %w", to, rawErr)
}

// wsaEACCES is what Windows answers to who may not open a raw socket. Package syscall does not take it
// for a lack of permission, and no other system has the number.
const wsaEACCES = syscall.Errno(10013)

// refusesRaw says whether the system opens raw sockets for others only.
func refusesRaw(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, wsaEACCES)
}

// otherEcho has neither kernel stamps nor ICMP errors.
type otherEcho struct {
	*icmp.PacketConn
	from netip.Addr
	to   net.Addr
}

func (o *otherEcho) Send(b []byte) (uint32, error) {
	_, err := o.WriteTo(b, o.to)
	return 0, err
}

func (o *otherEcho) Receive(b []byte, p *socket.Packet, n *socket.Notice) (noticed bool, err error) {
	for {
		bytes, from, err := o.ReadFrom(b)
		if err != nil {
			return false, err
		}
		if !o.isTarget(from) {
			continue
		}
		*p, *n = socket.Packet{Bytes: bytes, TTL: -1}, socket.Notice{}
		return false, nil
	}
}

func (o *otherEcho) isTarget(from net.Addr) bool {
	var ip net.IP
	switch a := from.(type) {
	case *net.UDPAddr:
		ip = a.IP
	case *net.IPAddr:
		ip = a.IP
	}
	got, ok := netip.AddrFromSlice(ip)
	return ok && got.Unmap() == o.from.WithZone("")
}

func (*otherEcho) Notice([]byte, *socket.Notice) error { return socket.ErrWait }

func (o *otherEcho) SetReadDeadline(t time.Time) error { return o.PacketConn.SetReadDeadline(t) }
