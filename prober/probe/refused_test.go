package probe

import (
	"net"
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
	if late := run.Start.Sub(req.PlannedStart); late < (20+40+80)*time.Millisecond {
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
	if run.Failure != wire.FailureUnauthorized || run.Counts.Sent != 0 || asked.Load() < 2 || asked.Load() > 4 {
		t.Errorf("failure %q (%s), %d sent, asked %d times; want unauthorized after 2 to 4", run.Failure, run.Detail, run.Counts.Sent, asked.Load())
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
