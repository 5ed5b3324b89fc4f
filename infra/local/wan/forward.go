package wan

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
)

// Endpoint is a TCP address in a node's namespace, or in that of the machine.
type Endpoint struct {
	Node    string // empty: the machine
	Address netip.AddrPort
}

// mostForwarded bounds the connections that a forwarder carries at once: more are closed unheard.
const mostForwarded = 1024

// Forwarder carries TCP connections from one namespace to another.
type Forwarder struct {
	// Address is where it accepts.
	Address netip.AddrPort

	wan      *WAN
	to       Endpoint
	listener net.Listener
	ctx      context.Context // of its connections
	cancel   context.CancelFunc
	work     sync.WaitGroup
	slots    chan struct{}
}

// Forward accepts TCP connections at one endpoint and carries them to another: from the machine
// into a node, or from a node to the machine. It accepts on loopback alone, and on the machine
// connects to loopback alone, so that nothing of the emulated network leaves it. Port 0 means any
// that is free. It ends with ctx, Close, or Stop.
func (w *WAN) Forward(ctx context.Context, from, to Endpoint) (*Forwarder, error) {
	switch {
	case !from.Address.Addr().IsLoopback():
		return nil, fmt.Errorf("forwarding from %q: want a loopback address to accept at, such as 127.0.0.1:0", from.Address)
	case to.Node == "" && !to.Address.Addr().IsLoopback():
		return nil, fmt.Errorf("forwarding to %q: want a loopback address on the machine, such as 127.0.0.1:10000", to.Address)
	}
	l, err := w.listenAt(from)
	if err != nil {
		return nil, fmt.Errorf("forwarding from %q: %w", from.Address, err)
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("forwarding from %q: %w", from.Address, err)
	}
	f := &Forwarder{Address: address, wan: w, to: to, listener: l, slots: make(chan struct{}, mostForwarded)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		f.cancel()
		_ = l.Close()
		return nil, fmt.Errorf("forwarding from %q: the network is stopped", from.Address)
	}
	w.forwarders[f] = true
	context.AfterFunc(f.ctx, func() { _ = l.Close() })
	f.work.Go(f.accept)
	return f, nil
}

func (w *WAN) listenAt(e Endpoint) (net.Listener, error) {
	if e.Node == "" {
		return net.Listen("tcp", e.Address.String())
	}
	return w.Listen(e.Node, "tcp", e.Address)
}

// Close ends the forwarder with its connections, and waits until they are.
func (f *Forwarder) Close() {
	f.cancel()
	f.work.Wait()
	f.wan.mu.Lock()
	defer f.wan.mu.Unlock()
	delete(f.wan.forwarders, f)
}

func (f *Forwarder) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		select {
		case f.slots <- struct{}{}:
			f.work.Go(func() {
				defer func() { <-f.slots }()
				f.carry(c)
			})
		default:
			_ = c.Close()
		}
	}
}

// carry connects on behalf of whoever connected. If that fails, all that it can say is to close.
func (f *Forwarder) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := f.dial()
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	stop := context.AfterFunc(f.ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { pour(far, near) })
	pour(near, far)
	both.Wait()
}

func (f *Forwarder) dial() (net.Conn, error) {
	if f.to.Node != "" {
		return f.wan.Dial(f.ctx, f.to.Node, "tcp", f.to.Address)
	}
	var d net.Dialer
	return d.DialContext(f.ctx, "tcp", f.to.Address.String())
}

// pour copies until one side ends, and says so to the other: half a connection may stay open.
func pour(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = to.Close(), from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
