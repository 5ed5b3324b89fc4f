package wan_test

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

const rounds = 25

// echo answers everything that comes to a node, over TCP and UDP, until the test ends.
func echo(t *testing.T, w *wan.WAN, node string) (tcp, udp net.Addr) {
	t.Helper()
	l, err := w.Listen(node, "tcp", at(w, node, "public", 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := w.ListenPacket(node, "udp", at(w, node, "public", 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(b[:n], from)
		}
	}()
	return l.Addr(), c.LocalAddr()
}

// The sum of the two delays that the relay says it applied to a request and its answer is what
// the kernel's TCP and UDP saw of the network.
func TestRoundTripsAreWhatWasApplied(t *testing.T) {
	for _, oneWay := range []time.Duration{0, 5 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(oneWay.String(), func(t *testing.T) {
			w := start(t, line(2, topology.Link{Delay: oneWay}))
			tcp, udp := echo(t, w, "b")
			for _, to := range []net.Addr{tcp, udp} {
				// TCP says some things twice when the machine stalls, and then which packet
				// ended a wait cannot be told: so some connections may be in vain.
				for tries := 1; !roundTrips(t, w, to, oneWay); tries++ {
					if tries == 10 {
						t.Fatalf("%s: ten exchanges, and in each a packet too many or too few", to.Network())
					}
				}
			}
		})
	}
}

// roundTrips says whether each request and each answer was one packet.
func roundTrips(t *testing.T, w *wan.WAN, to net.Addr, oneWay time.Duration) bool {
	t.Helper()
	c, err := w.Dial(t.Context(), "a", to.Network(), portOf(to))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	within(t, c)
	body := make([]byte, 100)
	measured := make([]time.Duration, rounds)
	for i := range measured {
		began := time.Now()
		if _, err := c.Write(body); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, body); err != nil {
			t.Fatal(err)
		}
		measured[i] = time.Since(began)
	}
	if _, err := w.Reports().Settled(t.Context(), relay.Query{}); err != nil {
		t.Fatal(err)
	}
	there := withPayload(packets(t, w, relay.Query{From: "a", Protocol: to.Network(), SourcePort: portOf(c.LocalAddr()).Port()}))
	back := withPayload(packets(t, w, relay.Query{From: "b", Protocol: to.Network(), DestinationPort: portOf(c.LocalAddr()).Port()}))
	if len(there) != rounds || len(back) != rounds {
		t.Logf("%s: %d packets there and %d back, want %d each", to.Network(), len(there), len(back), rounds)
		return false
	}
	var excess []time.Duration
	for i := range measured {
		for _, p := range []relay.Packet{there[i], back[i]} {
			if applied := time.Duration(p.Left.Mono - p.Arrived.Mono); applied < oneWay {
				t.Errorf("%s: a delay of %s was applied, want at least %s", to.Network(), applied, oneWay)
			}
		}
		applied := there[i].Left.Mono - there[i].Arrived.Mono + back[i].Left.Mono - back[i].Arrived.Mono
		excess = append(excess, measured[i]-time.Duration(applied))
	}
	slices.Sort(excess)
	t.Logf("%s: measured less applied: least %s, median %s, most %s", to.Network(), excess[0], excess[rounds/2], excess[rounds-1])
	// A busy machine is slow to wake both ends, so the bound is on the better half.
	if low := excess[rounds/4]; low < -2*time.Millisecond || low > 2*time.Millisecond {
		t.Errorf("%s: measured less applied is %s at the lower quartile, want within 2ms", to.Network(), low)
	}
	return true
}

// withPayload leaves out the packets of TCP that carry no data.
func withPayload(packets []relay.Packet) []relay.Packet {
	return slices.DeleteFunc(packets, func(p relay.Packet) bool { return p.Payload == 0 })
}

func TestEachPathHasItsOwnLink(t *testing.T) {
	network := line(2, topology.Link{})
	for i := range network.Nodes {
		network.Nodes[i].Addresses["vpn"] = topology.Address(network.Subnets["vpn"], i)
	}
	network.Links = []topology.Between{{From: "a", To: "b", Path: "vpn", Link: topology.Link{Delay: 30 * time.Millisecond}}}
	w := start(t, network)
	c, err := w.ListenPacket("b", "udp", at(w, "b", "vpn", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	d, err := w.Dial(t.Context(), "a", "udp", portOf(c.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if got, want := portOf(d.LocalAddr()).Addr(), w.Address("a", "vpn"); got != want {
		t.Errorf("the kernel sends from %s, want the path's own address %s", got, want)
	}
	if _, err := d.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	f := theFlow(t, w, 1, relay.Query{Protocol: "udp"})
	if f.Path != "vpn" || f.From != "a" || f.To != "b" || f.Delivered != 1 {
		t.Errorf("%+v, want one packet delivered from a to b over vpn", f)
	}
	if p := packets(t, w, relay.Query{Path: "vpn"}); len(p) != 1 || p[0].Left.Mono-p[0].Arrived.Mono < int64(30*time.Millisecond) {
		t.Errorf("%+v, want one packet, 30 ms late", p)
	}
}
