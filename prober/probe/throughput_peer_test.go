package probe

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"isochrone/prober/reflect"
	"isochrone/prober/wire"
)

// bulkPeer is the other end of a bulk session as it ought not to be: it accepts what accept says, reads
// whatever comes on streams, and runs script on the control connection. The test waits for its end.
func bulkPeer(t *testing.T, accept wire.Accepted, script func(control net.Conn)) string {
	t.Helper()
	l := listenTest(t)
	var all sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close() // the script has said what it wanted
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		var hello [wire.ClientHelloBytes]byte
		if _, err := io.ReadFull(conn, hello[:]); err != nil {
			return
		}
		id, nonce := wire.ReadClientHello(hello)
		answer := wire.ReflectorHello(testKey, wire.KindThroughput, id, nonce, wire.NewNonce())
		_, _ = conn.Write(answer[:])
		var o wire.Opening
		if err := wire.ReadFrame(conn, &o); err != nil {
			t.Errorf("reading the opening: %v", err)
			return
		}
		if wire.WriteFrame(conn, accept) != nil || accept.Failure != "" {
			return
		}
		if o.Role == wire.RoleControl {
			script(conn)
		} else {
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// peerRequest is a run up to such a peer, which may be silent for two seconds.
func peerRequest(t *testing.T, address string) Request {
	t.Helper()
	req := throughputRequest(t, address, wire.DirectionUp)
	req.Session, req.Key = testSession, testKey
	req.Spec.Timeout, req.Spec.Bulk.RateBPS = 2*time.Second, 80_000_000
	return req
}

// begun hears the order to start, and reports so many tenths of a second of a thousand bytes.
func begun(t *testing.T, control net.Conn, readings int) {
	t.Helper()
	var order wire.ThroughputOrder
	if err := wire.ReadFrame(control, &order); err != nil || order.Stop {
		t.Errorf("want the order to start: %+v, %v", order, err)
	}
	_ = wire.WriteFrame(control, wire.ThroughputReport{})
	for i := range readings {
		r := wire.Reading{AtNS: int64(i) * 1e8, ForNS: 1e8, Bytes: 1000, Ramp: i < 2}
		time.Sleep(20 * time.Millisecond) // so that as much may have been sent
		_ = wire.WriteFrame(control, wire.ThroughputReport{Reading: &r})
	}
}

func TestAPeerThatBreaksTheRulesIsFoundOut(t *testing.T) {
	frame := func(v any) func(net.Conn) {
		return func(c net.Conn) { _ = wire.WriteFrame(c, v) }
	}
	for name, c := range map[string]struct {
		then func(net.Conn)
		want wire.Failure
	}{
		"silent":                  {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, wire.FailureTimeout},
		"gone":                    {func(net.Conn) {}, wire.FailureReset},
		"cut with a reset":        {func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, wire.FailureReset},
		"garbage":                 {func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 0, 1, '!'}) }, wire.FailureProtocol},
		"a frame without an end":  {func(c net.Conn) { _, _ = c.Write([]byte{255, 0, 0, 0}) }, wire.FailureProtocol},
		"negative bytes":          {frame(wire.ThroughputReport{Reading: &wire.Reading{ForNS: 1, Bytes: -1}}), wire.FailureProtocol},
		"no time":                 {frame(wire.ThroughputReport{Reading: &wire.Reading{Bytes: 1}}), wire.FailureProtocol},
		"more than the budget":    {frame(wire.ThroughputReport{Reading: &wire.Reading{ForNS: 1e9, Bytes: 1 << 41}}), wire.FailureProtocol},
		"more than was sent":      {frame(wire.ThroughputReport{Reading: &wire.Reading{ForNS: 1e9, Bytes: 1 << 39}}), wire.FailureProtocol},
		"a count cut short":       {frame(wire.ThroughputReport{Reading: &wire.Reading{ForNS: 1e8, Bytes: 1}, Counted: true}), wire.FailureProtocol},
		"an end that was not due": {frame(wire.ThroughputReport{End: true}), wire.FailureProtocol},
		"a failure that is none":  {frame(wire.ThroughputReport{Failure: "tired"}), wire.FailureProtocol},
		"a failure":               {frame(wire.ThroughputReport{Failure: wire.FailureLocal, Detail: "no memory"}), wire.FailureLocal},
	} {
		t.Run(name, func(t *testing.T) {
			address := bulkPeer(t, wire.Accepted{}, func(control net.Conn) {
				begun(t, control, 0)
				c.then(control)
			})
			began := time.Now()
			run := newTestProber().Make(t.Context(), peerRequest(t, address))
			valid(t, run)
			if run.Failure != c.want || run.Bulk != nil || run.Detail == "" {
				t.Errorf("failure %q (%s), want %q", run.Failure, run.Detail, c.want)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// What was counted before the target went is kept, and it is said that it went.
func TestWhatWasCountedIsKept(t *testing.T) {
	address := bulkPeer(t, wire.Accepted{}, func(control net.Conn) { begun(t, control, 5) })
	run := newTestProber().Make(t.Context(), peerRequest(t, address))
	agrees(t, run, 1)
	f := run.Bulk.Flows[0]
	if f.Bytes != 3000 || f.RampBytes != 2000 || f.CountedNS != 3e8 || f.BPS != 80_000 {
		t.Errorf("counted %d and %d bytes in %d ns: %.0f bit/s", f.RampBytes, f.Bytes, f.CountedNS, f.BPS)
	}
	if !strings.Contains(run.Detail, "the session broke") {
		t.Errorf("detail %q", run.Detail)
	}
}

func TestABusyTargetIsAskedAgain(t *testing.T) {
	l := bulkPeer(t, wire.Accepted{Failure: wire.FailureTargetBusy, Detail: "another \x1b[31m run"}, nil)
	req := peerRequest(t, l)
	req.LatestStart = time.Now().Add(300 * time.Millisecond)
	p := newTestProber()
	p.again = 20 * time.Millisecond
	began := time.Now()
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Failure != wire.FailureTargetBusy || !strings.Contains(run.Detail, "another") || run.Bulk != nil {
		t.Errorf("failure %q (%s)", run.Failure, run.Detail)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("given up after %s, with time until 300 ms", took)
	}
}

func TestAThroughputRunIsStopped(t *testing.T) {
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	for name, stop := range map[string]func(context.CancelFunc, *Request){
		"by its context":  func(cancel context.CancelFunc, _ *Request) { time.AfterFunc(3*time.Second, cancel) },
		"by its deadline": func(_ context.CancelFunc, req *Request) { req.Deadline = time.Now().Add(3 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			req := throughputRequest(t, address, wire.DirectionBoth)
			req.Spec.Bulk.Duration, req.Spec.Bulk.RateBPS = time.Minute, 80_000_000
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop(cancel, &req)
			began := time.Now()
			run := newTestProber().Make(ctx, req)
			agrees(t, run, 2)
			if took := time.Since(began); took > 15*time.Second || run.Detail != "stopped before its time" {
				t.Errorf("after %s: %q", took, run.Detail)
			}
			if f := run.Bulk.Flows[0]; f.CountedNS <= 0 || f.CountedNS > int64(15*time.Second) {
				t.Errorf("counted for %s", time.Duration(f.CountedNS))
			}
		})
	}
}

func TestACongestionControlThatIsNotThereIsSaid(t *testing.T) {
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	for _, direction := range []wire.Direction{wire.DirectionUp, wire.DirectionDown} {
		req := throughputRequest(t, address, direction)
		req.Spec.Bulk.Congestion = "nosuch"
		run := newTestProber().Make(t.Context(), req)
		valid(t, run)
		if run.Failure != wire.FailureUnsupported || !strings.Contains(run.Detail, "nosuch") || run.Bulk != nil {
			t.Errorf("%s: failure %q (%s)", direction, run.Failure, run.Detail)
		}
	}
}

func TestStreamsFollowFromThePath(t *testing.T) {
	for _, c := range []struct {
		rtt  time.Duration
		bps  int64
		want int
	}{
		{100 * time.Microsecond, 0, 4}, {80 * time.Millisecond, 0, 5}, {200 * time.Millisecond, 0, 12}, {time.Second, 0, 16},
		{80 * time.Millisecond, 200_000_000, 4}, {80 * time.Millisecond, 10_000_000_000, 16}, {0, 0, 4},
	} {
		if got := autoStreams(c.rtt, c.bps); got != c.want {
			t.Errorf("%s at %d bit/s: %d streams, want %d", c.rtt, c.bps, got, c.want)
		}
	}
	address := throughputTarget(t, reflect.Limits{BulkBytes: 1 << 40})
	req := throughputRequest(t, address, wire.DirectionDown)
	req.Spec.Bulk.Streams = 0
	run := newTestProber().Make(t.Context(), req)
	agrees(t, run, 1)
	if n := run.Bulk.Flows[0].Streams; n != 4 {
		t.Errorf("%d streams on loopback, want 4", n)
	}
}
