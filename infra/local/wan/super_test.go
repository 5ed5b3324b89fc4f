package wan_test

import (
	"crypto/sha256"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan"
	"isochrone/infra/local/wan/relay"
	"isochrone/infra/local/wan/topology"
)

// What TCP sends by the super-packet is counted as what it is on the wire, to the packet and byte:
// the kernel at the sending end counts the same.
func TestTCPIsCountedAsItsKernelCountsIt(t *testing.T) {
	for _, c := range []struct {
		name string
		link topology.Link
	}{
		{"whole", topology.Link{Delay: time.Millisecond}},
		{"shaped", topology.Link{Delay: time.Millisecond, Rate: 400_000_000}},
		{"shaped to little", topology.Link{Rate: 50_000_000, Queue: 1 << 28}},
		{"jitter", topology.Link{Delay: time.Millisecond, Jitter: time.Millisecond}},
		{"loss", topology.Link{Delay: time.Millisecond, Loss: 0.001}},
		{"a short queue", topology.Link{Rate: 200_000_000, Queue: 40_000}},
		{"copies", topology.Link{Delay: time.Millisecond, Duplicate: 0.01}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, line(2, c.link))
			info, payload, port := transfer(t, w)
			ctx, q := t.Context(), relay.Query{From: "a", Protocol: "tcp", SourcePort: port}
			if _, err := w.Reports().Settled(ctx, relay.Query{}); err != nil {
				t.Fatal(err)
			}
			flows, err := w.Reports().Flows(ctx, q)
			if err != nil || len(flows) != 1 {
				t.Fatalf("%d flows, %v", len(flows), err)
			}
			f := flows[0].Counters
			if f.In != uint64(info.Segs_out) || f.InFlight() != 0 || f.Refused != 0 {
				t.Errorf("%+v: the kernel sent %d segments", f, info.Segs_out)
			}
			if f.Lost+f.QueueDropped+f.Duplicated == 0 && f.DeliveredPayload != info.Bytes_sent || f.DeliveredPayload < payload {
				t.Errorf("%+v: of %d bytes the kernel sent %d, with those that it sent again", f, payload, info.Bytes_sent)
			}
			if suffers := c.link.Loss > 0 || c.link.Queue == 40_000; suffers != (f.Lost+f.QueueDropped > 0) {
				t.Errorf("%+v: lost and dropped are not as the link says", f)
			}
		})
	}
}

// transfer sends some MB over one connection from a to b, checks that they arrive as they were,
// and returns what the kernel at a counted once all is acknowledged.
func transfer(t *testing.T, w *wan.WAN) (*unix.TCPInfo, uint64, uint16) {
	t.Helper()
	l, err := w.Listen("b", "tcp", at(w, "b", "public", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	type end struct {
		sum [sha256.Size]byte
		err error
	}
	const size = 4 << 20
	ended := make(chan end, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			ended <- end{err: err}
			return
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		h := sha256.New()
		_, err = io.CopyN(h, c, size)
		ended <- end{[sha256.Size]byte(h.Sum(nil)), err}
		_, _ = io.Copy(io.Discard, c) // until the other end closes
	}()
	c, err := w.Dial(t.Context(), "a", "tcp", portOf(l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // not yet: closing sends more
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(i>>10 ^ i)
	}
	if _, err := c.Write(body); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.err != nil || e.sum != sha256.Sum256(body) {
		t.Fatalf("what arrived is not what was sent (%v)", e.err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info := tcpInfo(t, c.(*net.TCPConn)); info.Unacked == 0 && info.Notsent_bytes == 0 {
			return info, size, portOf(c.LocalAddr()).Port()
		}
		if time.Now().After(deadline) {
			t.Fatal("not all is acknowledged")
		}
	}
}

func tcpInfo(t *testing.T, c *net.TCPConn) (info *unix.TCPInfo) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got error
	if err := raw.Control(func(fd uintptr) { info, got = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || got != nil {
		t.Fatal(err, got)
	}
	return info
}
