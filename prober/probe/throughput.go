package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"isochrone/prober/transfer"
	"isochrone/prober/wire"
)

// How many streams a run has that does not say: enough for each to need no more window than kernels
// give by themselves, within bounds.
const (
	autoLeast       = 4
	autoMost        = 16
	autoWindowBytes = 2 << 20
	autoBPS         = 1e9 // the rate that is assumed where none is given
)

// autoStreams is the number of streams for the bandwidth-delay product of a path.
func autoStreams(rtt time.Duration, bps int64) int {
	rate := float64(bps)
	if bps == 0 {
		rate = autoBPS
	}
	needed := rate / 8 * rtt.Seconds() / autoWindowBytes
	return int(min(max(needed+0.999, autoLeast), autoMost))
}

// throughput measures bits/s over one or more connections. The receiver counts, by its own clock: the
// target what this end sends, this end what the target sends.
func (p *Prober) throughput(ctx context.Context, req Request, address netip.AddrPort) wire.Run {
	began := time.Now()
	link, err := p.openBulk(ctx, req, address)
	if err != nil {
		return setupFailed(req, began, err)
	}
	defer link.close()
	t := &throughput{req: req, link: link, bulk: req.Spec.Bulk, streams: req.Spec.Bulk.Streams, problems: make(chan error, 2*wire.MaxStreams), halted: make(chan struct{})}
	if t.streams == 0 {
		t.streams = autoStreams(link.rtt, t.bulk.RateBPS)
	}
	if err := t.connect(ctx); err != nil {
		return setupFailed(req, began, err)
	}
	if err := t.begin(ctx); err != nil {
		t.halt()
		return setupFailed(req, began, err)
	}
	err = t.conduct(ctx)
	t.halt()
	return t.run(err)
}

// throughput is this end of a run.
type throughput struct {
	req     Request
	link    *bulkLink
	bulk    wire.Bulk
	streams int

	up       []*transfer.Sender
	down     []*transfer.Receiver
	moving   sync.WaitGroup // senders and receivers
	problems chan error     // what ended them
	halted   chan struct{}  // closed when nobody conducts any more

	reports chan wire.ThroughputReport
	lost    chan error // why no report will come any more

	// Of the goroutine that conducts.
	began         time.Time
	meter         *transfer.Meter // of what comes down
	ups, downs    flow
	theirs        *wire.Sending // the target's newest
	counted       struct{ up, down bool }
	budgetReached bool // at the target
	idle          int  // connections down that have ended
}

func (t *throughput) sends() bool    { return t.bulk.Direction != wire.DirectionDown }
func (t *throughput) receives() bool { return t.bulk.Direction != wire.DirectionUp }

// connect opens the connections of both directions.
func (t *throughput) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.link.p.setup)
	defer cancel()
	if t.receives() {
		conns, err := t.link.connectAll(ctx, wire.RoleDown, t.streams)
		if err != nil {
			return err
		}
		for _, c := range conns {
			r, err := transfer.NewReceiver(c, t.link.budget)
			if err != nil {
				return err
			}
			t.down = append(t.down, r)
		}
	}
	if !t.sends() {
		return nil
	}
	conns, err := t.link.connectAll(ctx, wire.RoleUp, t.streams)
	if err != nil {
		return err
	}
	rate := transfer.NewRate(t.bulk.RateBPS, t.streams)
	for _, c := range conns {
		if err := transfer.SetCongestion(c, t.bulk.Congestion); err != nil {
			return fmt.Errorf("%w: %w", errUnsupported, err)
		}
		t.up = append(t.up, transfer.NewSender(c, t.req.Spec.RequestBytes, t.link.budget, rate))
	}
	return nil
}

// begin waits until the run is due, and starts both ends.
func (t *throughput) begin(ctx context.Context) error {
	select {
	case <-time.After(time.Until(t.req.First)):
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errStopped, ctx.Err())
	}
	if err := t.link.control.SetReadDeadline(time.Now().Add(min(t.link.p.setup, time.Until(t.req.Deadline)))); err != nil {
		return err
	}
	if err := t.link.send(wire.ThroughputOrder{}); err != nil {
		return fmt.Errorf("asking for the start: %w", err)
	}
	t.began = time.Now()
	// At once: the target counts from when it hears of the start, and payload is on its heels.
	for _, s := range t.up {
		t.moving.Go(func() { t.problems <- s.Run() })
	}
	var first wire.ThroughputReport
	if err := t.link.receive(&first); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errStopped, err)
		}
		return fmt.Errorf("waiting for the start: %w", err)
	}
	if first.Failure != "" {
		return told(first)
	}
	if err := t.link.rearm(); err != nil {
		return err
	}
	t.meter = transfer.NewMeter(time.Now(), t.bulk.Ramp, t.bulk.Duration)
	for _, r := range t.down {
		t.moving.Go(func() { t.problems <- r.Run() })
	}
	t.reports, t.lost = make(chan wire.ThroughputReport, 16), make(chan error, 1)
	t.moving.Go(t.listen)
	return nil
}

// told is the error that the target ended with.
func told(r wire.ThroughputReport) error {
	if r.Failure.Validate() != nil {
		return fmt.Errorf("%w: it ended with a failure that is none", errProtocol)
	}
	return &refused{wire.Accepted{Failure: r.Failure, Detail: wire.CutDetail(r.Detail)}}
}

// listen takes the target's reports until its last, or until there will be none. No more of them are
// taken than a run can have.
func (t *throughput) listen() {
	for range 2 * wire.MaxFlowIntervals {
		var r wire.ThroughputReport
		if err := t.link.receive(&r); err != nil {
			t.lost <- err
			return
		}
		select {
		case t.reports <- r:
		case <-t.halted: // nobody wants them any more
			return
		}
		if r.End {
			return
		}
	}
	t.lost <- fmt.Errorf("%w: its reports do not end", errProtocol)
}

// halt stops whatever moves.
func (t *throughput) halt() {
	close(t.halted)
	for _, s := range t.up {
		s.Stop()
	}
	t.link.interrupt()
	t.moving.Wait()
}

func conns(senders []*transfer.Sender) []*net.TCPConn {
	out := make([]*net.TCPConn, len(senders))
	for i, s := range senders {
		out[i] = s.Conn()
	}
	return out
}
