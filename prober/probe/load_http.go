package probe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

func (p *Prober) loadURL(ctx context.Context, req Request) wire.Run {
	u, err := readURL(req.URL)
	if err != nil {
		return NotMade(req, wire.FailureUnsupported, err.Error())
	}
	l := newLoad(req, wire.NewBudget(req.Spec.Bulk.MaxBytes))
	return l.make(ctx, req, func(asking context.Context, _ int) asker {
		w := &webUser{client: p.newHTTPClient(req, u), load: l, asking: asking}
		w.client.meter(l)
		w.client.under = w.stamped
		w.renew()
		return w
	})
}

// webUser asks for a URL over one connection, which is opened by the request that finds none. What
// it needs for a request is made once for all.
type webUser struct {
	client  *httpClient
	load    *load
	asking  context.Context // of the run
	attempt *attempt
	request *http.Request
	cancel  context.CancelFunc // of the attempt
	timer   *time.Timer        // calls it
	arrived atomic.Int64       // when the kernel took what was read last from the device, Unix ns; 0: not known
}

// renew makes what the next requests use, after one that was cut.
func (w *webUser) renew() {
	ctx, cancel := context.WithCancel(w.asking)
	w.cancel = cancel
	w.attempt = newAttempt(ctx)
	w.request = w.client.request.WithContext(w.attempt.ctx)
	w.timer = time.AfterFunc(time.Hour, cancel)
	w.timer.Stop()
}

func (w *webUser) ready() error { return nil }

func (w *webUser) ask() (answer, error) {
	began := socket.Now()
	w.attempt.again()
	w.timer.Reset(w.load.spec.Timeout)
	got, err := w.client.exchange(w.attempt, w.request)
	stands := w.timer.Stop()
	w.attempt.complete(&got, err)
	got.client = ownShare(began, got.ended, w.arrived.Load())
	if err != nil {
		// Whether its time was up or the run's, the deadline tells.
		ctx, cancel := context.WithDeadline(w.asking, began.Add(w.load.spec.Timeout))
		got.failure, err = w.attempt.failed(ctx, err)
		cancel()
		err = fmt.Errorf("%s %q: %w", w.load.spec.Method, w.client.name, err)
	}
	if !stands || err != nil && got.failure != wire.FailureHTTPStatus {
		w.cancel()
		w.client.transport.CloseIdleConnections()
		w.renew()
	}
	return got, err
}

func (w *webUser) close() *wire.TCPInfo {
	var info *wire.TCPInfo
	if conn := w.client.last.Load(); conn != nil {
		info = tcpInfo(conn)
	}
	w.timer.Stop()
	w.cancel()
	w.client.transport.CloseIdleConnections()
	return info
}

// stamped has what the connection receives stamped by the kernel.
func (w *webUser) stamped(conn *net.TCPConn) net.Conn {
	in, _ := incomingOf(conn)
	return &stampedConn{conn, in, &w.arrived}
}

// stampedConn is a connection that tells when what was read last arrived.
type stampedConn struct {
	*net.TCPConn
	in      incoming
	arrived *atomic.Int64
}

func (c *stampedConn) Read(b []byte) (int, error) {
	n, stamp, err := c.in.Read(b)
	if n > 0 {
		c.arrived.Store(stamp)
	}
	return n, err
}

// meter takes what the client sends and receives from the run's budget: the octets of HTTP, within
// TLS where there is any.
func (c *httpClient) meter(l *load) {
	for _, dial := range []*func(context.Context, string, string) (net.Conn, error){&c.transport.DialContext, &c.transport.DialTLSContext} {
		open := *dial
		*dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := open(ctx, network, address)
			if phased, ok := conn.(*phasedConn); ok {
				phased.Conn = &meteredConn{phased.Conn, l}
			}
			return conn, err
		}
	}
}

// meteredConn is a connection whose octets count. When the budget is used up the run is over.
type meteredConn struct {
	net.Conn
	load *load
}

func (c *meteredConn) Write(b []byte) (int, error) {
	if !c.load.budget.TakeWhole(int64(len(b))) {
		c.load.giveUp()
		return 0, errBudget
	}
	n, err := c.Conn.Write(b)
	c.load.up.Add(int64(n))
	return n, err
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	granted := c.load.budget.Take(int64(n))
	c.load.down.Add(granted) // what the budget has no room for is not counted
	if granted < int64(n) {
		c.load.giveUp()
		return n, errBudget
	}
	return n, err
}
