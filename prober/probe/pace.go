package probe

import (
	"context"
	"sync/atomic"
	"time"

	"isochrone/prober/socket"
)

// How a sender gets to its due time, as measured on two cores, Linux 6.18: a Go timer is up to 2 ms late, a
// thread in nanosleep 70 to 190 µs, a spinning one to the microsecond. So each covers the last
// stretch of the one before.
const (
	timerSlack = 3 * time.Millisecond
	spinSlack  = 150 * time.Microsecond
)

// pacingTolerance is how late a sample may leave before it counts as a pacing violation.
const pacingTolerance = time.Millisecond

// Pacer wakes senders at their due times. All runs of a program share one, so that only a
// bounded number of them spins at a time: more would take from each other, and from the
// receivers, the processors that the spinning is meant to secure.
type Pacer struct {
	spinning atomic.Int32
	limit    int32
}

// NewPacer makes a pacer that lets limit senders spin at a time; the others are woken by the
// kernel, some 100 µs late. One processor fewer than there are is a good limit.
func NewPacer(limit int) *Pacer { return &Pacer{limit: int32(limit)} }

// maySpin takes one of the places of those who spin; whoever got it calls spun when it is done.
func (p *Pacer) maySpin() bool {
	if p.spinning.Add(1) <= p.limit {
		return true
	}
	p.spinning.Add(-1)
	return false
}

func (p *Pacer) spun() { p.spinning.Add(-1) }

// wait returns when due has come, or false, within a few milliseconds, when ctx has ended.
// timer is the caller's, reused so that nothing is allocated.
func (p *Pacer) wait(ctx context.Context, timer *time.Timer, due time.Time) bool {
	if !approach(ctx, timer, due) {
		return false
	}
	if d := time.Until(due); d > spinSlack {
		doze(d - spinSlack)
	}
	if !p.maySpin() {
		waitCoarse(due)
		return true
	}
	for socket.Now().Before(due) { // never yields: that is the point
	}
	p.spun()
	return true
}

// waitCoarse leaves the last stretch to the kernel, too.
func waitCoarse(due time.Time) {
	for d := time.Until(due); d > 0; d = time.Until(due) { // again, where a signal ended it
		doze(d)
	}
}

// approach returns timerSlack before due, or false when ctx has ended.
func approach(ctx context.Context, timer *time.Timer, due time.Time) bool {
	if d := time.Until(due); d > timerSlack {
		timer.Reset(d - timerSlack)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	} else if ctx.Err() != nil {
		return false
	}
	return true
}

// pace calls fire for each of n samples when it is due, begin + i × interval. It goes by the
// schedule and never by the answers: a sample that is overdue leaves at once, and the ones after
// it keep their own times. It returns how many were fired, all of them unless ctx ended or fire
// returned false.
func (p *Pacer) pace(ctx context.Context, begin time.Time, interval time.Duration, n int, fire func(i int) bool) int {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := range n {
		if !p.wait(ctx, timer, begin.Add(time.Duration(i)*interval)) || !fire(i) {
			return i
		}
	}
	return n
}

// paceCoarse is pace for kinds whose packets the kernel stamps as they leave: the round trip does
// not depend on when the sender woke up, so it never spins.
func paceCoarse(ctx context.Context, begin time.Time, interval time.Duration, n int, fire func(i int) bool) int {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := range n {
		due := begin.Add(time.Duration(i) * interval)
		if !approach(ctx, timer, due) {
			return i
		}
		if waitCoarse(due); !fire(i) {
			return i
		}
	}
	return n
}

// takeTurns is pace for a closed loop: sample 0 leaves at begin, each other one as soon as the one
// before is settled, or its timeout is over. After every reply the receiver, whichever goroutine
// that is, puts something into looked, which holds one and is never waited for; settled must be
// safe to call then.
func takeTurns(ctx context.Context, begin time.Time, timeout time.Duration, n int, looked <-chan struct{}, settled, fire func(i int) bool) int {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	if !approach(ctx, timer, begin) {
		return 0
	}
	waitCoarse(begin)
	for i := range n {
		if ctx.Err() != nil || !fire(i) {
			return i
		}
		timer.Reset(timeout)
		for waiting := true; waiting && !settled(i); {
			select {
			case <-looked:
			case <-timer.C:
				waiting = false
			case <-ctx.Done():
				return i + 1
			}
		}
	}
	return n
}

// firstDue is when a run that is ready now begins: at first, or the least whole number of
// intervals after it that is still to come. The result has a monotonic reading.
func firstDue(now, first time.Time, interval time.Duration) time.Time {
	if d := first.Sub(now); d >= 0 {
		return now.Add(d)
	}
	if interval == 0 { // a closed loop has no schedule to keep
		return now
	}
	late := now.Sub(first)
	return now.Add((interval - late%interval) % interval)
}
