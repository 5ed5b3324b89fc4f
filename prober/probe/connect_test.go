package probe

import (
	"io"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

func mustAddress(t *testing.T, s string) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAConnectRunMakesAConnectionASample(t *testing.T) {
	l := listenTest(t)
	var accepted, bytes atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			n, _ := io.Copy(io.Discard, conn) // until the prober closes
			bytes.Add(n)
			_ = conn.Close()
		}
	}()
	req := connectRequest(l.Addr().String(), 15)
	req.Spec.Warmup = 4
	run := newTestProber().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.Counts.Sent != 15 || run.Counts.Received != 15 || run.Counts.Warmup != 4 {
		t.Fatalf("failure %q (%s), counts %+v", run.Failure, run.Detail, run.Counts)
	}
	for i, rtt := range run.Samples.RTTNS {
		if rtt <= 0 || rtt > int64(time.Second) {
			t.Errorf("handshake %d on loopback took %s", i, time.Duration(rtt))
		}
		if run.Samples.SentNS[i] < run.Samples.DueNS[i] {
			t.Errorf("handshake %d began before it was due", i)
		}
	}
	if len(run.Samples.ServerNS) != 0 || run.TCPInfo != nil {
		t.Error("a handshake has no server time, and many connections no one TCP_INFO")
	}
	for range 500 { // the last connection may not have been accepted yet
		if accepted.Load() == 19 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if accepted.Load() != 19 || bytes.Load() != 0 {
		t.Errorf("the target saw %d connections and %d bytes, want 19 and none", accepted.Load(), bytes.Load())
	}
}

func TestInAClosedLoopOneHandshakeFollowsTheOther(t *testing.T) {
	l := listenTest(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	run := newTestProber().Make(t.Context(), closedLoop(connectRequest(l.Addr().String(), 40)))
	valid(t, run)
	if run.Counts.Received != 40 || run.Counts.PacingViolations != 0 || run.Timestamps != wire.TimestampsUser {
		t.Fatalf("failure %q (%s), counts %+v, time stamps %q", run.Failure, run.Detail, run.Counts, run.Timestamps)
	}
	for i := 1; i < 40; i++ {
		if before := run.Samples.SentNS[i-1] + run.Samples.RTTNS[i-1]; run.Samples.SentNS[i] < before {
			t.Errorf("handshake %d began at %d, the one before ended at %d", i, run.Samples.SentNS[i], before)
		}
	}
}

func TestAHandshakesOwnShareIsWhatTheKernelDidNotNeed(t *testing.T) {
	l := listenTest(t)
	run := newTestProber().Make(t.Context(), connectRequest(l.Addr().String(), 20))
	valid(t, run)
	if (len(run.Samples.ClientNS) > 0) != (runtime.GOOS == "linux") || run.Counts.Received != 20 {
		t.Fatalf("%d own shares of %d handshakes", len(run.Samples.ClientNS), run.Counts.Received)
	}
	for i, own := range run.Samples.ClientNS {
		// The kernel's share is whole microseconds, and there is always some.
		if kernel := run.Samples.RTTNS[i] - own; own < 0 || kernel < 1000 || own > 0 && kernel%1000 != 0 {
			t.Errorf("handshake %d: %s, of which the source took %s", i, time.Duration(run.Samples.RTTNS[i]), time.Duration(own))
		}
	}
}
