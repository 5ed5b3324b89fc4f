package probe

import (
	"context"
	"sync/atomic"
	"time"
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

// wait returns when due has come, or false, within a few milliseconds, when ctx has ended.
// timer is the caller's, reused so that nothing is allocated.
func (p *Pacer) wait(ctx context.Context, timer *time.Timer, due time.Time) bool {
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
	if d := time.Until(due); d > spinSlack {
		doze(d - spinSlack)
	}
	if p.spinning.Add(1) <= p.limit {
		for time.Now().Before(due) { // never yields: that is the point
		}
		p.spinning.Add(-1)
		return true
	}
	p.spinning.Add(-1)
	if d := time.Until(due); d > 0 {
		doze(d)
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

// firstDue is when a run that is ready now begins: at first, or the least whole number of
// intervals after it that is still to come. The result has a monotonic reading.
func firstDue(now, first time.Time, interval time.Duration) time.Time {
	if d := first.Sub(now); d >= 0 {
		return now.Add(d)
	}
	late := now.Sub(first)
	return now.Add((interval - late%interval) % interval)
}
