package probe

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
)

// refusing accepts connections and closes the first n, each after its hello, without a byte;
// what comes then is served. asked counts all.
func refusing(t *testing.T, n int64) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	l := listenTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			if asked.Add(1) <= n {
				var hello [wire.ClientHelloBytes]byte
				_, _ = conn.Read(hello[:])
			} else {
				serveRequests(t, conn, 64, func(s uint64) bool { return respond(conn, 16, s) })
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String(), asked
}

func TestATargetThatDoesNotKnowOfTheSessionYetIsAskedAgain(t *testing.T) {
	address, asked := refusing(t, 3)
	p := newTestProber()
	p.again = 20 * time.Millisecond
	req := tcpRequest(address, 10)
	req.LatestStart = time.Now().Add(20 * time.Second)
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != 10 || asked.Load() != 4 {
		t.Errorf("failure %q (%s), %d received, asked %d times; want 10 received at the fourth time", run.Failure, run.Detail, run.Counts.Received, asked.Load())
	}
	if late := run.Start.Sub(req.PlannedStart); late < (20+40+80)/2*time.Millisecond {
		t.Errorf("the run began %s after its planned start: its lateness does not show the waiting", late)
	}
}

func TestATargetThatGoesOnRefusingIsUnauthorizedAtTheLatestStart(t *testing.T) {
	address, asked := refusing(t, 1<<30)
	p := newTestProber()
	p.again = 50 * time.Millisecond
	req := tcpRequest(address, 10)
	req.LatestStart = time.Now().Add(300 * time.Millisecond)
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Failure != wire.FailureUnauthorized || run.Counts.Sent != 0 || asked.Load() < 3 || asked.Load() > 6 {
		t.Errorf("failure %q (%s), %d sent, asked %d times; want unauthorized after 3 to 6", run.Failure, run.Detail, run.Counts.Sent, asked.Load())
	}
	if last := run.End.Sub(req.LatestStart); last < 0 {
		t.Errorf("it was asked for the last time %s before the run's latest start", -last)
	}
}

// A target that answers with the wrong proof is not the target: it learns nothing more.
func TestATargetThatCannotProveTheKeyIsNotAskedAgain(t *testing.T) {
	var asked atomic.Int64
	address := target(t, func(conn *net.TCPConn) {
		asked.Add(1)
		var hello [wire.ClientHelloBytes]byte
		_, _ = conn.Read(hello[:])
		_, _ = conn.Write(make([]byte, wire.ReflectorHelloBytes))
		_, _ = conn.Read(hello[:]) // until the source closes
	})
	p := newTestProber()
	p.again = 10 * time.Millisecond
	req := tcpRequest(address, 10)
	req.LatestStart = time.Now().Add(10 * time.Second)
	began := time.Now()
	run := p.Make(t.Context(), req)
	if run.Failure != wire.FailureUnauthorized || asked.Load() != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("failure %q, asked %d times in %s", run.Failure, asked.Load(), time.Since(began))
	}
}

// Not even when it sends the beginning of an answer.
func TestATargetThatClosesWithinItsAnswerIsNotAskedAgain(t *testing.T) {
	var asked atomic.Int64
	address := target(t, func(conn *net.TCPConn) {
		asked.Add(1)
		_, _ = io.ReadFull(conn, make([]byte, wire.ClientHelloBytes))
		_, _ = conn.Write(make([]byte, 20))
	})
	p := newTestProber()
	req := tcpRequest(address, 10)
	req.LatestStart = time.Now().Add(10 * time.Second)
	began := time.Now()
	run := p.Make(t.Context(), req)
	if run.Failure != wire.FailureUnauthorized || asked.Load() != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("failure %q (%s), asked %d times in %s", run.Failure, run.Detail, asked.Load(), time.Since(began))
	}
}

// A reflector at its limits closes without reading. When that reaches the source before its
// message is sent, writing fails and not reading.
func TestATargetThatClosesBeforeItHasReadIsAskedAgain(t *testing.T) {
	l := listenTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 40 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			if i < 39 {
				_ = conn.(*net.TCPConn).SetLinger(0) // a reset, which comes at any moment of the source's
			} else {
				serveRequests(t, conn, 64, func(s uint64) bool { return respond(conn, 16, s) })
			}
			_ = conn.Close()
		}
	}()
	p := newTestProber()
	p.again = time.Millisecond
	req := tcpRequest(l.Addr().String(), 10)
	req.LatestStart = time.Now().Add(20 * time.Second)
	run := p.Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.Counts.Received != 10 {
		t.Errorf("failure %q (%s), %d received; want 10", run.Failure, run.Detail, run.Counts.Received)
	}
	_ = l.Close()
	<-done
}

func TestARunThatIsStoppedBeforeItsSessionIsOpenIsCanceled(t *testing.T) {
	refused, _ := refusing(t, 1<<30)
	silent := func(t *testing.T) string {
		return target(t, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) })
	}
	stop := func(ctx context.Context, _ *Request) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(300*time.Millisecond, cancel)
		return ctx
	}
	expire := func(ctx context.Context, req *Request) context.Context {
		req.Deadline = time.Now().Add(300 * time.Millisecond)
		return ctx
	}
	for _, c := range []struct {
		name    string
		address string
		end     func(context.Context, *Request) context.Context
		detail  string // what it says of the target
	}{
		{"told to stop while it waits to ask again", refused, stop, "waiting to ask again: opening a session at"},
		{"past its deadline while it waits to ask again", refused, expire, "waiting to ask again: opening a session at"},
		{"told to stop within the handshake", silent(t), stop, "opening a session at"},
		{"past its deadline within the handshake", silent(t), expire, "opening a session at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTestProber()
			p.again = time.Minute
			req := tcpRequest(c.address, 10)
			req.LatestStart = time.Now().Add(20 * time.Second)
			ctx := c.end(t.Context(), &req)
			began := time.Now()
			run := p.Make(ctx, req)
			valid(t, run)
			if run.Failure != wire.FailureCanceled || run.Counts.Sent != 0 || !strings.Contains(run.Detail, c.detail) {
				t.Errorf("failure %q (%s), %d sent; want canceled", run.Failure, run.Detail, run.Counts.Sent)
			}
			if took := time.Since(began); took < 250*time.Millisecond || took > 5*time.Second {
				t.Errorf("it ended after %s, want 300 ms", took)
			}
		})
	}
}
