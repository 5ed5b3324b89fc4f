package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
)

// result asks the target for its account, and makes the run's result of both sides'. Nobody sends any more.
func (s *outflow) result(ctx context.Context, before clockComparison) wire.Run {
	made := s.made()
	answer, bound, err := s.account(before, made)
	if err != nil {
		s.fail(fmt.Errorf("asking what came of the stream: %w", err))
		answer = wire.StreamAnswer{Taken: min(s.taken, int(s.sent.Load()))} // as far as it is known
	}
	bulk := &wire.BulkResult{BudgetReached: s.reached, Stream: s.streamResult(answer, bound, made)}
	bulk.Bytes = int64(answer.Taken) * int64(s.req.Spec.RequestBytes)
	counts := wire.Counts{Sent: int(s.sent.Load()), Received: answer.Taken}
	counts.Lost = max(counts.Sent-counts.Received, 0)
	failure, detail := wire.Failure(""), ""
	all := answer.Taken == s.req.Spec.Bulk.Messages
	switch err := s.failure(); {
	case ctx.Err() != nil && !all: // before the error: the connections end with it
		failure, detail = wire.FailureCanceled, "stopped before every message was taken"
	case err != nil:
		failure, detail = failureOf(err), fmt.Sprintf("the session broke after %d messages: %s", answer.Taken, err)
	case bulk.BudgetReached:
		failure, detail = wire.FailureBudget, "the byte budget does not hold another message"
	case answer.Taken == 0:
		failure, detail = wire.FailureTimeout, "no message was taken"
	}
	return summed(s.req, s.begin, failure, detail, counts, bulk)
}

// made is how many messages there were to be taken: those that joined the queue, and that the budget held.
func (s *outflow) made() int {
	if s.reached {
		return int(s.sent.Load())
	}
	return int(s.queued.Load())
}

// account compares the clocks again, and asks the target what came of the messages.
func (s *outflow) account(before clockComparison, made int) (wire.StreamAnswer, int64, error) {
	after, err := s.readClock(clockRounds)
	if err != nil {
		return wire.StreamAnswer{}, 0, err
	}
	drift := wire.Drift{FromNS: before.at, ToNS: after.at, MovedNS: after.offset - before.offset}
	if drift.Validate() != nil {
		return wire.StreamAnswer{}, 0, fmt.Errorf("%w: its clock moved by %s in %s", errProtocol, time.Duration(drift.MovedNS), time.Duration(after.at-before.at))
	}
	answer, err := s.ask(wire.StreamAsk{Ask: wire.StreamEnd, Made: made, Drift: drift})
	switch sent := int(s.sent.Load()); {
	case err != nil:
	case answer.Taken > sent:
		err = fmt.Errorf("%w: it took %d messages, and %d were sent", errProtocol, answer.Taken, sent)
	case answer.Taken > 0 && answer.Taking == nil:
		err = fmt.Errorf("%w: %w", errProtocol, errNoAccount)
	}
	return answer, max(before.bound, after.bound), err
}

var errNoAccount = errors.New("it took messages, and has no account of them")

// streamResult puts the source's and the target's side together. A rate is 0, and what follows from it too,
// where there was one message, or all came at once.
func (s *outflow) streamResult(a wire.StreamAnswer, bound int64, made int) *wire.StreamResult {
	out := &wire.StreamResult{
		Messages: a.Taken, SourceRate: perSecond(int(s.queued.Load())-s.lump, s.last.Sub(s.first)),
		Intervals: s.intervals(a, made),
	}
	t := a.Taking
	if t == nil {
		return out
	}
	out.ReceiverRate = perSecond(a.Taken-1, time.Duration(t.LastNS-t.FirstNS))
	out.DelayP50NS, out.DelayP99NS, out.DelayLastNS, out.DelayBoundNS = t.DelayP50NS, t.DelayP99NS, t.DelayLastNS, bound
	out.MaxBacklog = t.MaxBacklog
	for _, n := range out.Intervals.Backlog { // where nothing was taken any more, the target did not look
		out.MaxBacklog = max(out.MaxBacklog, int(n))
	}
	if out.SourceRate > 0 && out.ReceiverRate > 0 {
		// A queue that empties faster than it fills has nothing in it.
		out.PredictedLastNS = max(int64(1e9*(float64(a.Taken)/out.ReceiverRate-float64(a.Taken)/out.SourceRate)), 0)
	}
	return out
}

func perSecond(n int, in time.Duration) float64 {
	if n <= 0 || in <= 0 {
		return 0
	}
	return float64(n) / in.Seconds()
}

// intervals are those from the stream's beginning to the last in which anything was sent or taken.
func (s *outflow) intervals(a wire.StreamAnswer, made int) wire.Intervals {
	used := 0
	for i, n := range s.counts {
		if n > 0 {
			used = i + 1
		}
	}
	var received wire.Column
	if a.Taking != nil {
		received = a.Taking.Intervals
		used = max(used, len(received))
	}
	out := wire.Intervals{AtNS: make(wire.Column, used), ForNS: make(wire.Column, used), Sent: make(wire.Column, used)}
	if received != nil {
		out.Received, out.Backlog = make(wire.Column, used), make(wire.Column, used)
	}
	taken := int64(0)
	for i := range used {
		out.AtNS[i], out.ForNS[i] = int64(i)*int64(wire.StreamInterval), int64(wire.StreamInterval)
		if i < len(s.counts) {
			out.Sent[i] = s.counts[i]
		}
		if received == nil {
			continue
		}
		if i < len(received) {
			out.Received[i] = received[i]
			taken += received[i]
		}
		due := wire.MessagesDue(time.Duration(i+1)*wire.StreamInterval, s.req.Spec.Bulk.MessageRate, made)
		out.Backlog[i] = max(int64(due)-taken, 0)
	}
	return out
}
