package socket

import (
	"testing"
	"time"
)

func TestTheClockIsFinerThanTheTimerInterrupt(t *testing.T) {
	begun, last, seen := time.Now(), Now(), 0
	for time.Since(begun) < 200*time.Millisecond {
		now := Now()
		if d := now.Sub(last); d < 0 {
			t.Fatalf("the clock went back by %s", -d)
		} else if d > 0 {
			seen++
		}
		last = now
	}
	if seen < 2000 { // 400 at the finest interrupt
		t.Errorf("%d different times in 200 ms", seen)
	}
	if d := Now().Sub(time.Now()); d < -time.Millisecond || d > 100*time.Millisecond {
		t.Errorf("the clock is %s ahead of time.Now", d)
	}
	if n := testing.AllocsPerRun(1000, func() { Now() }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}
