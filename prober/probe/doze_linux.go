package probe

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/socket"
)

// doze sleeps in the kernel. The Go runtime lends the processor to others meanwhile, as for
// every blocking system call. A signal may end it early, which the caller's spin makes good.
func doze(d time.Duration) {
	// By default the kernel may wake a thread 50 µs late, to wake several at once. The setting is
	// the thread's, so it is made on the one that sleeps; it harms nobody who sleeps on it later.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = socket.PromptTimers()
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}
