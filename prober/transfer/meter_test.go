package transfer

import (
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/wire"
)

// follow reads a meter when it is due, or late by what lateness says, of a receiver that takes a
// byte a microsecond.
func follow(m *Meter, begin time.Time, lateness func(i int) time.Duration) (readings []wire.Reading) {
	for i := 0; !m.Over(); i++ {
		time.Sleep(time.Until(m.Due()) + lateness(i))
		readings = append(readings, m.Read(time.Since(begin).Microseconds()))
	}
	return readings
}

func onTime(int) time.Duration { return 0 }

func sums(readings []wire.Reading) (ramp, counted wire.Reading) {
	for _, r := range readings {
		to := &counted
		if r.Ramp {
			to = &ramp
		}
		to.ForNS += r.ForNS
		to.Bytes += r.Bytes
	}
	return ramp, counted
}

func TestAMeterCountsARampAndThenItsDuration(t *testing.T) {
	for _, c := range []struct {
		ramp, during time.Duration
		readings     int
	}{
		{2 * time.Second, 10 * time.Second, 120}, {0, time.Second, 10}, {250 * time.Millisecond, time.Second, 13},
		{30 * time.Millisecond, 100 * time.Millisecond, 2}, {0, 100 * time.Millisecond, 1},
		{10 * time.Minute, 10 * time.Minute, 4979}, // less often than every 100 ms
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			readings := follow(NewMeter(begin, c.ramp, c.during), begin, onTime)
			ramp, counted := sums(readings)
			if ramp.ForNS != int64(c.ramp) || counted.ForNS != int64(c.during) || ramp.Bytes != c.ramp.Microseconds() || counted.Bytes != c.during.Microseconds() {
				t.Errorf("ramp %s, duration %s: %+v and %+v", c.ramp, c.during, ramp, counted)
			}
			if len(readings) > maxReadings+2 || len(readings) < c.readings-1 || len(readings) > c.readings+1 {
				t.Errorf("ramp %s, duration %s: %d readings, want about %d", c.ramp, c.during, len(readings), c.readings)
			}
			for i, at := 0, int64(0); i < len(readings); i++ {
				if r := readings[i]; r.AtNS != at || r.Validate() != nil {
					t.Fatalf("reading %d: %+v, want it to begin at %d", i, r, at)
				}
				at += readings[i].ForNS
			}
		})
	}
}

// However late its readings are, the rate that they tell is right.
func TestALateReadingMakesNoRateWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		late := func(i int) time.Duration {
			switch {
			case i == 3:
				return 5 * time.Second // past the end of the ramp
			case i%3 == 0:
				return 70 * time.Millisecond
			}
			return time.Millisecond
		}
		readings := follow(NewMeter(begin, time.Second, 2*time.Second), begin, late)
		ramp, counted := sums(readings)
		if counted.ForNS < int64(2*time.Second) || counted.ForNS > int64(2200*time.Millisecond) || counted.Bytes != counted.ForNS/1000 && counted.Bytes != counted.ForNS/1000+1 {
			t.Errorf("counted %+v", counted)
		}
		if ramp.ForNS < int64(5*time.Second) {
			t.Errorf("ramp %+v, want what came while nobody looked", ramp)
		}
	})
}

// The other end's count may go on for a while: until then this one is read as often as before.
func TestAMeterThatIsOverIsNotDueAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		m := NewMeter(begin, 0, time.Second)
		follow(m, begin, onTime)
		for i := range 20 {
			if left := time.Until(m.Due()); left < readEvery/2 || left > 2*readEvery {
				t.Fatalf("%d readings after its end the next is due in %s", i, left)
			}
			time.Sleep(time.Until(m.Due()))
			m.Read(time.Since(begin).Microseconds())
		}
	})
}
