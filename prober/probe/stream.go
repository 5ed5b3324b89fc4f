package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
)

// stream sends messages at a rate, whether or not the target keeps up. A message joins the source's queue when
// it is due, by a fixed schedule; one thread of control joins them, another writes them to the one
// connection, a batch at a time. When the connection takes no more, the queue grows: it is two
// numbers, as a message is made when it is written. A delay is from when a message was due to when the
// target took it; the target counts it, by the source's clock as the round trips of the control
// connection before and after the stream tell it.
func (p *Prober) stream(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	// A run that is stopped still asks the target what came of it, so the session lives a little longer.
	session, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	opening := context.AfterFunc(ctx, cut)
	link, err := p.openBulk(session, req, address)
	var conn *net.TCPConn
	if err == nil {
		defer link.close()
		conn, err = link.connect(session, wire.RoleUp, 0)
	}
	if err != nil {
		return setupFailed(req, began, err)
	}
	s := newOutflow(req, link, conn)
	before, err := s.readClock(clockRounds)
	if err != nil {
		return setupFailed(req, began, err)
	}
	if !opening() { // ctx has ended
		return setupFailed(req, began, fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)))
	}
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainGrace, cut) })()
	if err := s.announce(before); err != nil {
		return setupFailed(req, began, err)
	}
	// Before the deadline, which is also the connections', the target is asked what came of it.
	running, end := context.WithDeadline(ctx, req.Deadline.Add(-drainGrace))
	defer end()
	s.run(running)
	return s.result(running, before)
}

const (
	// startAhead is how long after its announcement a stream begins: the announcement is on its way.
	startAhead = 20 * time.Millisecond
	// clockRounds is how many round trips the clocks are compared by, clockTime how long that may take
	// once there were a few.
	clockRounds = 16
	clockTime   = time.Second
)

// clockComparison is the target's clock compared with this one's.
type clockComparison struct {
	at     int64 // by the target's clock
	offset int64 // the target's less this one's, nanoseconds
	bound  int64 // of the offset's error: half the round trip
}

// readClock compares the clocks by the quickest of some round trips.
func (s *outflow) readClock(rounds int) (best clockComparison, err error) {
	began := time.Now()
	for i := range rounds {
		if i >= 3 && time.Since(began) > clockTime {
			break
		}
		asked := socket.Monotonic(socket.Now())
		answer, err := s.ask(wire.StreamAsk{Ask: wire.StreamClock})
		if err != nil {
			return best, err
		}
		heard := socket.Monotonic(socket.Now())
		bound := (heard - asked + 1) / 2
		if i == 0 || bound < best.bound {
			best = clockComparison{at: answer.NowNS, offset: answer.NowNS - (asked+heard)/2, bound: bound}
		}
	}
	return best, nil
}

// ask asks the target something on the control connection.
func (s *outflow) ask(q wire.StreamAsk) (a wire.StreamAnswer, err error) {
	if err := s.link.send(q); err != nil {
		return a, err
	}
	if err := s.link.receive(&a); err != nil {
		return a, err
	}
	if err := a.Validate(s.req.Spec.Bulk.Messages); err != nil {
		return a, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if begun := s.link.budget.Used() / int64(s.req.Spec.RequestBytes); int64(a.Taken) > begun {
		return a, fmt.Errorf("%w: it took %d messages, and %d were sent", errProtocol, a.Taken, begun)
	}
	return a, nil
}

// announce fixes when the first message is due, and says so to the target.
func (s *outflow) announce(clock clockComparison) error {
	s.begin = firstDue(time.Now(), s.req.First, startAhead)
	if soon := time.Now().Add(startAhead + time.Duration(2*clock.bound)); s.begin.Before(soon) {
		s.begin = soon
	}
	_, err := s.ask(wire.StreamAsk{Ask: wire.StreamBegin, BeginNS: socket.Monotonic(s.begin) + clock.offset})
	return err
}

// run sends the messages, and waits until the target has taken them.
func (s *outflow) run(ctx context.Context) {
	sending, stop := context.WithCancel(ctx)
	defer stop()
	// A write that blocks, because the target does not read, ends when the run does.
	defer context.AfterFunc(sending, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })()
	queued, written := make(chan struct{}), make(chan struct{})
	go func() { defer close(queued); s.queueAll(sending) }()
	go func() { defer close(written); defer stop(); s.writeAll(sending, queued) }()
	s.watch(ctx, written)
	stop()
	<-queued
	<-written
}

// watch asks the target how far it is, until it has taken all that was written, or takes no more.
func (s *outflow) watch(ctx context.Context, written <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	patience := s.patience()
	progressed := time.Now()
	for done := false; ; {
		select {
		case <-ticker.C:
		case <-written:
			done, written = true, nil // once: from now on the ticker alone
		case <-ctx.Done():
			return
		}
		answer, err := s.ask(wire.StreamAsk{Ask: wire.StreamCount})
		if err != nil {
			s.fail(fmt.Errorf("asking how many messages were taken: %w", err))
			return
		}
		if answer.Taken > s.taken {
			s.taken, progressed = answer.Taken, time.Now()
		}
		s.tell()
		sent := int(s.sent.Load())
		switch {
		case done && (s.taken >= sent || s.failure() != nil):
			return
		case s.taken < sent && time.Since(progressed) > patience:
			s.fail(fmt.Errorf("the target took no message for %s: %w", patience, errDeadline))
			return
		case s.taken >= sent: // nothing to take: that is no standstill
			progressed = time.Now()
		}
	}
}

// patience is how long the target may take nothing of what was sent.
func (s *outflow) patience() time.Duration {
	patience := s.req.Spec.Timeout
	if rate := s.req.Spec.Bulk.SinkRate; rate > 0 {
		patience += time.Second / time.Duration(rate)
	}
	return patience + 2*progressEvery
}

func (s *outflow) tell() {
	if s.req.Progress == nil {
		return
	}
	b, elapsed := s.req.Spec.Bulk, max(time.Since(s.begin), 0)
	rate := b.MessageRate
	if b.SinkRate > 0 {
		rate = min(rate, b.SinkRate)
	}
	s.req.Progress(Progress{
		Elapsed: elapsed, Of: wire.MessageDue(b.Messages, rate), Requests: s.taken,
		UpBytes: int64(s.taken) * int64(s.req.Spec.RequestBytes),
		Backlog: max(min(wire.MessagesDue(elapsed, b.MessageRate, b.Messages), int(s.queued.Load()))-s.taken, 0),
	})
}
