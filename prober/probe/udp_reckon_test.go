package probe

import (
	"syscall"
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// course is how a sample went, in time since it left by this program's clock. Where the kernel left
// no stamp it is 0.
type course struct {
	left, received, held, arrived, user time.Duration
	moved                               time.Duration // of this machine's wall clock
}

// fly lets sample i go so.
func (f *flight) fly(i int, c course) {
	from := f.departed[i].clocks
	at := func(d time.Duration) int64 {
		if d == 0 {
			return 0
		}
		return from.Realtime + int64(d)
	}
	f.left[i] = at(c.left)
	f.packet.At = at(c.arrived)
	a := stamp.ReplyTo(f.request(i), 255)
	a.Estimate = stamp.UnknownError
	a.T2, a.T3 = stamp.NTP(at(c.received)), stamp.NTP(at(c.received+c.held))
	first := f.reckon(i, a, socket.Clocks{Realtime: from.Realtime + int64(c.user+c.moved), Monotonic: from.Monotonic + int64(c.user)})
	if first {
		f.answered.Add(1)
	}
}

// good is a course by the kernel's stamps: 300 µs there and back, and 100 µs held.
var good = course{left: 100 * time.Microsecond, received: 250 * time.Microsecond, held: 100 * time.Microsecond, arrived: 500 * time.Microsecond, user: 600 * time.Microsecond}

func TestUDPReckonsByTheClockThatIsGood(t *testing.T) {
	const us = int64(time.Microsecond)
	with := func(change func(c *course)) course {
		c := good
		change(&c)
		return c
	}
	for _, c := range []struct {
		name                string
		course              course
		rtt, client, server int64
		late, oneWay        bool
		want                stamping
	}{
		{"by the kernel's stamps", good, 300 * us, 200 * us, 100 * us, false, true, stamping{told: 1, kernel: 1}},
		{"a target that stood still for longer than the timeout", with(func(c *course) {
			c.held, c.arrived, c.user = 2999*time.Millisecond, 2999*time.Millisecond+400*time.Microsecond, 3*time.Second
		}), notYet, notYet, notYet, true, false, stamping{told: 1}},
		{"no departure", with(func(c *course) { c.left = 0 }), 500 * us, notYet, 100 * us, false, true, stamping{untold: 1, unstamped: 1}},
		{"no arrival", with(func(c *course) { c.arrived = 0 }), 500 * us, notYet, 100 * us, false, true, stamping{told: 1, unstamped: 1}},
		{"this machine's clock was set", with(func(c *course) { c.arrived, c.moved = 500*time.Microsecond+time.Second, time.Second }), 500 * us, notYet, 100 * us, false, false, stamping{told: 1, set: 1}},
		{"and back", with(func(c *course) { c.arrived, c.moved = 500*time.Microsecond-time.Second, -time.Second }), 500 * us, notYet, 100 * us, false, false, stamping{told: 1, set: 1}},
		{"the target's clock was set forward", with(func(c *course) { c.held = time.Hour }), 600 * us, notYet, notYet, false, false, stamping{told: 1, set: 1}},
		{"by as much as all took", with(func(c *course) { c.held = 400 * time.Microsecond }), 600 * us, notYet, notYet, false, false, stamping{told: 1, set: 1}},
		{"and back", with(func(c *course) { c.held = -100 * time.Microsecond }), 600 * us, notYet, notYet, false, false, stamping{told: 1, set: 1}},
	} {
		f := flown(stamp.Authenticated)
		f.fly(2, c.course)
		s := &f.rec.samples[2]
		near := func(got, want int64) bool { return got-want <= 1 && want-got <= 1 } // NTP's fractions
		if !near(s.rtt, c.rtt) || !near(s.client, c.client) || !near(s.server, c.server) || s.late != c.late {
			t.Errorf("%s: round trip %d, client %d, server %d, late %t; want %d, %d, %d, %t", c.name, s.rtt, s.client, s.server, s.late, c.rtt, c.client, c.server, c.late)
		}
		if oneWay := s.forward != wire.Null && s.reverse != wire.Null; oneWay != c.oneWay {
			t.Errorf("%s: one-way delays %d, %d; want some: %t", c.name, s.forward, s.reverse, c.oneWay)
		}
		if f.stamping != c.want {
			t.Errorf("%s: counted %+v, want %+v", c.name, f.stamping, c.want)
		}
		if slowest := f.slowest.Load(); slowest > int64(f.rec.spec.Timeout) || slowest == 0 != c.late {
			t.Errorf("%s: the slowest round trip is %s", c.name, time.Duration(slowest))
		}
	}
}

// A run says by which clock it is, and all of it is.
func TestUDPARunIsByOneClock(t *testing.T) {
	without := good
	without.left = 0
	run := func(courses ...course) wire.Run {
		f := flown(stamp.Authenticated)
		for k, c := range courses {
			f.fly(2+k, c)
		}
		return f.run(udpRequest("", 5), ending{at: time.Now()}, stamp.Report{}, false)
	}
	near := func(got, want int64) bool { return got-want <= 1 && want-got <= 1 }
	few := run(good, good, without)
	if few.Timestamps != wire.TimestampsKernel || number(few.Unstamped) != 1 || number(few.ClockSteps) != 0 {
		t.Errorf("time stamps %q, %v unstamped, %v steps; want the kernel's, 1, 0", few.Timestamps, number(few.Unstamped), number(few.ClockSteps))
	}
	if s := few.Samples; !near(s.RTTNS[0], 300_000) || s.ForwardNS[2] != wire.Null || s.ReverseNS[2] != wire.Null || s.ForwardNS[0] == wire.Null {
		t.Errorf("round trip %d, one-way delays %v and %v; want the unstamped sample to have none", s.RTTNS[0], s.ForwardNS, s.ReverseNS)
	}
	most := run(good, without, without)
	if most.Timestamps != wire.TimestampsUser || number(most.Unstamped) != 2 || number(most.ClockSteps) != 0 {
		t.Errorf("time stamps %q, %v unstamped, %v steps; want the user's, 2, 0", most.Timestamps, number(most.Unstamped), number(most.ClockSteps))
	}
	for i := range 3 {
		s := most.Samples
		if !near(s.RTTNS[i], 500_000) || !near(s.ForwardNS[i], 250_000) || !near(s.ReverseNS[i], 250_000) {
			t.Errorf("sample %d: round trip %d, one way %d and %d; want the user's 500 µs, 250 each", i, s.RTTNS[i], s.ForwardNS[i], s.ReverseNS[i])
		}
	}
	if none := run(without, without); none.Timestamps != wire.TimestampsUser || none.Unstamped != nil || none.ClockSteps != nil || len(none.Samples.ClientNS) != 0 {
		t.Errorf("without any stamp: %q, %v, %v", none.Timestamps, none.Unstamped, none.ClockSteps)
	}
}

// Who sees that no departures are told of does not go on asking.
func TestDeparturesAreNotAskedAfterForEver(t *testing.T) {
	var s stamping
	for range patience {
		if !s.asks() {
			t.Fatalf("given up after %d replies, want %d", s.untold, patience)
		}
		s.departed(false)
	}
	if s.asks() {
		t.Errorf("departures are asked after when %d replies had none", patience)
	}
	if s.departed(true); !s.asks() {
		t.Error("a departure was told of, and none is asked after")
	}
}

// An error of the network's settles the sample that it quotes; this machine's own errors, which
// sending returns too, quote none and blame none.
func TestUDPOnlyTheNetworksErrorsAreASamples(t *testing.T) {
	f := flown(stamp.Authenticated)
	f.latest.Store(5)
	f.notice = socket.Notice{Error: syscall.EHOSTUNREACH}
	f.heed(make([]byte, 64))
	for i := range f.rec.samples {
		if failure := f.rec.samples[i].failure; failure != "" {
			t.Errorf("this machine's error blames sample %d: %q", i, failure)
		}
	}
	f.notice = socket.Notice{Error: syscall.EHOSTUNREACH, ICMPType: 3, Quoted: 4}
	for range 2 {
		f.heed([]byte{0, 0, 0, 1}) // sample 1 after two of warm-up
	}
	if f.rec.samples[3].failure != wire.FailureUnreachable || f.settled.Load() != 1 || f.newest.Load() != 3 {
		t.Errorf("failure %q, %d settled, the newest %d; want sample 3 unreachable and settled once", f.rec.samples[3].failure, f.settled.Load(), f.newest.Load())
	}
	select {
	case <-f.looked:
	default:
		t.Error("the sender of a closed loop is not told")
	}
	if f.fly(3, good); f.rec.samples[3].rtt == notYet || f.settled.Load() != 1 {
		t.Errorf("its reply came all the same: round trip %d, %d settled", f.rec.samples[3].rtt, f.settled.Load())
	}
}
