//go:build !linux

package probe

import (
	"net"
	"time"

	"isochrone/prober/wire"
)

// tcpInfo is only known on Linux.
func tcpInfo(*net.TCPConn) *wire.TCPInfo { return nil }

// handshakesTimed: only Linux says how long a handshake took.
const handshakesTimed = false

func handshakeTime(*net.TCPConn) (rtt time.Duration, ok bool) { return 0, false }
