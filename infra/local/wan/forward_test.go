package wan_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/topology"
)

var anyLoopback = netip.MustParseAddrPort("127.0.0.1:0")

// shout answers a connection, once its sender is done, with what came in capitals.
func shout(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, strings.ToUpper(string(b)))
		_ = c.Close()
	}
}

func ask(t *testing.T, c net.Conn) {
	t.Helper()
	defer func() { _ = c.Close() }()
	within(t, c)
	text := strings.Repeat("half a connection stays open. ", 10_000)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil || string(b) != strings.ToUpper(text) {
		t.Errorf("%d bytes came back, %v; want %d", len(b), err, len(text))
	}
}

func TestForwardIntoANode(t *testing.T) {
	w := start(t, line(2, topology.Link{}))
	l, err := w.Listen("b", "tcp", at(w, "b", "public", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go shout(l)
	// From the machine into node a, and from there through the network to b.
	f, err := w.Forward(t.Context(), wan.Endpoint{Address: anyLoopback}, wan.Endpoint{Node: "a", Address: portOf(l.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := net.Dial("tcp", f.Address.String())
		if err != nil {
			t.Fatal(err)
		}
		ask(t, c)
	}
	f.Close()
	if c, err := net.Dial("tcp", f.Address.String()); err == nil {
		_ = c.Close()
		t.Error("a closed forwarder accepts")
	}
}

func TestForwardOutOfANode(t *testing.T) {
	w := start(t, line(1, topology.Link{}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go shout(l)
	f, err := w.Forward(t.Context(), wan.Endpoint{Node: "a", Address: anyLoopback}, wan.Endpoint{Address: portOf(l.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Dial(t.Context(), "a", "tcp", f.Address)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, c)
	if err := w.Stop(); err != nil { // with the forwarder open
		t.Fatal(err)
	}
	if _, err := w.Forward(t.Context(), wan.Endpoint{Address: anyLoopback}, wan.Endpoint{Address: portOf(l.Addr())}); err == nil {
		t.Error("a stopped network forwards")
	}
}

func TestForwardersLeaveTheMachineByLoopbackAlone(t *testing.T) {
	w := start(t, line(1, topology.Link{}))
	outside := netip.MustParseAddrPort("192.0.2.1:80")
	if _, err := w.Forward(t.Context(), wan.Endpoint{Node: "a", Address: anyLoopback}, wan.Endpoint{Address: outside}); err == nil || !strings.Contains(err.Error(), "want a loopback address on the machine") {
		t.Errorf("%v", err)
	}
	if _, err := w.Forward(t.Context(), wan.Endpoint{Address: netip.MustParseAddrPort("0.0.0.0:0")}, wan.Endpoint{Node: "a", Address: outside}); err == nil || !strings.Contains(err.Error(), "want a loopback address to accept at") {
		t.Errorf("%v", err)
	}
}
