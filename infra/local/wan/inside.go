package wan

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"

	"isochrone/infra/local/child"
)

func (w *WAN) node(name string) (*node, error) {
	n, ok := w.nodes[name]
	if !ok {
		return nil, fmt.Errorf("node %q: the network has none of that name", name)
	}
	return n, nil
}

// Do calls do on a thread inside a node's namespace. Sockets that do makes belong to the
// namespace, and goroutines that it starts do not. It must not unlock its thread.
func (w *WAN) Do(name string, do func() error) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.in(w.machine, do)
}

// StartIn starts a child inside a node's namespace, as child.Start does: the child is killed when
// this process ends, and exited is called after it has ended. Do not call cmd.Wait.
func (w *WAN) StartIn(name string, cmd *exec.Cmd, exited func()) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	enter := func() (func() error, error) { return n.enter(w.machine) }
	if err := child.StartIn(enter, cmd, exited); err != nil {
		return fmt.Errorf("starting %q in node %q: %w", cmd.Path, name, err)
	}
	return nil
}

// Listen listens inside a node's namespace. Port 0 means any that is free.
func (w *WAN) Listen(name, network string, at netip.AddrPort) (l net.Listener, err error) {
	err = w.Do(name, func() error {
		l, err = net.Listen(network, at.String())
		return err
	})
	return l, err
}

// ListenPacket is like Listen, for UDP.
func (w *WAN) ListenPacket(name, network string, at netip.AddrPort) (c net.PacketConn, err error) {
	err = w.Do(name, func() error {
		c, err = net.ListenPacket(network, at.String())
		return err
	})
	return c, err
}

// Dial connects from inside a node's namespace, by the path that the address belongs to.
func (w *WAN) Dial(ctx context.Context, name, network string, to netip.AddrPort) (c net.Conn, err error) {
	err = w.Do(name, func() error {
		var d net.Dialer
		c, err = d.DialContext(ctx, network, to.String())
		return err
	})
	return c, err
}

// Address is that of a node on a path; the zero address where it has none.
func (w *WAN) Address(name, path string) netip.Addr {
	n, _ := w.Topology.Node(name)
	return n.Addresses[path]
}
