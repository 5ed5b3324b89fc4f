package probe

import (
	"io"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
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
