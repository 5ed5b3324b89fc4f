package socket

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// awaitStamps returns when the kernel stamps what arrives, which it begins with a moment after the
// first socket asks for it, and goes on with for as long as one does.
func awaitStamps(t *testing.T) {
	t.Helper()
	server, receiving := listen(t, "udp4", "127.0.0.1:0", Options{Arrivals: true})
	_, sending := dial(t, server.LocalAddr().String(), Options{})
	for range 2000 {
		if _, err := sending.Send([]byte("is it on?")); err != nil {
			t.Fatal(err)
		}
		var p Packet
		if _, err := receiving.Receive(make([]byte, 100), &p, new(Notice)); err != nil {
			t.Fatal(err)
		}
		if p.At != 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the kernel has not begun to stamp within 10 s")
}

func TestTheKernelStampsWhatLeavesAndWhatArrives(t *testing.T) {
	awaitStamps(t)
	server, receiving := listen(t, "udp4", "127.0.0.1:0", Options{Arrivals: true})
	_, sending := dial(t, server.LocalAddr().String(), Options{Arrivals: true, Departures: true, Errors: true})
	b := make([]byte, 100)
	var p Packet
	var n Notice
	for i := range uint32(50) {
		before := ReadClocks().Realtime
		number, err := sending.Send([]byte("to be stamped"))
		if err != nil || number != i {
			t.Fatalf("sent as %d, %v; want %d", number, err, i)
		}
		if noticed, err := sending.Receive(b, &p, &n); err != nil || !noticed || !n.Left || n.Number != i || n.Error != nil {
			t.Fatalf("noticed %t: %+v, %v; want that %d left", noticed, n, err, i)
		}
		if _, err := receiving.Receive(b, &p, new(Notice)); err != nil {
			t.Fatal(err)
		}
		after := ReadClocks().Realtime
		if n.At < before || p.At < n.At || after < p.At {
			t.Errorf("packet %d: begun %d, left after %d ns, arrived after %d, received after %d", i, before, n.At-before, p.At-before, after-before)
		}
	}
	if err := sending.Notice(b, &n); err != ErrWait {
		t.Errorf("another notice: %+v, %v", n, err)
	}
}

// Numbers begin anew after a packet that failed to leave: whether the kernel counted it cannot be
// known.
func TestNumbersBeginAnewAfterAnError(t *testing.T) {
	server, _ := listen(t, "udp4", "127.0.0.1:0", Options{})
	_, sending := dial(t, server.LocalAddr().String(), Options{Departures: true, Errors: true})
	b := make([]byte, 1<<17)
	var p Packet
	var n Notice
	for i := range uint32(3) {
		if _, err := sending.Send(b[:10]); err != nil {
			t.Fatal(err)
		}
		if _, err := sending.Receive(b, &p, &n); err != nil || n.Number != i {
			t.Fatalf("%+v, %v", n, err)
		}
	}
	if _, err := sending.Send(b); !errors.Is(err, unix.EMSGSIZE) {
		t.Fatalf("sending more than a datagram holds: %v", err)
	}
	for i := range uint32(3) {
		if number, err := sending.Send(b[:10]); err != nil || number != i {
			t.Fatalf("sent as %d, %v; want %d", number, err, i)
		}
		if _, err := sending.Receive(b, &p, &n); err != nil || !n.Left || n.Number != i {
			t.Fatalf("%+v, %v; want that %d left", n, err, i)
		}
	}
}

func TestAnICMPErrorNamesWhatItIsAbout(t *testing.T) {
	server, _ := listen(t, "udp4", "127.0.0.1:0", Options{})
	address := server.LocalAddr().String()
	_, sending := dial(t, address, Options{Arrivals: true, Departures: true, Errors: true})
	_ = server.Close()
	b := make([]byte, 100)
	var p Packet
	var n Notice
	left, refused := 0, 0
	for i := range 3 {
		// The error for the one before is waiting, and must not keep this one back.
		if _, err := sending.Send([]byte{'n', byte(i)}); err != nil {
			t.Fatalf("sending packet %d: %v", i, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for left+refused < 6 {
		noticed, err := sending.Receive(b, &p, &n)
		switch {
		case err != nil || !noticed:
			t.Fatalf("after %d and %d: noticed %t, %v", left, refused, noticed, err)
		case n.Left:
			left++
		default:
			if !isRefused(n.Error) || n.ICMPType != 3 || n.ICMPCode != 3 || n.Quoted != 2 || b[0] != 'n' || int(b[1]) != refused {
				t.Errorf("error %d: %+v quoting %q", refused, n, b[:n.Quoted])
			}
			refused++
		}
	}
	if left != 3 || refused != 3 {
		t.Errorf("%d left, %d refused; want 3 each", left, refused)
	}
}

func TestReceivingAndSendingAllocateNothing(t *testing.T) {
	server, answering := listen(t, "udp", ":0", Options{Arrivals: true, TTL: true, Local: true, SendTTL: 255})
	_, port, _ := net.SplitHostPort(server.LocalAddr().String())
	_, asking := dial(t, net.JoinHostPort("127.0.0.1", port), Options{Arrivals: true, Departures: true, Errors: true, SendTTL: 255})
	in, out := make([]byte, 200), make([]byte, 100)
	var p Packet
	var n Notice
	round := func() {
		if _, err := asking.Send(out); err != nil {
			t.Fatal(err)
		}
		if _, err := answering.Receive(in, &p, &n); err != nil {
			t.Fatal(err)
		}
		if _, err := answering.Reply(in[:p.Bytes], p.Local); err != nil {
			t.Fatal(err)
		}
		for noticed := true; noticed; {
			var err error
			if noticed, err = asking.Receive(in, &p, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if allocated := testing.AllocsPerRun(1000, round); allocated != 0 {
		t.Errorf("%v allocations a round, want none", allocated)
	}
}

func TestAStreamsArrivalsAreStamped(t *testing.T) {
	awaitStamps(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	raw, err := client.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := Set(raw, Options{Arrivals: true}); err != nil {
		t.Fatal(err)
	}
	r := NewReceiver()
	b := make([]byte, 64)
	var p Packet
	// receive waits on this thread.
	receive := func(fd uintptr) bool {
		for {
			if err = r.Receive(fd, b, &p); err != ErrWait {
				return true
			}
			if ready, failed := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000); ready < 1 {
				t.Errorf("waiting for a segment: %d, %v", ready, failed)
				return true
			}
		}
	}
	for range 20 {
		before := ReadClocks().Realtime
		if _, err := server.Write(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		if readErr := raw.Read(receive); readErr != nil || err != nil || p.Bytes != 64 {
			t.Fatalf("received %+v, %v, %v", p, err, readErr)
		}
		after := ReadClocks().Realtime
		if p.At < before || p.At > after {
			t.Errorf("stamped %d ns after it was written, received %d ns after", p.At-before, after-before)
		}
	}
}

// A source whose kernel gives no stamps asks for one with every reply.
func TestLookingAtAnEmptyErrorQueueAllocatesNothing(t *testing.T) {
	server, _ := listen(t, "udp4", "127.0.0.1:0", Options{})
	_, d := dial(t, server.LocalAddr().String(), Options{Departures: true, Errors: true})
	b := make([]byte, 64)
	var n Notice
	if allocated := testing.AllocsPerRun(1000, func() {
		if err := d.Notice(b, &n); err != ErrWait {
			t.Fatalf("%+v, %v", n, err)
		}
	}); allocated != 0 {
		t.Errorf("%v allocations a look, want none", allocated)
	}
}
