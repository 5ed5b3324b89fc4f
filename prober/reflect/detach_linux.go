package reflect

import (
	"context"
	"net"
	"os"
	"runtime"
	"time"

	"isochrone/prober/socket"
)

// detach makes a channel of the connection that waits on the calling goroutine's thread, or nil
// where that cannot be. It lasts until the deadline, ctx or the call of end, which also gives the
// thread back.
func detach(ctx context.Context, conn *net.TCPConn, deadline time.Time) (alone channel, end func()) {
	stream, err := socket.Detach(conn)
	if err != nil {
		return nil, nil
	}
	stopped := context.AfterFunc(ctx, func() { stream.Interrupt(net.ErrClosed) })
	over := time.AfterFunc(time.Until(deadline), func() { stream.Interrupt(os.ErrDeadlineExceeded) })
	runtime.LockOSThread()
	return stream, func() {
		runtime.UnlockOSThread()
		over.Stop()
		stopped()
		_ = stream.Close() // the answer to everything is to close
	}
}
