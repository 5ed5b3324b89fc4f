//go:build !linux

package reflect

import (
	"context"
	"net"

	"isochrone/prober/socket"
)

// alone is not to be had here: package net waits as well as it can, and nobody tells of departures.
func (*stampServer) alone(context.Context, *net.UDPConn, *socket.Datagrams) (served bool, err error) {
	return false, nil
}
