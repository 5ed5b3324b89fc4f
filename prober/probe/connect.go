package probe

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// maxDialers bounds the descriptors of one run whose target does not answer. A sample that
// finds every dialer busy waits for one, and counts as a pacing violation if that takes long.
const maxDialers = 512

// connect measures TCP handshakes, a new connection each, which is closed as soon as it stands. In
// a closed loop there is one dialer, so the next handshake begins when the one before is over.
func (p *Prober) connect(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	// Dials outlive ctx by the grace, so that what is in flight is not thrown away.
	dialing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	rec := newRecord(req, firstDue(time.Now(), req.First, req.Spec.Interval), columnSet{client: handshakesTimed})
	d := startDialers(dialing, rec, address)

	sent := p.pacer.pace(ctx, rec.begin, req.Spec.Interval, len(rec.samples), func(i int) bool {
		select {
		case d.due <- i:
			return true
		case <-ctx.Done():
			return false
		}
	})
	close(d.due)
	// Dials time out by themselves; the second is for their goroutines to notice.
	finished := drain(ctx, time.Now().Add(req.Spec.Timeout+time.Second), req.Deadline, d.done)
	end := ending{at: time.Now()}
	giveUp()
	<-d.done
	if end.detail = d.firstError; sent < len(rec.samples) || !finished {
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	}
	run := rec.run(req, end)
	run.Timestamps = wire.TimestampsUser
	return run
}

// dialers are the goroutines that make a connect run's connections: enough that one is free for
// every sample although none is answered.
type dialers struct {
	due  chan int      // the sample to dial for; closed by the sender
	done chan struct{} // closed when due is, and every dialer has ended

	mu         sync.Mutex
	firstError string
}

func startDialers(ctx context.Context, rec *record, address netip.AddrPort) *dialers {
	n := 1
	if !rec.spec.ClosedLoop() {
		n = min(int(rec.spec.Timeout/rec.spec.Interval)+2, len(rec.samples), maxDialers)
	}
	d := &dialers{due: make(chan int), done: make(chan struct{})}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := range d.due {
				d.dial(ctx, rec, &rec.samples[i], address.String())
				rec.outcome(i)
			}
		})
	}
	go func() {
		all.Wait()
		close(d.done)
	}()
	return d
}

// dial makes one connection. The clock starts where the socket exists and nothing has been sent.
func (d *dialers) dial(ctx context.Context, rec *record, s *sample, address string) {
	dialer := net.Dialer{
		Timeout:   rec.spec.Timeout,
		KeepAlive: -1, // a system call less inside the clock
		Control: func(_, _ string, _ syscall.RawConn) error {
			s.sent.Store(rec.since(socket.Now()))
			return nil
		},
	}
	dialer.SetMultipathTCP(false) // a SYN with MP_CAPABLE is another measurement
	conn, err := dialer.DialContext(ctx, "tcp", address)
	at := rec.since(socket.Now())
	if err != nil {
		s.notSent(err)
		d.mu.Lock()
		if d.firstError == "" {
			d.firstError = err.Error()
		}
		d.mu.Unlock()
		return
	}
	s.rtt = max(at-s.sent.Load(), 1)
	// The rest of the dial is this program's: waking up after the answer, more than anything.
	if kernel, ok := handshakeTime(conn.(*net.TCPConn)); ok {
		s.client = max(s.rtt-int64(kernel), 0)
	}
	_ = conn.Close() // nothing was written: there is nothing to lose
	if s.rtt > int64(rec.spec.Timeout) {
		s.rtt, s.late = notYet, true
	}
}
