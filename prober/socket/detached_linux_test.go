package socket

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// detach takes a socket away from the poller.
func detach(t *testing.T, c *net.UDPConn, d *Datagrams) *Detached {
	t.Helper()
	l, err := d.Detach(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// soon is long enough for anything that is to happen on loopback.
func soon() time.Time { return time.Now().Add(20 * time.Second) }

func TestDetachedDatagramsGoOnAsTheyWere(t *testing.T) {
	awaitStamps(t)
	server, answering := listen(t, "udp", ":0", Options{Arrivals: true, TTL: true, Local: true, SendTTL: 99})
	_, port, _ := net.SplitHostPort(server.LocalAddr().String())
	client, asking := dial(t, net.JoinHostPort("127.0.0.9", port), Options{Arrivals: true, Departures: true, Errors: true, TTL: true})
	b := make([]byte, 100)
	var p Packet
	var n Notice
	if number, err := asking.Send([]byte("first")); err != nil || number != 0 {
		t.Fatalf("sent as %d, %v", number, err)
	}
	near, far := detach(t, client, asking), detach(t, server, answering)
	if err := far.TellDepartures(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection can still be written to: %v", err)
	}
	for i := range uint32(20) {
		// Of the packet before, from before it was detached at first.
		if noticed, err := near.ReceiveBefore(soon(), b, &p, &n); err != nil || !noticed || n.Number != i {
			t.Fatalf("noticed %t: %+v, %v; want that %d left", noticed, n, err, i)
		}
		if _, err := far.ReceiveBefore(soon(), b, &p, &n); err != nil || p.Remote != client.LocalAddr().(*net.UDPAddr).AddrPort() || p.At == 0 {
			t.Fatalf("received %+v, %v", p, err)
		}
		before := ReadClocks().Realtime
		number, err := far.Reply([]byte("answer"), p.Local)
		if err != nil || number != i {
			t.Fatalf("replied as %d, %v; want %d", number, err, i)
		}
		if err := far.Notice(b, &n); err != nil || !n.Left || n.Number != i || n.At < before || n.At > ReadClocks().Realtime {
			t.Fatalf("right after the reply: %+v, %v; want that %d left", n, err, i)
		}
		if noticed, err := near.ReceiveBefore(soon(), b, &p, &n); err != nil || noticed || string(b[:p.Bytes]) != "answer" || p.TTL != 99 {
			t.Fatalf("noticed %t: %+v, %v", noticed, p, err)
		}
		if number, err := near.Send([]byte("next")); err != nil || number != i+1 {
			t.Fatalf("sent as %d, %v; want %d", number, err, i+1)
		}
	}
}

// A notice that is read between a packet and its reply does not change where that goes.
func TestAReplyGoesToWhomThePacketCameFromThoughTheErrorQueueWasRead(t *testing.T) {
	server, answering := listen(t, "udp4", "127.0.0.1:0", Options{Local: true})
	far := detach(t, server, answering)
	if err := far.TellDepartures(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	var p Packet
	var n Notice
	for range 3 {
		_, asking := dial(t, server.LocalAddr().String(), Options{})
		if _, err := asking.Send([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		for noticed := true; noticed; {
			var err error
			if noticed, err = far.ReceiveBefore(soon(), b, &p, &n); err != nil {
				t.Fatal(err)
			}
		}
		_ = far.Notice(b, &n)
		if _, err := far.Reply([]byte("there"), p.Local); err != nil {
			t.Fatal(err)
		}
		if _, err := asking.Receive(b, &p, &n); err != nil || string(b[:p.Bytes]) != "there" {
			t.Fatalf("received %q, %v", b[:p.Bytes], err)
		}
	}
}

func TestWhoWaitsAloneCanBeCalledAwayAgainAndAgain(t *testing.T) {
	server, d := listen(t, "udp4", "127.0.0.1:0", Options{Arrivals: true})
	l := detach(t, server, d)
	b := make([]byte, 10)
	var p Packet
	var n Notice
	for range 3 {
		time.AfterFunc(10*time.Millisecond, l.Call)
		if _, err := l.Receive(b, &p, &n); !errors.Is(err, ErrCalled) {
			t.Fatalf("it ended with %v, want that it was called", err)
		}
		began := time.Now()
		if _, err := l.ReceiveBefore(began.Add(20*time.Millisecond), b, &p, &n); !errors.Is(err, ErrWait) || time.Since(began) < 20*time.Millisecond {
			t.Fatalf("a call counted twice, or nothing came after %s: %v", time.Since(began), err)
		}
	}
	if _, err := l.ReceiveBefore(time.Unix(1, 0), b, &p, &n); !errors.Is(err, ErrWait) {
		t.Errorf("it waited until 1970: %v", err)
	}
	l.Call()
	l.Call()
	if err := l.AwaitRoom(); err != nil && !errors.Is(err, ErrCalled) {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.Call()
	if _, err := l.Reply(b, p.Local); !errors.Is(err, unix.EBADF) {
		t.Errorf("sending on what was closed: %v", err)
	}
}

// An error that nobody waits for ends a wait for as long as it is there, also one for room.
func TestTheErrorQueueEndsAWaitForRoom(t *testing.T) {
	server, _ := listen(t, "udp4", "127.0.0.1:0", Options{})
	client, d := dial(t, server.LocalAddr().String(), Options{Departures: true, Errors: true})
	l := detach(t, client, d)
	if _, err := l.Send([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := errors.Join(l.Await(), l.AwaitRoom()); err != nil {
			t.Fatal(err)
		}
	}
	b := make([]byte, 100)
	var n Notice
	if err := l.Notice(b, &n); err != nil || !n.Left {
		t.Errorf("%+v, %v; want that it left", n, err)
	}
}

func TestRepliesAreNumberedAnewAfterAnError(t *testing.T) {
	server, d := listen(t, "udp4", "127.0.0.1:0", Options{})
	l := detach(t, server, d)
	if err := l.TellDepartures(); err != nil {
		t.Fatal(err)
	}
	_, asking := dial(t, server.LocalAddr().String(), Options{})
	if _, err := asking.Send([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<17)
	var p Packet
	var n Notice
	if _, err := l.ReceiveBefore(soon(), b, &p, &n); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for i := range uint32(3) {
			if number, err := l.Reply(b[:10], p.Local); err != nil || number != i {
				t.Fatalf("replied as %d, %v; want %d", number, err, i)
			}
			if err := l.Notice(b, &n); err != nil || n.Number != i {
				t.Fatalf("round %d: %+v, %v; want that %d left", round, n, err, i)
			}
		}
		if _, err := l.Reply(b, p.Local); !errors.Is(err, unix.EMSGSIZE) {
			t.Fatalf("replying with more than a datagram holds: %v", err)
		}
	}
}

func TestWaitingAloneAllocatesNothing(t *testing.T) {
	server, answering := listen(t, "udp", ":0", Options{Arrivals: true, TTL: true, Local: true, SendTTL: 255})
	_, port, _ := net.SplitHostPort(server.LocalAddr().String())
	client, asking := dial(t, net.JoinHostPort("127.0.0.1", port), Options{Arrivals: true, Departures: true, Errors: true})
	near, far := detach(t, client, asking), detach(t, server, answering)
	if err := far.TellDepartures(); err != nil {
		t.Fatal(err)
	}
	in, out := make([]byte, 200), make([]byte, 100)
	var p Packet
	var n Notice
	hear := func(l *Detached) {
		for noticed := true; noticed; {
			var err error
			if noticed, err = l.ReceiveBefore(soon(), in, &p, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	round := func() {
		if _, err := near.Send(out); err != nil {
			t.Fatal(err)
		}
		hear(far)
		if _, err := far.Reply(in[:p.Bytes], p.Local); err != nil {
			t.Fatal(err)
		}
		_ = far.Notice(in, &n)
		hear(near)
		_, _ = near.ReceiveBefore(time.Now().Add(time.Microsecond), in, &p, &n)
	}
	if allocated := testing.AllocsPerRun(1000, round); allocated != 0 {
		t.Errorf("%v allocations a round, want none", allocated)
	}
}

func TestDetachingNeedsADescriptor(t *testing.T) {
	server, d := listen(t, "udp4", "127.0.0.1:0", Options{})
	_ = server.Close()
	if _, err := d.Detach(server); !errors.Is(err, os.ErrClosed) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("detaching what is closed: %v", err)
	}
}
