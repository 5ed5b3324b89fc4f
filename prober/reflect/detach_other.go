//go:build !linux

package reflect

import (
	"context"
	"net"
	"time"
)

// detach is not to be had here: package net waits as well as it can.
func detach(context.Context, *net.TCPConn, time.Time) (alone channel, end func()) { return nil, nil }
