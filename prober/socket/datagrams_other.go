//go:build !linux

package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// Stamps says whether this system has kernel time stamps. What package net offers here has none.
const Stamps = false

// Set has nothing to set: what a packet came with is not known here, and user-space stamps are all
// there is.
func Set(syscall.RawConn, Options) error { return nil }

// PromptTimers has nothing to set.
func PromptTimers() error { return nil }

// Receiver cannot receive here.
type Receiver struct{}

// NewReceiver makes a receiver.
func NewReceiver() *Receiver { return &Receiver{} }

// Receive is not to be had here: read from the connection.
func (*Receiver) Receive(uintptr, []byte, *Packet) error { return errors.ErrUnsupported }

// Notice is not to be had here.
func (*Receiver) Notice(uintptr, []byte, *Notice) error { return errors.ErrUnsupported }

// Datagrams receives and sends on a UDP socket of package net.
type Datagrams struct {
	conn   *net.UDPConn
	remote netip.AddrPort // the last packet's, with its zone
	number uint32
}

// NewDatagrams takes a *net.UDPConn. The options have no effect here.
func NewDatagrams(c syscall.Conn, _ Options) (*Datagrams, error) {
	conn, ok := c.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("datagrams of a %T: %w", c, errors.ErrUnsupported)
	}
	return &Datagrams{conn: conn}, nil
}

// Receive waits for a packet. There are no notices.
func (d *Datagrams) Receive(b []byte, p *Packet, n *Notice) (noticed bool, err error) {
	*n = Notice{}
	bytes, remote, err := d.conn.ReadFromUDPAddrPort(b)
	if err != nil {
		return false, err
	}
	d.remote = remote
	*p = Packet{Bytes: bytes, TTL: -1, Remote: netip.AddrPortFrom(remote.Addr().Unmap().WithZone(""), remote.Port())}
	return false, nil
}

// Notice has none to tell.
func (d *Datagrams) Notice(_ []byte, n *Notice) error {
	*n = Notice{}
	return ErrWait
}

// Send sends b on a connected socket. The packet is the number-th since NewDatagrams.
func (d *Datagrams) Send(b []byte) (number uint32, err error) {
	if _, err := d.conn.Write(b); err != nil {
		return 0, err
	}
	d.number++
	return d.number - 1, nil
}

// Next is the number that the next packet gets.
func (d *Datagrams) Next() uint32 { return d.number }

// Reply sends b to where the packet last received came from. The system chooses the address that
// it leaves from. Packets are numbered as by Send.
func (d *Datagrams) Reply(b []byte, _ netip.Addr) (number uint32, err error) {
	if _, err := d.conn.WriteToUDPAddrPort(b, d.remote); err != nil {
		return 0, err
	}
	d.number++
	return d.number - 1, nil
}
