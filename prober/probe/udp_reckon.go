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
// T3 is the target program's here; see byDepartures.
//
// T1 and T4 are the kernel's, which are good as long as no clock was set in between, this
// machine's or the target's. Otherwise, or where the kernel gave none for this sample, T4 − T1 is by
// this program's monotonic clock.
//
// Whether the reply is in time is by that clock alone: a target that holds requests for longer than
// the timeout has not answered, however quick the way was.
func (f *flight) reckon(i int, r stamp.Reply, now socket.Clocks) (first bool) {
	d, s := &f.departed[i], &f.rec.samples[i]
	user := max(now.Monotonic-d.clocks.Monotonic, 1)
	set := socket.Stepped(d.clocks, now)
	stamped := f.isStamped(i, user, set)
	whole, t1, t4 := user, d.clocks.Realtime, now.Realtime
	if stamped && !set {
		t1, t4 = f.left[i], f.packet.At
		whole = t4 - t1
	}
	_, t2, t3, timed := r.Times(now.Realtime)
	held := t3 - t2
	if timed && (held < 0 || held >= whole) { // cannot be: the target's clock was set meanwhile
		timed, set = false, true
	}
	if !timed { // or the target has no clock
		held = -1
	}
	if set {
		whole = user
	}
	rtt := max(whole-max(held, 0), 1)
	if first = f.rec.replied(i, rtt, user, time.Duration(held)); !first {
		return false
	}
	f.stamping.departed(f.left[i] != 0)
	if s.rtt == notYet {
		return true
	}
	f.slowest.Store(max(f.slowest.Load(), rtt))
	if timed && !set {
		s.forward, s.reverse = t2-t1, t4-t3
		if f.departures != nil {
			f.departures.first[i] = firstReply{number: r.Sequence, t3: t3}
		}
	}
	if stamped && !set {
		s.client = max(user-whole, 0)
	}
	f.stamping.count(i >= f.warm, stamped, set)
	return true
}

// byOneClock lets what the run says of its clock hold for all of it. Where it is by the kernel's,
// one-way delays by the other are left out: they would hold this program's waking up. Where it is by
// the user's, the samples that the kernel stamped are put back to that.
func (f *flight) byOneClock() {
	f.rec.columns.client = f.stamping.kernel > 0
	for i := range f.rec.samples {
		s := &f.rec.samples[i]
		switch {
		case s.rtt == notYet:
		case !f.stamping.byKernel():
			s.toUserClock()
			if s.client != notYet && s.forward != wire.Null {
				sending := f.left[i] - f.departed[i].clocks.Realtime
				s.forward, s.reverse = s.forward+sending, s.reverse+s.client-sending
			}
		case s.client == notYet:
			s.forward, s.reverse = wire.Null, wire.Null
		}
	}
}

// isStamped says whether the kernel stamped sample i and its reply, with stamps that can be theirs:
// what lies between them lies within what this program saw, unless the clock was set meanwhile. A
// departure that was told of with another packet's number is found out so.
func (f *flight) isStamped(i int, user int64, set bool) bool {
	if f.left[i] == 0 || f.packet.At == 0 {
		return false
	}
	whole := f.packet.At - f.left[i]
	return set || whole > 0 && whole <= user+int64(clockReading)
}

// clockReading covers that realtime and monotonic run differently fast, and the clocks' own
// resolution.
const clockReading = 100 * time.Microsecond

// tell writes what is known of the run's clocks into the result.
func (f *flight) tell(run *wire.Run) {
	f.stamping.tell(run)
	if f.estimate.Synchronized() {
		if bound, ok := f.estimate.BoundNS(); ok {
			run.TargetClockErrorNS = &bound
		}
	}
}
