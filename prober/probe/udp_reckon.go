package probe

import (
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// reckon records the reply to sample i, which is in f.packet and was read at now. In STAMP's words
// the sample left at T1, the target had it from T2 to T3, and the reply came at T4:
//
//	round trip = (T4 − T1) − (T3 − T2)    forward = T2 − T1    reverse = T4 − T3
//
// T1 and T4 are the kernel's, which are good as long as the clock was not set in between.
// Otherwise, or where the kernel gave none for this sample, T4 − T1 is by this program's monotonic
// clock, and the sample is counted as set aside.
func (f *flight) reckon(i int, r stamp.Reply, now socket.Clocks) (first bool) {
	d, s := &f.departed[i], &f.rec.samples[i]
	user := max(now.Monotonic-d.clocks.Monotonic, 1)
	stepped := socket.Stepped(d.clocks, now)
	whole, t1, t4 := user, d.clocks.Realtime, now.Realtime
	kernel := f.kernelHas(i, user) && !stepped
	if kernel {
		t1, t4 = f.left[i], f.packet.At
		whole = max(t4-t1, 1)
	}
	_, t2, t3, ok := r.Times(now.Realtime)
	held := t3 - t2
	if !ok || held < 0 || held > user { // cannot be: its clock was set meanwhile, or it has none
		held = -1
	}
	rtt := max(whole-max(held, 0), 1)
	f.slowest.Store(max(f.slowest.Load(), rtt))
	if first = f.rec.replied(i, rtt, time.Duration(held)); !first || s.rtt == notYet {
		return first
	}
	if kernel {
		s.client = max(user-whole, 0)
	}
	if ok && !stepped {
		s.forward, s.reverse = t2-t1, t4-t3
	}
	if i >= f.warm {
		if kernel {
			f.stamped++
		} else {
			f.aside++
		}
	}
	return first
}

// kernelHas says whether the kernel stamped sample i and its reply, with stamps that can be theirs:
// what lies between them lies within what this program saw. A departure that was told of with
// another packet's number is found out so.
func (f *flight) kernelHas(i int, user int64) bool {
	if f.left[i] == 0 || f.packet.At == 0 {
		return false
	}
	whole := f.packet.At - f.left[i]
	return whole > 0 && whole <= user+int64(clockReading)
}

// clockReading covers that realtime and monotonic run differently fast, and the clocks' own
// resolution.
const clockReading = 100 * time.Microsecond

// tell writes what is known of the run's clocks into the result.
func (f *flight) tell(run *wire.Run) {
	if run.Timestamps = wire.TimestampsUser; f.stamped > 0 {
		run.Timestamps = wire.TimestampsKernel
		aside := f.aside
		run.ClockSteps = &aside
	}
	if f.estimate.Synchronized() {
		if bound, ok := f.estimate.BoundNS(); ok {
			run.TargetClockErrorNS = &bound
		}
	}
}
