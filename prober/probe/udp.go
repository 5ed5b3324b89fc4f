package probe

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// A session is closed in at most this many attempts, within closingTime or three of the longest
// round trips.
const (
	closingAttempts = 5
	closingTime     = time.Second
)

// udp measures with STAMP (RFC 8762): in authenticated mode towards a prober's reflector, whose
// report at the end tells the directions apart; or without a key in unauthenticated mode, as any
// STAMP reflector speaks it.
//
// The kernel stamps what leaves and what comes, so it does not matter when this program is woken,
// and the sender never spins. As long as there are few runs, each has a thread to itself (see
// stampLane); beyond that a goroutine sends and another receives. The reply to a sample that was
// answered before is a duplicate, whichever way it was doubled on.
func (p *Prober) udp(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	link, err := dialStamp(ctx, req, address)
	if err != nil {
		return setupFailed(req, began, err)
	}
	defer link.conn.Close() // datagrams: there is nothing to lose
	if link.mode == stamp.Authenticated {
		if err := p.open(ctx, link, req); err != nil {
			return setupFailed(req, began, err)
		}
	}
	now, clocks := time.Now(), p.clocks()
	rec := newRecord(req, firstDue(now, req.First, req.Spec.Interval), columnSet{server: true, oneWay: true})
	f := newFlight(link, rec, p.clocks, clocks.Monotonic+int64(rec.begin.Sub(now)))
	var t traffic
	if p.threads.Take() {
		defer p.threads.Give()
		t = f.alone()
	}
	if t == nil {
		t = f.shared()
	}
	sent := t.sendUntilStopped(ctx, req.Deadline)
	f.sentAll(sent)
	drain(ctx, time.Now().Add(req.Spec.Timeout), req.Deadline, f.done)
	end := ending{at: time.Now()}
	stopped := ctx.Err() != nil && int(f.settled.Load()) < len(rec.samples)
	if stopped {
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	}
	var report stamp.Report
	closed := false
	if link.mode == stamp.Authenticated && (!stopped || int(f.settled.Load()) >= sent) {
		report, closed = f.close(ctx, req.Deadline)
	}
	t.end()
	return f.run(req, end, report, closed)
}

// traffic is a run's sending and receiving, which has begun.
type traffic interface {
	// sendUntilStopped sends the samples, by the schedule or each after the one before, and returns how
	// many it came to. It ends with ctx, also where it waits for room to send. Others may send
	// afterwards, until the deadline.
	sendUntilStopped(ctx context.Context, deadline time.Time) int
	// end ends receiving, and returns when it has ended. Nothing can be sent afterwards.
	end()
}

// shared is traffic by goroutines that the runtime's poller wakes.
type shared struct {
	*flight
	received chan struct{}
}

func (f *flight) shared() traffic {
	s := shared{flight: f, received: make(chan struct{})}
	_ = f.conn.SetReadDeadline(time.Time{})
	go func() {
		defer close(s.received)
		f.receive()
	}()
	return s
}

func (s shared) end() {
	_ = s.conn.SetReadDeadline(time.Unix(1, 0))
	<-s.received
}

// sendUntilStopped sends the samples, and returns how many it came to. A send that waits, because
// the socket's buffer is full, ends when ctx does. Afterwards packets may be sent until the deadline.
func (f *flight) sendUntilStopped(ctx context.Context, deadline time.Time) int {
	ended := make(chan struct{})
	unblock := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = f.conn.SetWriteDeadline(time.Unix(1, 0))
	})
	sent := f.sendAll(ctx)
	if !unblock() {
		<-ended
	}
	_ = f.conn.SetWriteDeadline(deadline)
	return sent
}

// sendAll sends the samples, by the schedule or each after the one before, and returns how many
// it came to.
func (f *flight) sendAll(ctx context.Context) int {
	spec, n := f.rec.spec, len(f.rec.samples)
	if !spec.ClosedLoop() {
		return paceCoarse(ctx, f.rec.begin, spec.Interval, n, f.send)
	}
	settled := func(i int) bool { return f.newest.Load() >= int64(i) }
	return takeTurns(ctx, f.rec.begin, spec.Timeout, n, f.looked, settled, f.send)
}

// close closes the session and returns the target's report on it. Whoever is being stopped does it
// in a hurry.
func (f *flight) close(ctx context.Context, deadline time.Time) (stamp.Report, bool) {
	f.closing.Store(true)
	until := earlier(deadline, time.Now().Add(max(closingTime, time.Duration(3*f.slowest.Load()))))
	stop := ctx.Done()
	for attempt := range uint32(closingAttempts) {
		if stop != nil && ctx.Err() != nil {
			stop, until = nil, earlier(until, time.Now().Add(closingTime/2))
		}
		wait := time.Until(until) / time.Duration(closingAttempts-attempt)
		if wait <= 0 {
			break
		}
		f.owner[f.d.Next()%numbered].Store(notYet)
		_ = f.ask(stamp.ClosingFrom + attempt) // the next may do better
		select {
		case report := <-f.reports:
			return report, true
		case <-time.After(wait):
		case <-stop:
		}
	}
	return stamp.Report{}, false
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// run is the result, once neither goroutine runs.
func (f *flight) run(req Request, end ending, report stamp.Report, closed bool) wire.Run {
	switch {
	case end.detail != "":
	case f.sendErr != nil:
		end.detail = fmt.Sprintf("sending a sample: %s", f.sendErr)
	case f.readErr != nil && f.answered.Load() == 0:
		end.detail = f.readErr.Error()
	}
	f.byDepartures()
	f.byOneClock()
	run := f.rec.run(req, end)
	f.tell(&run)
	switch {
	case end.cut != "" && f.settled.Load() < f.awaited.Load(): // some were in flight
	case closed:
		f.arrivals.reported(&run.Counts, report)
	case f.mode == stamp.Unauthenticated:
		f.arrivals.counted(&run.Counts)
	}
	return run
}
