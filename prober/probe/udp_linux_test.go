package probe

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// In a network namespace of its own, whose only interface is down, no address has a route.
func TestUDPWithoutARouteIsUnreachable(t *testing.T) {
	done := make(chan wire.Run)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("making a network namespace, for which the tests run as root: %v", err)
		}
		done <- impatient().Make(t.Context(), udpRequest("127.0.0.1:862", 10))
	}()
	run := <-done
	valid(t, run)
	if run.Failure != wire.FailureUnreachable || run.Counts.Sent != 0 {
		t.Errorf("failure %q (%s), %d sent; want unreachable, none", run.Failure, run.Detail, run.Counts.Sent)
	}
}
