package probe

import (
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
)

// flow gathers one direction's intervals.
type flow struct {
	intervals         wire.Intervals
	bytes, countedNS  int64
	rampBytes, rampNS int64
	atRamp, now       *wire.Sending // the sender, when the ramp was over, and at the latest
}

// add takes the next interval, at whose end the sender was in that state; nil where nobody knows.
func (f *flow) add(r wire.Reading, s *wire.Sending) error {
	if err := r.Validate(); err != nil {
		return err
	}
	v := &f.intervals
	switch n := len(v.AtNS); {
	case n >= wire.MaxFlowIntervals:
		return fmt.Errorf("more than %d intervals", wire.MaxFlowIntervals)
	case n > 0 && r.AtNS != v.AtNS[n-1]+v.ForNS[n-1]:
		return errors.New("an interval that does not follow the one before")
	case r.Ramp && f.countedNS > 0:
		return errors.New("a ramp after its end")
	}
	if r.Ramp {
		f.rampBytes += r.Bytes
		f.rampNS += r.ForNS
		f.atRamp = s
	} else {
		f.bytes += r.Bytes
		f.countedNS += r.ForNS
	}
	v.AtNS, v.ForNS, v.Bytes = append(v.AtNS, r.AtNS), append(v.ForNS, r.ForNS), append(v.Bytes, r.Bytes)
	at := wire.Sending{RTTNS: wire.Null, CongestionWindow: wire.Null, Retransmits: wire.Null, DeliveryRateBPS: wire.Null}
	if s != nil {
		at, f.now = *s, s
	}
	v.RTTNS, v.CongestionWindow = append(v.RTTNS, at.RTTNS), append(v.CongestionWindow, at.CongestionWindow)
	v.Retransmits, v.DeliveryRateBPS = append(v.Retransmits, at.Retransmits), append(v.DeliveryRateBPS, at.DeliveryRateBPS)
	return nil
}

// sampled takes the sender's last state.
func (f *flow) sampled(s *wire.Sending) {
	if s != nil {
		f.now = s
	}
}

// mostOf is the part from which on something holds for most of a run.
const mostOf = 0.5

// result is the flow of a run.
func (f *flow) result(d wire.Direction, streams int) wire.Flow {
	out := wire.Flow{
		Direction: d, Streams: streams, Bytes: f.bytes, CountedNS: f.countedNS, RampBytes: f.rampBytes, RampNS: f.rampNS, Intervals: f.intervals,
	}
	if f.countedNS > 0 {
		out.BPS = float64(f.bytes) * 8 / time.Duration(f.countedNS).Seconds()
	}
	if f.now == nil {
		for _, c := range []*wire.Column{&out.Intervals.RTTNS, &out.Intervals.CongestionWindow, &out.Intervals.Retransmits, &out.Intervals.DeliveryRateBPS} {
			*c = nil // nobody ever knew
		}
		return out
	}
	out.Retransmits, out.CongestionControl = &f.now.Retransmits, f.now.CongestionControl
	before := wire.Sending{}
	if f.atRamp != nil {
		before = *f.atRamp
	}
	if busy := f.now.BusyNS - before.BusyNS; busy > 0 {
		ratio := min(max(float64(f.now.LimitedNS-before.LimitedNS)/float64(busy), 0), 1)
		out.WindowLimitedRatio, out.WindowLimited = &ratio, ratio > mostOf
	}
	return out
}

// run is the result. What was counted before something went wrong is kept, and the detail says what did;
// but nothing of a target that breaks the protocol.
func (t *throughput) run(err error) wire.Run {
	out := result(t.req, "", "")
	start := t.began.Round(0).UTC()
	end := start.Add(time.Since(t.began))
	out.Start, out.End = &start, &end
	b := &wire.BulkResult{Bytes: t.received(), BudgetReached: t.budgetReached || t.link.budget.Reached()}
	for _, s := range t.up {
		b.Bytes += s.Left()
	}
	if t.sends() {
		b.Flows = append(b.Flows, t.ups.result(wire.DirectionUp, t.streams))
	}
	if t.receives() {
		b.Flows = append(b.Flows, t.downs.result(wire.DirectionDown, t.streams))
	}
	arrived := t.ups.bytes + t.ups.rampBytes + t.downs.bytes + t.downs.rampBytes
	counted := t.ups.countedNS + t.downs.countedNS
	switch {
	case err == nil && arrived == 0:
		err = fmt.Errorf("nothing arrived: %w", errDeadline)
	case err == nil && counted == 0 && b.BudgetReached:
		out.Detail = "the byte budget was used up within the ramp, so nothing was counted: give it more, or a shorter ramp"
	}
	if err != nil {
		out.Detail = wire.CutDetail(err.Error())
	}
	if err != nil && (counted == 0 || arrived == 0 || errors.Is(err, errProtocol)) {
		out.Failure = failureOf(err)
		return out
	}
	out.Bulk = b
	return out
}
