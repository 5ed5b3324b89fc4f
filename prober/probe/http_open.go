package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// phasedConn is a connection that knows how long it took to open, and when it was written to.
type phasedConn struct {
	net.Conn
	address           string // numeric, of the other end
	dns, connect, tls int64
	used              atomic.Bool // by a request, whose phases these are
	// wrote is when the last write began, as socket.Clocks.Monotonic: the answer cannot have come
	// before, whereas the return of the write may be seen after it.
	wrote atomic.Int64
}

func (c *phasedConn) Write(b []byte) (int, error) {
	c.wrote.Store(socket.Monotonic(socket.Now()))
	return c.Conn.Write(b)
}

var errTLS = errors.New("the TLS handshake failed")

// open opens a connection, which ends when the request that it is opened for does before it stands.
func (c *httpClient) open(ctx context.Context, network, address string) (net.Conn, error) {
	conn, _, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err // a typed nil would be a connection
	}
	return conn, nil
}

// openTLS opens a connection and shakes hands.
func (c *httpClient) openTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, a, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		a.stage.Store(stageSecuring)
		began := socket.Now()
		secured := tls.Client(conn.Conn, &tls.Config{ServerName: host, RootCAs: c.roots, NextProtos: []string{"http/1.1"}})
		if err = secured.HandshakeContext(a.ctx); err == nil {
			conn.tls = int64(socket.Now().Sub(began))
			conn.Conn = secured
			return conn, nil
		}
	}
	_ = conn.Close() // nothing was written that matters
	return nil, fmt.Errorf("%w with %s: %w", errTLS, conn.address, err)
}

func (c *httpClient) dial(ctx context.Context, network, address string) (*phasedConn, *attempt, error) {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return nil, nil, errors.New("no request to connect for")
	}
	out := &phasedConn{dns: notYet, connect: notYet, tls: notYet}
	var resolving, connecting time.Time
	traced := httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) {
			a.stage.Store(stageResolving)
			resolving = socket.Now()
		},
		DNSDone: func(httptrace.DNSDoneInfo) { out.dns = int64(socket.Now().Sub(resolving)) },
		ConnectStart: func(_, _ string) { // for each address; what stands in the end is the last one's
			a.stage.Store(stageConnecting)
			connecting = socket.Now()
		},
		ConnectDone: func(_, _ string, _ error) { out.connect = int64(socket.Now().Sub(connecting)) },
	})
	dialer := c.dialer
	// A resolver lets look-ups that overlap share one answer, and so would shorten the later one's.
	dialer.Resolver = new(net.Resolver)
	if r := c.dialer.Resolver; r != nil {
		dialer.Resolver = &net.Resolver{PreferGo: r.PreferGo, StrictErrors: r.StrictErrors, Dial: r.Dial}
	}
	conn, err := dialer.DialContext(traced, network, address)
	if err != nil {
		return nil, nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%T is no TCP connection", conn), conn.Close())
	}
	c.last.Store(tcp)
	c.connected(out.connect)
	remote := tcp.RemoteAddr().(*net.TCPAddr).AddrPort()
	out.Conn, out.address = tcp, netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port()).String()
	if c.under != nil {
		out.Conn = c.under(tcp)
	}
	return out, a, nil
}

// connected keeps the smallest connect phase: the path's round trip, as far as it is known.
func (c *httpClient) connected(took int64) {
	for least := c.least.Load(); took > 0 && (least == 0 || took < least) && !c.least.CompareAndSwap(least, took); least = c.least.Load() {
	}
}

// errForbidden marks an address that is never connected to.
var errForbidden = errors.New("an address that is never measured")

// refuseForbidden is called when the socket exists and nothing has been sent, with the address that is
// about to be connected to: whatever a name server said, and however often, it is asked last.
// Private addresses are allowed: a user's own API may be there. This machine's own loopback only
// where the request permits it: what listens there takes whoever comes for its friend.
func refuseForbidden(loopback bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %q is not numeric", errForbidden, address)
		}
		if why := forbidden(to.Addr(), loopback); why != "" {
			return fmt.Errorf("%w: %s is %s; give the URL another host", errForbidden, to.Addr(), why)
		}
		return nil
	}
}

// forbidden says why an address is not connected to, or nothing.
func forbidden(ip netip.Addr, loopback bool) string {
	if why := wire.NeverMeasured(ip); why != "" {
		return why
	}
	if wire.LeadsToLoopback(ip) && !loopback {
		return "this machine itself, which needs loopback: true in sweep.yaml"
	}
	return ""
}
