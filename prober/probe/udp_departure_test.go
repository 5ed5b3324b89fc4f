package probe

import (
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// What the reply's own stamp says is believed only as far as it can be.
func TestUDPADepartureThatCannotBeChangesNothing(t *testing.T) {
	const us = int64(time.Microsecond)
	for _, c := range []struct {
		name    string
		course  func(*course)
		number  uint32 // told of; the reply's is 0
		later   int64  // than T3
		method  stamp.Method
		applied bool
	}{
		{"as it should be", nil, 0, 60 * us, stamp.MethodSoftware, true},
		{"at once", nil, 0, 0, stamp.MethodSoftware, true},
		{"by the device", nil, 0, 60 * us, stamp.MethodHardware, true},
		{"nearly all of the way", nil, 0, 299 * us, stamp.MethodSoftware, true},
		{"of another reply", nil, 9, 60 * us, stamp.MethodSoftware, false},
		{"of none that can be", nil, 1 << 30, 60 * us, stamp.MethodSoftware, false},
		{"of the warm-up", nil, stamp.WarmupFrom, 60 * us, stamp.MethodSoftware, false},
		{"before T3", nil, 0, -1 * us, stamp.MethodSoftware, false},
		{"so late that nothing is left", nil, 0, 301 * us, stamp.MethodSoftware, false},
		{"in the next year", nil, 0, 365 * 24 * 3600 * 1e6 * us, stamp.MethodSoftware, false},
		{"no departure of the request's", func(c *course) { c.left = 0 }, 0, 60 * us, stamp.MethodSoftware, false},
		{"no arrival", func(c *course) { c.arrived = 0 }, 0, 60 * us, stamp.MethodSoftware, false},
		{"this machine's clock was set", func(c *course) { c.arrived, c.moved = 500*time.Microsecond+time.Second, time.Second }, 0, 60 * us, stamp.MethodSoftware, false},
		{"the target's clock was set", func(c *course) { c.held = -time.Microsecond }, 0, 60 * us, stamp.MethodSoftware, false},
	} {
		flies := func(told bool) *sample {
			f := flown(stamp.Authenticated)
			for i := range 3 { // so that the run as a whole is by the kernel's stamps
				f.fly(3+i, good)
			}
			way := good
			if c.course != nil {
				c.course(&way)
			}
			f.fly(2, way)
			if told {
				t3 := f.departures.first[2].t3
				if t3 == 0 {
					t3 = f.departed[2].clocks.Realtime + int64(way.received+way.held)
				}
				f.departures.told(stamp.FollowUp{Sequence: c.number, At: stamp.NTP(t3 + c.later), Method: c.method}, stamp.UnknownError, t3)
				f.departures.told(stamp.FollowUp{Sequence: c.number, At: stamp.NTP(t3 + 5)}, stamp.UnknownError, t3) // the first counts
			}
			f.byDepartures()
			return &f.rec.samples[2]
		}
		before, after := flies(false), flies(true)
		want := int64(0)
		if c.applied {
			want = c.later
		}
		near := func(got, want int64) bool { return got-want <= 1 && want-got <= 1 } // NTP's fractions
		if !near(before.rtt-after.rtt, want) || !near(after.server-before.server, want) || !near(before.reverse-after.reverse, want) || after.forward != before.forward || after.rtt < 1 {
			t.Errorf("%s: %d ns of the round trip, %d of the way back, are the target's, who has %d more; want %d",
				c.name, before.rtt-after.rtt, before.reverse-after.reverse, after.server-before.server, want)
		}
	}
}

// Where the run as a whole is by the user's clock, none of it is by the target's kernel.
func TestUDPDeparturesAreLeftOutOfARunByTheUsersClock(t *testing.T) {
	without := good
	without.left = 0
	f := flown(stamp.Authenticated)
	f.fly(2, good)
	f.fly(3, without)
	f.fly(4, without)
	first := f.departures.first[2]
	f.departures.told(stamp.FollowUp{Sequence: first.number, At: stamp.NTP(first.t3 + 50_000)}, stamp.UnknownError, first.t3)
	run := f.run(udpRequest("", 5), ending{at: time.Now()}, stamp.Report{}, false)
	if got := run.Samples.RTTNS[0]; run.Timestamps != wire.TimestampsUser || got < 499_999 || got > 500_001 {
		t.Errorf("time stamps %q, round trip %d; want the user's, 500 µs", run.Timestamps, got)
	}
}

func TestTheDefaultSizeIsTheSmallestWithAFollowUp(t *testing.T) {
	if wire.DefaultDatagramBytes != stamp.FollowedBytes || wire.MinDatagramBytes != stamp.AuthenticatedBytes {
		t.Errorf("samples of %d octets, %d at the least; want %d and %d", wire.DefaultDatagramBytes, wire.MinDatagramBytes, stamp.FollowedBytes, stamp.AuthenticatedBytes)
	}
}
