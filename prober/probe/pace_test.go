package probe

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestSendsFollowTheScheduleAndNotEachOther(t *testing.T) {
	const interval, n, stalled, stall = 10 * time.Millisecond, 12, 3, 45 * time.Millisecond
	begin := time.Now().Add(5 * time.Millisecond)
	var at [n]time.Duration
	fired := NewPacer(1).pace(t.Context(), begin, interval, n, func(i int) bool {
		at[i] = time.Since(begin)
		if i == stalled {
			time.Sleep(stall)
		}
		return true
	})
	if fired != n {
		t.Fatalf("fired %d of %d", fired, n)
	}
	for i, a := range at {
		if due := time.Duration(i) * interval; a < due {
			t.Errorf("sample %d left %s before it was due", i, due-a)
		}
	}
	// After the stall (30 to 75 ms) the samples due within it leave at once, and the schedule
	// holds again: closed-loop pacing would put sample 11 no earlier than 75 + 80 ms.
	if late := at[n-1] - (n-1)*interval; late > 30*time.Millisecond {
		t.Errorf("the last sample left %s late: the schedule slid with the stall", late)
	}
	if gap := at[5] - at[4]; gap > interval/2 {
		t.Errorf("overdue samples 4 and 5 left %s apart, want at once", gap)
	}
}

func TestPacingStopsSoonWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begin := time.Now()
	fired := NewPacer(1).pace(ctx, begin, time.Minute, 3, func(int) bool {
		time.AfterFunc(20*time.Millisecond, cancel)
		return true
	})
	if took := time.Since(begin); fired != 1 || took > 10*time.Second {
		t.Errorf("fired %d within %s; want one, and an end long before the next is due in a minute", fired, took)
	}
	if fired := NewPacer(1).pace(ctx, begin, time.Millisecond, 3, func(int) bool { return true }); fired != 0 {
		t.Errorf("fired %d with a context that had ended", fired)
	}
}

func TestPacingStopsWhenSendingFails(t *testing.T) {
	if fired := NewPacer(1).pace(t.Context(), time.Now(), time.Millisecond, 9, func(i int) bool { return i < 4 }); fired != 4 {
		t.Errorf("fired %d, want 4: the fifth failed", fired)
	}
}

func TestNoMoreSendersSpinThanAllowed(t *testing.T) {
	p := NewPacer(0) // nobody may spin: the kernel wakes, and the due time is still kept
	begin := time.Now().Add(time.Millisecond)
	p.pace(t.Context(), begin, 2*time.Millisecond, 10, func(i int) bool {
		if early := time.Until(begin.Add(time.Duration(i) * 2 * time.Millisecond)); early > 0 {
			t.Errorf("sample %d left %s early", i, early)
		}
		return true
	})
	if n := p.spinning.Load(); n != 0 {
		t.Errorf("%d senders are still counted as spinning", n)
	}
}

func TestPacingAllocatesNothingPerSample(t *testing.T) {
	p := NewPacer(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	allocs := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			p.pace(ctx, time.Now(), time.Millisecond, n, func(int) bool { return true })
		})
	}
	few, many := allocs(5), allocs(105)
	if runtime.GOOS == "linux" && many > few+2 { // the rest of the program may allocate now and then
		t.Errorf("5 samples cost %v allocations, 105 cost %v: want no more", few, many)
	}
}

func TestARunThatIsLateKeepsItsPlaceInTheInterval(t *testing.T) {
	now := time.Now()
	const interval = 20 * time.Millisecond
	for _, c := range []struct {
		name     string
		first    time.Duration // of now
		expected time.Duration
	}{
		{"to come", 7 * time.Millisecond, 7 * time.Millisecond},
		{"now", 0, 0},
		{"3 ms ago", -3 * time.Millisecond, 17 * time.Millisecond},
		{"a whole interval ago", -interval, 0},
		{"65 ms ago", -65 * time.Millisecond, 15 * time.Millisecond},
	} {
		if got := firstDue(now, now.Add(c.first), interval).Sub(now); got != c.expected {
			t.Errorf("due %s: begins in %s, want %s", c.name, got, c.expected)
		}
	}
}

func TestCoarsePacingIsNeverEarlyAndStops(t *testing.T) {
	begin := time.Now().Add(time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	fired := paceCoarse(ctx, begin, 4*time.Millisecond, 9, func(i int) bool {
		if early := time.Until(begin.Add(time.Duration(i) * 4 * time.Millisecond)); early > 0 {
			t.Errorf("sample %d left %s early", i, early)
		}
		if i == 4 {
			cancel()
		}
		return true
	})
	if fired != 5 {
		t.Errorf("fired %d, want 5: the context ended with the fifth", fired)
	}
	if fired := paceCoarse(t.Context(), begin, time.Millisecond, 9, func(i int) bool { return i < 2 }); fired != 2 {
		t.Errorf("fired %d, want 2: the third failed", fired)
	}
}

func TestTurnsAreTakenWhenTheSampleBeforeIsSettledOrTimedOut(t *testing.T) {
	const timeout, lost = 300 * time.Millisecond, 2
	var settled atomic.Int64
	settled.Store(-1)
	looked := make(chan struct{}, 1)
	begin := time.Now()
	var at [5]time.Duration
	fired := takeTurns(t.Context(), begin, timeout, len(at), looked, func(i int) bool { return settled.Load() >= int64(i) }, func(i int) bool {
		if at[i] = time.Since(begin); i > 0 && i-1 != lost && settled.Load() != int64(i-1) {
			t.Errorf("sample %d left, and the one before is not settled", i)
		}
		looked <- struct{}{} // a duplicate of an earlier reply: it settles nothing
		if i != lost {
			time.AfterFunc(20*time.Millisecond, func() {
				settled.Store(int64(i))
				select {
				case looked <- struct{}{}:
				default:
				}
			})
		}
		return true
	})
	if gap := at[lost+1] - at[lost]; fired != len(at) || gap < timeout {
		t.Errorf("fired %d, the one after the lost one %s later; want %d, and its timeout of %s", fired, gap, len(at), timeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	fired = takeTurns(ctx, begin, time.Minute, 3, looked, func(int) bool { return false }, func(int) bool {
		cancel()
		return true
	})
	if fired != 1 {
		t.Errorf("fired %d, want 1: the context ended while the first was awaited", fired)
	}
}
