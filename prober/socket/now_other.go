//go:build !windows

package socket

import "time"

// Now is the time, wall clock and monotonic, as finely as the system tells it.
func Now() time.Time { return time.Now() }
