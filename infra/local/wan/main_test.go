package wan_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// TestMain is also the programs that the tests start: the relay, a holder of an emulator that is
// killed, and children inside nodes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case wan.RelayArgument:
			os.Exit(wan.RelayMain(os.Stdin, os.Stdout, os.Stderr))
		case "hold":
			os.Exit(hold())
		case "wait":
			select {}
		case "addresses":
			os.Exit(printAddresses())
		case "permitted":
			os.Exit(printPermitted())
		}
	}
	// A program with the race detector sleeps for a second before it ends, unless told not to.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	if err := wan.Permitted(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// line is a network of nodes a, b and so on, on the public path, whose links are all alike.
func line(nodes int, l topology.Link) topology.Topology {
	subnets := topology.DefaultSubnets()
	t := topology.Topology{Seed: 7, Subnets: subnets, Default: l}
	for i := range nodes {
		t.Nodes = append(t.Nodes, topology.Node{
			Name: string(rune('a' + i)), Addresses: map[string]netip.Addr{"public": topology.Address(subnets["public"], i)},
		})
	}
	return t
}

func start(t *testing.T, net topology.Topology) *wan.WAN {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	w, err := wan.Start(ctx, net, wan.Options{Log: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, n := range w.Topology.Nodes {
			lost, err := w.Overrun(n.Name)
			if err != nil && strings.Contains(err.Error(), "is stopped") {
				return // by the test
			}
			if err != nil || lost != 0 {
				t.Errorf("node %s: the kernel dropped %d packets before the relay (%v)", n.Name, lost, err)
			}
		}
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// within bounds a connection's reads and writes.
func within(t *testing.T, c interface{ SetDeadline(time.Time) error }) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
}

// at is a node's address on a path with a port.
func at(w *wan.WAN, node, path string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(w.Address(node, path), port)
}

func portOf(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }

// theFlow waits until n packets of the one flow that a query leaves have come to the relay and
// none is on its way, and returns it.
func theFlow(t *testing.T, w *wan.WAN, n uint64, q relay.Query) relay.Flow {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if _, err := w.Reports().Settled(ctx, relay.Query{}); err != nil {
			t.Fatal(err)
		}
		flows, err := w.Reports().Flows(ctx, q)
		if err != nil {
			t.Fatalf("waiting for %d packets of one flow: %v", n, err)
		}
		if len(flows) > 1 || len(flows) == 1 && flows[0].In > n {
			t.Fatalf("want one flow of %d packets: %+v", n, flows)
		}
		if len(flows) == 1 && flows[0].In == n && flows[0].InFlight() == 0 {
			return flows[0]
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func packets(t *testing.T, w *wan.WAN, q relay.Query) []relay.Packet {
	t.Helper()
	p, err := w.Reports().Packets(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
