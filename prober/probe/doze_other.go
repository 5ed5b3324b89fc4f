//go:build !linux

package probe

import "time"

// doze sleeps as well as the Go runtime can on this system.
func doze(d time.Duration) { time.Sleep(d) }
