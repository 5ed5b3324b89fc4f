package socket

import (
	"errors"

	"golang.org/x/sys/unix"
)

// PromptTimers lets the kernel end the calling thread's waits when they are due. By default it may
// be 50 µs late, to wake several threads at once. It holds for the thread, so the caller has
// locked itself to it (runtime.LockOSThread) or does not mind where it takes effect.
func PromptTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return errors.Join(errors.New("setting the thread's timer slack"), err)
	}
	return nil
}
