//go:build !linux

package transfer

import (
	"fmt"
	"net"
	"runtime"

	"isochrone/prober/wire"
)

// SetCongestion asks for a congestion control; the empty name for none. Only Linux lets a program choose.
func SetCongestion(_ *net.TCPConn, name string) error {
	if name == "" {
		return nil
	}
	return fmt.Errorf("asking for congestion control %q: %s does not let a program choose", name, runtime.GOOS)
}

// Sending is known on Linux alone.
func Sending([]*net.TCPConn) *wire.Sending { return nil }
