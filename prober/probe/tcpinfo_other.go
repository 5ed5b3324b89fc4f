//go:build !linux

package probe

import (
	"net"

	"isochrone/prober/wire"
)

// tcpInfo is only known on Linux.
func tcpInfo(*net.TCPConn) *wire.TCPInfo { return nil }
