package socket

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Await blocks the calling thread until the socket can be read, has an error to tell, or time is
// up; it reports whether it was not time. The thread is woken by the kernel, without the detour by
// the runtime's poller and scheduler; so it costs a thread, and is for few sockets at a time. The
// error queue counts as an error to tell: whoever asked for it has to empty it.
func Await(fd uintptr, until time.Time) (ready bool, err error) {
	set := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	for {
		left := max(time.Until(until), 0)
		ts := unix.NsecToTimespec(int64(left))
		// The runtime lends the processor to others meanwhile.
		n, _, errno := unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&set)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		switch {
		case errno == 0:
			return n > 0, nil
		case errno != unix.EINTR:
			return false, fmt.Errorf("waiting for a socket: %w", errno)
		}
	}
}

// PromptTimers lets the kernel end the calling thread's waits when they are due. By default it may
// be 50 µs late, to wake several threads at once. It holds for the thread, so the caller has
// locked itself to it (runtime.LockOSThread) or does not mind where it takes effect.
func PromptTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return errors.Join(errors.New("setting the thread's timer slack"), err)
	}
	return nil
}
