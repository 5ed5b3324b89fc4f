package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"isochrone/prober/transfer"
	"isochrone/prober/wire"
)

// control conducts the session: see wire.ThroughputOrder.
func (t *throughput) control(ctx context.Context, c *bulkConn) error {
	var order wire.ThroughputOrder
	if err := c.receive(&order); err != nil || order.Stop {
		return endBefore("the start", err)
	}
	spec := t.session.spec
	// On this connection first: it is where the source can still be told.
	if err := transfer.SetCongestion(c.TCPConn, spec.Bulk.Congestion); err != nil && spec.Bulk.Direction != wire.DirectionUp {
		return c.send(wire.ThroughputReport{End: true, Failure: wire.FailureUnsupported, Detail: wire.CutDetail("at the target: " + err.Error())})
	}
	t.rate = transfer.NewRate(spec.Bulk.RateBPS, t.session.count(wire.RoleDown))
	if err := c.send(wire.ThroughputReport{}); err != nil {
		return fmt.Errorf("telling the start: %w", err)
	}
	meter := transfer.NewMeter(time.Now(), spec.Bulk.Ramp, spec.Bulk.Duration)
	close(t.started)
	stopped := make(chan error, 1)
	go func() { // ends with the connection at the latest
		var order wire.ThroughputOrder
		err := c.receive(&order)
		if err == nil && !order.Stop {
			err = errors.New("the source asked for a second start")
		}
		stopped <- err
	}()
	err := t.report(ctx, c, meter, stopped)
	t.stop()
	if err != nil {
		return err
	}
	return c.send(wire.ThroughputReport{Sending: t.sending(), BudgetReached: t.session.budget.Reached(), End: true})
}

func endBefore(what string, err error) error {
	if err == nil || errors.Is(err, io.EOF) { // the source has gone, as it may
		return nil
	}
	return fmt.Errorf("waiting for %s: %w", what, err)
}

// report tells the source what arrives until that asks for the stop.
func (t *throughput) report(ctx context.Context, c *bulkConn, meter *transfer.Meter, stopped <-chan error) error {
	counts := t.session.spec.Bulk.Direction != wire.DirectionDown
	timer := time.NewTimer(time.Until(meter.Due()))
	defer timer.Stop()
	for {
		over := false
		select {
		case <-timer.C:
		case <-t.reached:
			over = true
		case err := <-stopped:
			if err != nil {
				return endBefore("the stop", err)
			}
			if counts && !meter.Over() { // the source has reached its budget
				return t.tell(c, meter, counts, true)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := t.tell(c, meter, counts, over); err != nil {
			return err
		}
		counts = counts && !over && !meter.Over()
		timer.Reset(time.Until(meter.Due()))
	}
}

// tell sends one report.
func (t *throughput) tell(c *bulkConn, meter *transfer.Meter, counts, over bool) error {
	r := wire.ThroughputReport{Sending: t.sending(), BudgetReached: t.session.budget.Reached()}
	reading := meter.Read(t.received())
	if counts {
		r.Reading, r.Counted = &reading, over || meter.Over()
	}
	if err := c.send(r); err != nil {
		return fmt.Errorf("reporting: %w", err)
	}
	return nil
}
