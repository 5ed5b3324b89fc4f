package reflect

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"

	"isochrone/prober/socket"
)

// alone serves the socket on the calling goroutine's thread, which waits in the kernel and learns when
// its replies leave. served is false where that cannot be, and the socket is as it was.
func (s *stampServer) alone(ctx context.Context, conn *net.UDPConn, d *socket.Datagrams) (served bool, err error) {
	detached, err := d.Detach(conn)
	if err != nil {
		return false, nil
	}
	defer detached.Close() // nothing is left to be sent
	defer context.AfterFunc(ctx, detached.Call)()
	if err := detached.TellDepartures(); err == nil {
		s.departures.told = true
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = socket.PromptTimers() // late by 50 µs otherwise
	return true, s.serve(ctx, &patient{Detached: detached, departures: &s.departures})
}

// patient is a carrier that waits for room to send.
type patient struct {
	*socket.Detached
	departures *departures
}

// Reply sends the reply as soon as there is room. What the kernel tells of earlier ones is read
// meanwhile.
func (p *patient) Reply(b []byte, from netip.Addr) (number uint32, err error) {
	for {
		number, err = p.Detached.Reply(b, from)
		if !errors.Is(err, socket.ErrWait) {
			return number, err
		}
		if err := p.AwaitRoom(); err != nil {
			return 0, err
		}
		for p.Notice(p.departures.quoted[:], &p.departures.notice) == nil {
			p.departures.left(&p.departures.notice)
		}
	}
}
