package probe

import (
	"context"
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
// and the sender never spins. The reply to a sample that was answered before is a duplicate,
// whichever way it was doubled on.
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
	_ = link.conn.SetReadDeadline(time.Time{})
	received := make(chan struct{})
	go func() {
		defer close(received)
		f.receive()
	}()
	sent := f.sendAll(ctx)
	f.sentAll(sent)
	drain(ctx, time.Now().Add(req.Spec.Timeout), req.Deadline, f.done)
	end := ending{at: time.Now()}
	stopped := ctx.Err() != nil && int(f.answered.Load()) < len(rec.samples)
	if stopped {
		end.cut, end.detail = wire.FailureCanceled, "stopped before every sample was sent and answered"
	}
	var report stamp.Report
	closed := false
	if link.mode == stamp.Authenticated && (!stopped || int(f.answered.Load()) >= sent) {
		report, closed = f.close(ctx, req.Deadline)
	}
	_ = link.conn.SetReadDeadline(time.Unix(1, 0))
	<-received
	return f.run(req, end, report, closed)
}

// sendAll sends the samples, by the schedule or each after the one before, and returns how many.
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
	within := max(closingTime, time.Duration(3*f.slowest.Load()))
	if ctx.Err() != nil {
		within = closingTime / 2
	}
	for attempt := range uint32(closingAttempts) {
		wait := min(within/closingAttempts, time.Until(deadline))
		if wait <= 0 {
			break
		}
		f.owner[f.d.Next()%numbered].Store(notYet)
		_ = f.ask(closingFrom + attempt) // the next may do better
		select {
		case report := <-f.reports:
			return report, true
		case <-time.After(wait):
		}
	}
	return stamp.Report{}, false
}

// run is the result, once neither goroutine runs.
func (f *flight) run(req Request, end ending, report stamp.Report, closed bool) wire.Run {
	f.rec.columns.client = f.stamped > 0
	if end.detail == "" && f.readErr != nil && f.answered.Load() == 0 {
		end.detail = f.readErr.Error()
	}
	run := f.rec.run(req, end)
	f.tell(&run)
	switch {
	case end.cut != "" && int(f.answered.Load()) < run.Counts.Sent+run.Counts.Warmup: // some were in flight
	case closed:
		f.arrivals.reported(&run.Counts, report)
	case f.mode == stamp.Unauthenticated:
		f.arrivals.counted(&run.Counts)
	}
	return run
}
