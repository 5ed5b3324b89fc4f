//go:build !linux

package probe

import (
	"context"
	"net"
	"time"

	"isochrone/prober/wire"
)

// incomingOf has no kernel stamps to offer here.
func incomingOf(conn *net.TCPConn) (in incoming, stamped bool) { return bareIncoming{conn}, false }

// alone is not to be had here: package net waits as well as it can.
func (*exchange) alone(context.Context, *net.TCPConn, *Pacer, time.Time) (*wire.TCPInfo, ending, bool) {
	return nil, ending{}, false
}
