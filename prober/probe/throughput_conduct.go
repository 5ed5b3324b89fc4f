package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"isochrone/prober/transfer"
	"isochrone/prober/wire"
)

// conduct takes what both ends count until both have counted all, and ends the session. An error says
// why it ended before that.
func (t *throughput) conduct(ctx context.Context) error {
	timeout := t.req.Spec.Timeout
	limit := time.NewTimer(t.bulk.Ramp + t.bulk.Duration + timeout)
	defer limit.Stop()
	quiet := time.NewTimer(timeout)
	defer quiet.Stop()
	tick := time.NewTimer(time.Until(t.meter.Due()))
	defer tick.Stop()
	t.counted.up, t.counted.down = !t.sends(), !t.receives()
	for !t.counted.up || !t.counted.down {
		var err error
		select {
		case r := <-t.reports:
			quiet.Reset(timeout)
			err = t.take(r)
		case <-tick.C:
			t.read(false)
			tick.Reset(time.Until(t.meter.Due()))
			t.progress()
		case cause := <-t.problems:
			if err = t.settle(cause); err == nil && t.bothOver() {
				return t.finish(ctx)
			}
		case err = <-t.lost:
			err = fmt.Errorf("the session broke: %w", t.rest(err))
		case <-quiet.C:
			err = fmt.Errorf("no word from the target for %s: %w", timeout, os.ErrDeadlineExceeded)
		case <-limit.C:
			err = fmt.Errorf("the target did not end its count: %w", os.ErrDeadlineExceeded)
		case <-ctx.Done():
			err = errEnded
		}
		if err != nil {
			if ctx.Err() != nil {
				err = errEnded
			}
			return err
		}
	}
	return t.finish(ctx)
}

// bothOver says whether a run in both directions ends because the budget of this end is used up.
// In one direction the receiver's is what counts.
func (t *throughput) bothOver() bool {
	return t.sends() && t.receives() && t.link.budget.Reached()
}

// rest takes the reports that came before the session broke.
func (t *throughput) rest(cause error) error {
	for len(t.reports) > 0 {
		if err := t.take(<-t.reports); err != nil {
			return err
		}
	}
	return cause
}

// finish stops what is sent and tells the target, which tells the last. When both have counted all, it
// is no fault that it does not.
func (t *throughput) finish(ctx context.Context) error {
	t.read(true)
	whole := t.counted.up
	t.ups.sampled(transfer.Sending(conns(t.up)))
	for _, s := range t.up {
		s.Stop()
	}
	err := t.link.send(wire.ThroughputOrder{Stop: true})
	patience := time.NewTimer(t.req.Spec.Timeout)
	defer patience.Stop()
	for ended := false; err == nil && !ended; {
		select {
		case r := <-t.reports:
			ended = r.End
			r.End = false
			err = t.take(r)
		case err = <-t.lost:
			err = t.rest(err)
		case <-patience.C:
			err = os.ErrDeadlineExceeded
		case <-ctx.Done():
			err = errEnded
		}
	}
	t.downs.sampled(t.theirs)
	if whole {
		return nil
	}
	if err != nil {
		return fmt.Errorf("waiting for the target's count: %w", err)
	}
	return nil
}

// received is what all streams have brought.
func (t *throughput) received() (total int64) {
	for _, r := range t.down {
		total += r.Total()
	}
	return total
}

// settle takes the end of a sender or receiver in.
func (t *throughput) settle(cause error) error {
	switch {
	case cause == nil || errors.Is(cause, transfer.ErrBudget) && !t.receives():
		return nil // the target ends the count when it has received all
	case errors.Is(cause, transfer.ErrBudget):
		t.read(true)
		return nil
	case errors.Is(cause, io.EOF):
		if t.idle++; t.idle == len(t.down) { // the target's budget is used up
			t.read(true)
		}
		return nil
	}
	return fmt.Errorf("the session broke: %w", cause)
}

// read reads the count of what comes down, for the last time when it is over.
func (t *throughput) read(over bool) {
	reading := t.meter.Read(t.received())
	if t.counted.down {
		return
	}
	_ = t.downs.add(reading, t.theirs) // it is in order: it is ours
	t.counted.down = over || t.meter.Over()
}

// take takes a report in.
func (t *throughput) take(r wire.ThroughputReport) error {
	switch {
	case r.Failure != "":
		return told(r)
	case r.End:
		return fmt.Errorf("%w: it ended early", errProtocol)
	case r.Reading != nil && t.counted.up:
		return fmt.Errorf("%w: it counts what it is not to count", errProtocol)
	}
	if r.Sending != nil {
		t.theirs = sane(r.Sending)
	}
	t.budgetReached = t.budgetReached || r.BudgetReached
	if r.Reading != nil {
		if n, sent := r.Reading.Bytes, t.sentAtMost(); n > sent-t.ups.bytes-t.ups.rampBytes {
			return fmt.Errorf("%w: it counts %d bytes more, of at most %d that were sent", errProtocol, n, sent)
		}
		if err := t.ups.add(*r.Reading, transfer.Sending(conns(t.up))); err != nil {
			return fmt.Errorf("%w: %w", errProtocol, err)
		}
	}
	if whole := int64(t.bulk.Duration); r.Counted && !t.counted.up && t.ups.countedNS < whole && !r.BudgetReached && !t.link.budget.Reached() {
		return fmt.Errorf("%w: it ended its count after %s of %s", errProtocol, time.Duration(t.ups.countedNS), t.bulk.Duration)
	}
	t.counted.up = t.counted.up || r.Counted
	return nil
}

// sentAtMost is what the target can have received by now: what the senders have taken from the budget,
// which they do before they write.
func (t *throughput) sentAtMost() int64 {
	received := t.received()
	return t.link.budget.Used() - received // in this order: what comes meanwhile is not taken for sent less
}

// sane is what a target says of its kernel, as far as that can be.
func sane(s *wire.Sending) *wire.Sending {
	for _, n := range []int64{s.RTTNS, s.CongestionWindow, s.Retransmits, s.DeliveryRateBPS, s.BusyNS, s.LimitedNS} {
		if n < 0 {
			return nil
		}
	}
	if len(s.CongestionControl) > 16 {
		s.CongestionControl = ""
	}
	return s
}

// progress tells who watches how far it is.
func (t *throughput) progress() {
	if t.req.Progress == nil {
		return
	}
	t.req.Progress(Progress{
		Elapsed: time.Since(t.began), Of: t.bulk.Ramp + t.bulk.Duration,
		UpBytes: t.ups.bytes + t.ups.rampBytes, DownBytes: t.downs.bytes + t.downs.rampBytes,
	})
}
