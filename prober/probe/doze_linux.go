package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// doze sleeps in the kernel. The Go runtime lends the processor to others meanwhile, as for
// every blocking system call. A signal may end it early, which the caller's spin makes good.
func doze(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}
