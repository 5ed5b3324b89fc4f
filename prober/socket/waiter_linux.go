package socket

import (
	"encoding/binary"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Waiter lets a thread wait for a socket and be called away from it.
type Waiter struct {
	set  [2]unix.PollFd
	rung uint64 // how often it was called

	mu   sync.Mutex
	bell int // an eventfd; -1 once closed
}

// NewWaiter makes a waiter for the socket.
func NewWaiter(fd uintptr) (*Waiter, error) {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &Waiter{bell: bell, set: [2]unix.PollFd{{Fd: int32(fd)}, {Fd: int32(bell), Events: unix.POLLIN}}}, nil
}

// Wait blocks the calling thread until the socket can be read, or written if that is wanted, has
// failed or an entry in its error queue, or d is over. Who is called returns at once, with called
// set; calls that come before that count as one. How late it is when d is over see PromptTimers.
func (w *Waiter) Wait(d time.Duration, write bool) (called bool, err error) {
	if write {
		return w.wait(d, unix.POLLIN|unix.POLLOUT)
	}
	return w.wait(d, unix.POLLIN)
}

// WaitForRoom is Wait for writing alone: what there is to read does not end it.
func (w *Waiter) WaitForRoom(d time.Duration) (called bool, err error) {
	return w.wait(d, unix.POLLOUT)
}

func (w *Waiter) wait(d time.Duration, events int16) (called bool, err error) {
	w.set[0].Events = events
	w.set[0].Revents, w.set[1].Revents = 0, 0
	ts := unix.NsecToTimespec(int64(max(d, 0)))
	// A signal ends it early, which the caller cannot tell from a socket that is ready and then
	// is not: both look again.
	_, _, errno := unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&w.set)), 2, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return false, os.NewSyscallError("ppoll", errno)
	}
	if errno == 0 && w.set[1].Revents != 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(w.set[1].Fd), uintptr(unsafe.Pointer(&w.rung)), unsafe.Sizeof(w.rung)) // silences it
		return true, nil
	}
	return false, nil
}

// Call calls whoever waits, or is about to, away. Any goroutine may do that, even after Close.
func (w *Waiter) Call() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bell >= 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(w.bell, one[:]) // fails only when it has been rung 2^64 times
	}
}

// Close gives back what the waiter holds. Nobody may be waiting.
func (w *Waiter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	bell := w.bell
	w.bell = -1
	return os.NewSyscallError("close", unix.Close(bell))
}
