package socket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stream is a TCP connection that has been taken away from the runtime's poller: who reads or
// writes waits on its own thread, in the system call. One goroutine may read and one write at a
// time; Interrupt and Close may be called by any.
type Stream struct {
	fd     uintptr
	header unix.Msghdr // for WriteParts
	parts  [2]unix.Iovec

	mu     sync.Mutex
	closed bool
	cause  error // of the interruption; nil when there was none
}

// readSlice is how long a read waits in one system call. After 10 ms in one, the runtime gives the
// thread's processor away, and what has come must wait until the thread has got one again and
// woken the runtime's monitor, which competes with what is measured: some 20 µs.
const readSlice = 4 * time.Millisecond

// Detach makes a stream of the connection, which is closed with that. When it fails, the
// connection is as it was.
func Detach(conn *net.TCPConn) (*Stream, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("detaching a connection: %w", err)
	}
	fd := -1
	var failed error
	// A descriptor that the poller never knew: else its thread would be woken by every segment
	// too, to no purpose.
	if err := raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return nil, fmt.Errorf("detaching a connection: %w", err)
	}
	if failed != nil {
		return nil, fmt.Errorf("detaching a connection: %w", os.NewSyscallError("fcntl", failed))
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, errors.Join(fmt.Errorf("detaching a connection: %w", os.NewSyscallError("fcntl", err)), unix.Close(fd))
	}
	slice := unix.NsecToTimeval(int64(readSlice))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &slice) // without it a read is a little slower
	_ = conn.Close()                                                          // its descriptor; the connection lives on by the other
	s := &Stream{fd: uintptr(fd)}
	s.header.Iov = &s.parts[0]
	return s, nil
}

// FD is the descriptor, for a Receiver, a Waiter and socket options. It is good until Close.
func (s *Stream) FD() uintptr { return s.fd }

// Read blocks the thread until b is full. It returns fewer octets only with an error: io.EOF where
// the stream ends, and what Interrupt was given.
func (s *Stream) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		// With WAITALL the kernel copies what has come and goes on waiting by itself.
		got, _, errno := unix.Syscall6(unix.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b[n:]))), uintptr(len(b)-n), unix.MSG_WAITALL, 0, 0)
		switch {
		case errno == unix.EINTR || errno == unix.EAGAIN: // the slice is over
		case errno != 0:
			return n, s.failed("recvfrom", errno)
		case got == 0:
			if cause := s.interrupted(); cause != nil {
				return n, cause
			}
			return n, io.EOF
		default:
			n += int(got)
		}
	}
	return n, nil
}

// WriteParts blocks the thread until both parts are handed to the kernel, in one system call where
// that takes them, so that they leave in one segment if they fit.
func (s *Stream) WriteParts(first, second []byte) error {
	for len(first)+len(second) > 0 {
		s.parts[0].Base, s.parts[1].Base = unsafe.SliceData(first), unsafe.SliceData(second)
		s.parts[0].SetLen(len(first))
		s.parts[1].SetLen(len(second))
		s.header.SetIovlen(2)
		n, _, errno := unix.Syscall(unix.SYS_SENDMSG, s.fd, uintptr(unsafe.Pointer(&s.header)), unix.MSG_NOSIGNAL)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return s.failed("sendmsg", errno)
		default:
			of1 := min(int(n), len(first))
			first, second = first[of1:], second[int(n)-of1:]
		}
	}
	return nil
}

// Offer hands the kernel as much of b as it takes without waiting: ErrWait says that it takes
// nothing now.
func (s *Stream) Offer(b []byte) (int, error) {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return 0, ErrWait
		}
		return 0, os.NewSyscallError("sendto", errno)
	}
}

// Interrupt ends the connection and makes whoever waits for it return cause. Only the first cause
// counts.
func (s *Stream) Interrupt(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.cause != nil {
		return
	}
	s.cause = cause
	_ = unix.Shutdown(int(s.fd), unix.SHUT_RDWR) // fails where the peer has ended it already
}

// Close closes the connection. Nobody may be reading or writing.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	return os.NewSyscallError("close", unix.Close(int(s.fd)))
}

func (s *Stream) interrupted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

func (s *Stream) failed(call string, errno unix.Errno) error {
	if cause := s.interrupted(); cause != nil {
		return cause
	}
	return os.NewSyscallError(call, errno)
}
