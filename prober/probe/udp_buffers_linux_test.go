package probe

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// receiveBuffer is how many octets may wait to be received on a socket.
func receiveBuffer(t *testing.T, c syscall.Conn) (octets int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { octets, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return octets
}

// What finds no room at the source would look like the network's loss.
func TestRepliesHaveMoreRoomThanTheSystemGivesByItself(t *testing.T) {
	plain, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	usual := receiveBuffer(t, plain.(*net.UDPConn))
	if got := receiveBuffer(t, unanswered(t).conn); got <= usual {
		t.Errorf("udp: room for %d octets, a plain socket has %d", got, usual)
	}
	echo, err := openEcho(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	if got := receiveBuffer(t, echo.echoSocket.(linuxEcho).conn.(syscall.Conn)); got <= usual {
		t.Errorf("icmp: room for %d octets, a plain socket has %d", got, usual)
	}
}

// A device that lets almost nothing out fills the socket's buffer, and sending waits.
func TestSendingThatWaitsEndsWhenTheRunIsStopped(t *testing.T) {
	apart(t, func() {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			t.Fatal(err)
		}
		slow := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}, Rate: 1000, Limit: 1 << 24, Buffer: 46_875_000} // 3 s worth, in 64 ns
		if err := netlink.QdiscAdd(slow); err != nil {
			t.Fatalf("slowing the device down: %v", err)
		}
		for name, carry := range map[string]func(f *flight) traffic{"alone": (*flight).alone, "shared": (*flight).shared} {
			f := unanswered(t)
			_ = f.conn.SetWriteBuffer(1) // the system's least
			way := carry(f)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			began := time.Now()
			sent := way.sendUntilStopped(ctx, began.Add(time.Minute))
			if took := time.Since(began); sent >= 100 || took > 10*time.Second {
				t.Errorf("%s: %d samples after %s; want it to be stopped while it waits", name, sent, took)
			}
			way.end()
			if last := f.rec.samples[99].sent.Load(); last != notYet {
				t.Errorf("%s: the last sample was sent at %d", name, last)
			}
			t.Logf("%s: %d sent", name, sent)
		}
	})
}
