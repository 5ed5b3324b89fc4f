package probe

import (
	"testing"
	"time"

	"isochrone/prober/socket"
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// flown is a run without a socket: two of warm-up and four of five samples have left.
func flown(mode stamp.Mode) *flight {
	req := udpRequest("", 5)
	req.Spec.Warmup = 2
	l := &stampLink{mode: mode, session: testSession, ssid: testSession.SSID(), in: make([]byte, 2048)}
	if mode == stamp.Authenticated {
		l.signer, l.verifier = stamp.NewAuthenticator(testKey[:]), stamp.NewAuthenticator(testKey[:])
	}
	f := newFlight(l, newRecord(req, time.Now(), columnSet{server: true, client: true, oneWay: true}), socket.ReadClocks, 0)
	for i := range 6 {
		f.departed[i] = stampSent{clocks: socket.Clocks{Realtime: 1_790_000_000e9 + int64(i), Monotonic: 1000}, t1: stamp.NTP(1_790_000_000e9 + int64(i))}
		f.rec.samples[i].sent.Store(1000)
	}
	l.asked[byte(stamp.ClosingFrom&0xFF)].Store(1)
	return f
}

func (f *flight) give(b []byte) {
	f.packet = socket.Packet{Bytes: copy(f.in, b), TTL: -1}
	f.take(socket.Clocks{Realtime: 1_790_000_001e9, Monotonic: 1_000_001_000})
}

// udpReplies are the fuzz target's seeds: replies of both modes, and what is nearly one.
func udpReplies() [][]byte {
	all := [][]byte{nil, make([]byte, 38), make([]byte, 44), make([]byte, 112), make([]byte, 192), make([]byte, 2048)}
	key := stamp.NewAuthenticator(testKey[:])
	for _, mode := range []stamp.Mode{stamp.Authenticated, stamp.Unauthenticated} {
		f := flown(mode)
		for _, i := range []int{0, 2, 5, 6} {
			a := stamp.ReplyTo(f.request(i), 255)
			a.T2, a.T3, a.Estimate = stamp.NTP(1_790_000_000_500_000_000), stamp.NTP(1_790_000_000_600_000_000), stamp.UnknownError
			b := stamp.AppendPadding(make([]byte, mode.Bytes()), 192-mode.Bytes())
			stamp.PutReply(b, mode, a)
			if mode == stamp.Authenticated {
				key.Sign(b)
			}
			all = append(all, b)
		}
	}
	f := flown(stamp.Authenticated)
	for k, i := range []int{2, 3} { // the second tells of the first
		a := stamp.ReplyTo(f.request(i), 255)
		a.T2, a.T3, a.Estimate = stamp.NTP(1_790_000_000_500_000_000), stamp.NTP(1_790_000_000_600_000_000), stamp.UnknownError
		request := stamp.NewFollowed(192)
		stamp.PutRequest(request, stamp.Authenticated, f.request(i))
		key.SignFollowed(request)
		b := make([]byte, len(request))
		stamp.PutReply(b, stamp.Authenticated, a)
		key.Reflect(b, request, stamp.Authenticated, func(t stamp.TLV) stamp.Verdict {
			t.SetFollowUp(stamp.FollowUp{Sequence: uint32(max(k-1, 0)), At: stamp.Timestamp(k) * stamp.NTP(1_790_000_000_600_050_000), Method: stamp.MethodSoftware})
			return stamp.Understood
		})
		key.Sign(b)
		all = append(all, b)
	}
	q := stamp.Request{Sequence: stamp.ClosingFrom, T1: 1, Estimate: stamp.UnknownError, SSID: testSession.SSID()}
	control := make([]byte, stamp.ControlBytes)
	key.PutControlReply(control, stamp.ReplyTo(q, 64), testSession, stamp.Report{Received: 1 << 31, Duplicates: 1 << 31},
		stamp.FollowUp{Sequence: 1, At: 1, Method: stamp.MethodSoftware})
	return append(all, control)
}

// FuzzUDPReply holds the source to this: nothing that a target sends breaks it, and in authenticated
// mode nothing counts but what the key's holder made.
func FuzzUDPReply(f *testing.F) {
	for _, b := range udpReplies() {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, authenticated bool) {
		mode := stamp.Unauthenticated
		if authenticated {
			mode = stamp.Authenticated
		}
		x := flown(mode)
		x.give(b)
		x.give(b)
		if authenticated && (x.answered.Load() > 0 || len(x.reports) > 0) && !x.verifier.Verify(b) {
			t.Error("what the key's holder has not made was counted")
		}
		if n := x.answered.Load(); n > 1 || n == 1 && x.rec.duplicate == 0 && x.newest.Load() >= int64(x.warm) {
			t.Errorf("one reply, twice, answered %d samples and is %d duplicates", n, x.rec.duplicate)
		}
		run := x.run(udpRequest("", 5), ending{at: time.Now()}, stamp.Report{}, false)
		for _, rtt := range run.Samples.RTTNS {
			if rtt != wire.Null && rtt < 1 {
				t.Errorf("a round trip of %d ns", rtt)
			}
		}
		if run.Counts.Received > 1 {
			t.Errorf("%d samples received", run.Counts.Received)
		}
	})
}

func TestTheUDPFuzzTargetHasItsSeeds(t *testing.T) {
	if n := len(udpReplies()); n != 17 {
		t.Errorf("%d seeds, want 17", n)
	}
	answered, reports, told := int64(0), 0, 0
	for _, mode := range []stamp.Mode{stamp.Authenticated, stamp.Unauthenticated} {
		for _, b := range udpReplies() {
			f := flown(mode)
			f.give(b)
			answered += f.answered.Load()
			reports += len(f.reports)
			if f.departures != nil && (f.departures.left[0] != 0 || f.departures.left[1] != 0) {
				told++
			}
		}
	}
	if answered != 8 || reports != 1 || told != 2 {
		t.Errorf("the seeds hold replies to %d samples, %d reports and %d departures; want 8 (each mode's to what has left, and two that follow up), 1 and 2", answered, reports, told)
	}
}
