package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Detached is Datagrams that have been taken away from the runtime's poller: who receives waits on
// its own thread, in the kernel. Whoever sends from that same thread, and reads the error queue
// right after, wakes nobody by the entry that tells of the packet's departure. In the poller it
// wakes a thread just as the packet is on its way through the devices of this machine, which is
// what takes longest of a short way.
//
// Receive and ReceiveBefore return ErrCalled when Call was called. Send and Reply do not wait: where
// there is no room for the packet they return ErrWait, and it has not left.
type Detached struct {
	*Datagrams
	thread lone
}

// Detach takes the datagrams away from the poller, and closes c, on which they were made. They go on
// as they were, with their options and numbers. Nobody may be receiving or sending. When it fails,
// all is as it was.
func (d *Datagrams) Detach(c *net.UDPConn) (*Detached, error) {
	fd := -1
	var failed error
	// A descriptor that the poller never knew: else its thread would be woken by everything, too.
	if err := d.raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return nil, fmt.Errorf("detaching a socket: %w", err)
	}
	if failed != nil {
		return nil, fmt.Errorf("detaching a socket: %w", os.NewSyscallError("fcntl", failed))
	}
	waiter, err := NewWaiter(uintptr(fd))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("detaching a socket: %w", err), unix.Close(fd))
	}
	_ = c.Close() // its descriptor; the socket lives on by the other
	l := &Detached{Datagrams: d, thread: lone{fd: uintptr(fd), waiter: waiter}}
	d.raw = &l.thread
	return l, nil
}

// TellDepartures asks for Departures from now on; packets are numbered anew. Only the goroutine that
// sends may call it.
func (l *Detached) TellDepartures() error {
	l.options.Departures = true
	return l.renumber()
}

// ReceiveBefore is Receive that waits until then at most, and then returns ErrWait. How late it is see
// PromptTimers.
func (l *Detached) ReceiveBefore(until time.Time, b []byte, p *Packet, n *Notice) (noticed bool, err error) {
	l.thread.until = until
	noticed, err = l.Receive(b, p, n)
	l.thread.until = time.Time{}
	return noticed, err
}

// AwaitRoom waits until there may be room to send, or an entry in the error queue: that ends every
// wait for as long as nobody reads it.
func (l *Detached) AwaitRoom() error {
	called, err := l.thread.waiter.WaitForRoom(time.Hour)
	return calledAway(called, err)
}

// Await is AwaitRoom that a packet ends as well.
func (l *Detached) Await() error {
	called, err := l.thread.waiter.Wait(time.Hour, true)
	return calledAway(called, err)
}

// Call calls whoever waits, or is about to, away. Any goroutine may do that, even after Close.
func (l *Detached) Call() { l.thread.waiter.Call() }

// Close closes the socket. Nobody may be receiving or sending.
func (l *Detached) Close() error {
	fd := int(l.thread.fd)
	l.thread.fd = ^uintptr(0) // the number may soon be another's
	return errors.Join(os.NewSyscallError("close", unix.Close(fd)), l.thread.waiter.Close())
}

// lone is the syscall.RawConn of a descriptor that the runtime's poller does not know. It waits on the
// caller's thread to read, and never to write.
type lone struct {
	fd     uintptr
	waiter *Waiter
	until  time.Time // when to stop waiting; zero: never
}

func (l *lone) Control(f func(fd uintptr)) error {
	f(l.fd)
	return nil
}

func (l *lone) Read(done func(fd uintptr) bool) error {
	for !done(l.fd) {
		d := time.Hour
		if !l.until.IsZero() {
			if d = time.Until(l.until); d <= 0 {
				return ErrWait
			}
		}
		called, err := l.waiter.Wait(d, false)
		if err := calledAway(called, err); err != nil {
			return err
		}
	}
	return nil
}

func (l *lone) Write(done func(fd uintptr) bool) error {
	if !done(l.fd) {
		return ErrWait
	}
	return nil
}

func calledAway(called bool, err error) error {
	if called && err == nil {
		return ErrCalled
	}
	return err
}
