package socket

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

// listen opens a UDP socket with its Datagrams.
func listen(t *testing.T, network, address string, o Options) (*net.UDPConn, *Datagrams) {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return prepare(t, c.(*net.UDPConn), o)
}

// dial opens a UDP socket connected to the address.
func dial(t *testing.T, address string, o Options) (*net.UDPConn, *Datagrams) {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	return prepare(t, c.(*net.UDPConn), o)
}

func prepare(t *testing.T, c *net.UDPConn, o Options) (*net.UDPConn, *Datagrams) {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	d, err := NewDatagrams(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

func TestAReplyGoesBackFromTheAddressThatWasAsked(t *testing.T) {
	for _, c := range []struct{ name, network, listen, ask string }{
		{"IPv4", "udp4", "0.0.0.0:0", "127.0.0.9"},
		{"IPv4 on a socket of both", "udp", ":0", "127.0.0.9"},
		{"IPv6", "udp6", "[::1]:0", "::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, d := listen(t, c.network, c.listen, Options{Arrivals: true, TTL: true, Local: true, SendTTL: 255})
			_, port, _ := net.SplitHostPort(server.LocalAddr().String())
			client, asking := dial(t, net.JoinHostPort(c.ask, port), Options{SendTTL: 77, TTL: true})
			if _, err := asking.Send([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 3)
			var p Packet
			var n Notice
			if noticed, err := d.Receive(b, &p, &n); err != nil || noticed {
				t.Fatalf("noticed %t, %v", noticed, err)
			}
			if p.Bytes != 3 || string(b) != "hel" || p.Remote != client.LocalAddr().(*net.UDPAddr).AddrPort() {
				t.Errorf("received %+v, %q; want the first 3 octets from %s", p, b, client.LocalAddr())
			}
			if Stamps && (!p.Cut || p.TTL != 77 || p.Local != netip.MustParseAddr(c.ask)) {
				t.Errorf("received %+v; want it cut, TTL 77, sent to %s", p, c.ask)
			}
			if _, err := d.Reply([]byte("there"), p.Local); err != nil {
				t.Fatal(err)
			}
			b = make([]byte, 10)
			// Connected: nothing arrives that comes from another address.
			if _, err := asking.Receive(b, &p, &n); err != nil || string(b[:p.Bytes]) != "there" {
				t.Fatalf("received %q, %v", b[:p.Bytes], err)
			}
			if Stamps && p.TTL != 255 {
				t.Errorf("the reply's TTL is %d, want 255", p.TTL)
			}
		})
	}
}

func TestADeadlineEndsWhatWaits(t *testing.T) {
	c, d := listen(t, "udp4", "127.0.0.1:0", Options{Arrivals: true})
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var p Packet
	var n Notice
	if _, err := d.Receive(make([]byte, 10), &p, &n); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it ended with %v, want the deadline", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = c.Close() })
	_ = c.SetReadDeadline(time.Time{})
	if _, err := d.Receive(make([]byte, 10), &p, &n); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended with %v, want that the socket is closed", err)
	}
}

func TestOnlySettingTheClockIsAStep(t *testing.T) {
	const second, micro = int64(time.Second), int64(time.Microsecond)
	for _, c := range []struct {
		name          string
		passed, moved int64
		want          bool
	}{
		{"nothing", 0, 0, false},
		{"slewing at its fastest for 10 s", 10 * second, 5000 * micro, false},
		{"slewing back at its fastest for 10 s", 10 * second, -5000 * micro, false},
		{"more than slewing in 10 s", 10 * second, 5101 * micro, true},
		{"less than the two readings' distance", 0, 99 * micro, false},
		{"a step forward", second / 50, 200 * micro, true},
		{"a step back", second / 50, -200 * micro, true},
	} {
		before := Clocks{Realtime: 1_790_000_000 * second, Monotonic: 5 * second}
		after := Clocks{Realtime: before.Realtime + c.passed + c.moved, Monotonic: before.Monotonic + c.passed}
		if got := Stepped(before, after); got != c.want {
			t.Errorf("%s: stepped %t, want %t", c.name, got, c.want)
		}
	}
	if now := ReadClocks(); Stepped(now, ReadClocks()) {
		t.Error("two readings in a row are a step")
	}
}

// refused waits until the system has said that nobody is there.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
