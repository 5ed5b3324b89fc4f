package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Datagrams receives and sends on a datagram socket of package net, waiting by the runtime's
// poller: thousands of sockets do not mean thousands of threads, and the deadlines of the
// connection hold. One goroutine may receive and one send at a time. Neither allocates.
// See Detach for a few sockets whose threads the kernel itself is to wake.
type Datagrams struct {
	raw     syscall.RawConn
	options Options

	// What the receiving closures, made once, work on.
	receiver *Receiver
	queue    *Receiver // of the error queue: who is replied to is in the other
	into     []byte
	packet   *Packet
	notice   *Notice
	result   error
	receive  func(fd uintptr) bool
	try      func(fd uintptr)
	look     func(fd uintptr)
	reply    func(fd uintptr) bool
	answer   answer

	sending []byte
	sent    error
	send    func(fd uintptr) bool
	number  uint32 // of the next packet that is sent
}

// NewDatagrams sets the options on the socket. Whoever closes c ends what waits in Receive.
func NewDatagrams(c syscall.Conn, o Options) (*Datagrams, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reaching the socket: %w", err)
	}
	if err := Set(raw, o); err != nil {
		return nil, err
	}
	d := &Datagrams{raw: raw, options: o, receiver: NewReceiver(), queue: NewReceiver()}
	d.receive = func(fd uintptr) bool { return d.receiveOne(fd) }
	d.try = func(fd uintptr) { d.receiveOne(fd) }
	d.look = func(fd uintptr) { d.result = d.queue.Notice(fd, d.into, d.notice) }
	d.reply = func(fd uintptr) bool {
		d.result = d.answer.send(fd, d.receiver, d.into)
		return !errors.Is(d.result, ErrWait)
	}
	d.send = func(fd uintptr) bool {
		_, _, errno := unix.Syscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(d.sending))), uintptr(len(d.sending)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if d.sent = nil; errno != 0 {
			d.sent = errno
		}
		return errno != unix.EAGAIN
	}
	return d, nil
}

// Receive waits for a packet, or for an entry of the error queue where Departures or Errors were
// asked for, and says which came. Of a packet, the payload is in b; of an ICMP error, what it
// quotes. Entries come before packets that wait at the same time; but a packet's departure may
// have been entered between looking there and receiving the reply: see Notice.
func (d *Datagrams) Receive(b []byte, p *Packet, n *Notice) (noticed bool, err error) {
	d.into, d.packet, d.notice = b, p, n
	*n = Notice{}
	for {
		err := d.raw.Read(d.receive)
		if err != nil && isNotPollable(err) {
			if err = d.raw.Control(d.try); err == nil && d.result == ErrWait {
				time.Sleep(time.Millisecond)
				continue
			}
		}
		if err == nil {
			err = d.result
		}
		return err == nil && (n.Left || n.Error != nil), err
	}
}

// isNotPollable says whether the runtime's poller refused to wait, which it does for as long as
// the newest it knows of a socket is an error and nothing else: that its send buffer is full and
// its error queue is not empty. Package internal/poll does not export the error.
func isNotPollable(err error) bool {
	op, ok := err.(*net.OpError) //nolint:errorlint // package net returns it as it is, and looking deeper allocates
	return ok && op.Err != nil && op.Err.Error() == "not pollable"
}

// Notice reads one entry of the error queue, without waiting: ErrWait says that there is none. Only
// the goroutine that receives may call it.
func (d *Datagrams) Notice(b []byte, n *Notice) error {
	*n = Notice{}
	d.into, d.notice = b, n
	if err := d.raw.Control(d.look); err != nil {
		return err
	}
	return d.result
}

// receiveOne reads an entry or a packet. It returns false if there is neither.
func (d *Datagrams) receiveOne(fd uintptr) bool {
	for {
		if d.options.Departures || d.options.Errors {
			if d.result = d.queue.Notice(fd, d.into, d.notice); d.result != ErrWait {
				return true
			}
		}
		d.result = d.receiver.Receive(fd, d.into, d.packet)
		if d.options.Errors && isICMP(d.result) {
			continue // the queue says more of it; asking took it off the socket
		}
		return d.result != ErrWait
	}
}

// isICMP says whether the error came over the network, for an earlier packet.
func isICMP(err error) bool {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return false
	}
	switch errno { // what the kernel makes of ICMP (icmp_err_convert and its like of IPv6)
	case unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.EPROTO, unix.ENOPROTOOPT, unix.EACCES, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.ENONET:
		return true
	}
	return false
}

// Send sends b on a connected socket. The packet is the number-th since NewDatagrams, as notices
// count. An ICMP error for an earlier packet is not this one's: it is sent all the same. After
// an error the numbers begin anew from 0.
func (d *Datagrams) Send(b []byte) (number uint32, err error) {
	d.sending = b
	for attempt := 0; ; attempt++ {
		if err := d.raw.Write(d.send); err != nil {
			return 0, err
		}
		if d.sent == nil {
			d.number++
			return d.number - 1, nil
		}
		if err := d.renumber(); err != nil {
			return 0, err
		}
		if attempt == 3 || !isICMP(d.sent) || errors.Is(d.sent, unix.EMSGSIZE) {
			return 0, os.NewSyscallError("sendto", d.sent)
		}
	}
}

// renumber begins to count anew: the kernel may have given a packet that failed a number or not.
func (d *Datagrams) renumber() error {
	if d.number = 0; !d.options.Departures {
		return nil
	}
	return Set(d.raw, Options{Arrivals: d.options.Arrivals, Departures: true})
}

// Next is the number that the next packet gets, unless sending it fails at first.
func (d *Datagrams) Next() uint32 { return d.number }

// Reply sends b to where the packet last received came from, from the address that it was
// sent to if Local was asked for. Only the goroutine that receives may call it, and only if none
// sends otherwise. Packets are numbered as by Send.
func (d *Datagrams) Reply(b []byte, from netip.Addr) (number uint32, err error) {
	d.into = b
	d.answer.from(d.receiver, from)
	if err := d.raw.Write(d.reply); err != nil {
		return 0, err
	}
	if d.result != nil {
		return 0, errors.Join(d.result, d.renumber())
	}
	d.number++
	return d.number - 1, nil
}
