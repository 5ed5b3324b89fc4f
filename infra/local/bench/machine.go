package main

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// What a thread that has just been woken loses to the machine itself: interrupts, and on a virtual
// one the hypervisor. No program can measure better than that.
const (
	wakes      = 1000 // a round
	wakesEvery = 20 * time.Millisecond
	watchFor   = 50 * time.Microsecond // after each: about what a packet takes from one stamp to the other
)

// machine measures the longest time that a spinning thread was kept from running, within watchFor
// of being woken.
func (b *bench) machine(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // only lateness would differ
	var p50, p99 []float64
	for i := range b.rounds {
		var gaps []float64
		for range wakes {
			if err := ctx.Err(); err != nil {
				return err
			}
			ts := unix.NsecToTimespec(int64(wakesEvery))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // a signal ends it early: no harm
			gaps = append(gaps, longestGap())
		}
		p50, p99 = append(p50, quantile(gaps, 0.5)), append(p99, quantile(gaps, 0.99))
		b.say("round %d: %d wakes: longest gap in the first %s: p50 %.1f µs, p99 %.1f µs", i+1, wakes, watchFor, p50[i], p99[i])
	}
	b.figure("machine_gap_after_wake_p50", median(p50), "us", nil)
	b.figure("machine_gap_after_wake_p99", median(p99), "us", nil)
	return nil
}

// longestGap is between two readings of the clock, in µs.
func longestGap() float64 {
	begin := time.Now()
	longest := time.Duration(0)
	for last := begin; last.Sub(begin) < watchFor; {
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
	}
	return float64(longest) / 1000
}
