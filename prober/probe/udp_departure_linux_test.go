package probe

import (
	"sync"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// lateTarget is a reflector that writes its T3 as it takes a request, and sends the reply later. What
// it says of that in the reply that follows, tell may change; it gets the number of the reply that is
// told of.
type lateTarget struct {
	key  *stamp.Authenticator
	tell func(f *stamp.FollowUp, reply []byte)

	mu     sync.Mutex
	number uint32
	last   stamp.FollowUp
	held   map[uint32]int64 // by its number of a reply: from T2 until it left, in nanoseconds
}

const late = 3 * time.Millisecond

func newLateTarget() *lateTarget {
	return &lateTarget{key: stamp.NewAuthenticator(testKey[:]), tell: func(*stamp.FollowUp, []byte) {}, held: map[uint32]int64{}}
}

func (r *lateTarget) answer(b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, _ := stamp.ParseRequest(b, stamp.Authenticated)
	a, received := stamp.ReplyTo(q, 64), time.Now().UnixNano()
	a.T2, a.T3, a.Estimate = stamp.NTP(received), stamp.NTP(received), stamp.UnknownError
	reply := make([]byte, len(b))
	if c, ok := stamp.ParseControl(b); ok {
		r.key.PutControlReply(reply, a, c.Session, stamp.Report{Received: r.number, Replies: r.number}, r.last)
		return reply
	}
	if q.Sequence < stamp.WarmupFrom {
		a.Sequence = r.number
		r.number++
	}
	time.Sleep(late)
	follow := r.last
	stamp.PutReply(reply, stamp.Authenticated, a)
	r.key.Reflect(reply, b, stamp.Authenticated, func(x stamp.TLV) stamp.Verdict {
		r.tell(&follow, nil)
		if !x.SetFollowUp(follow) {
			return stamp.Unknown
		}
		return stamp.Understood
	})
	r.tell(&follow, reply)
	r.key.Sign(reply)
	left := time.Now().UnixNano()
	r.last = stamp.FollowUp{Sequence: a.Sequence, At: stamp.NTP(left), Method: stamp.MethodSoftware}
	if q.Sequence < stamp.WarmupFrom {
		r.held[a.Sequence] = left - received
	}
	return reply
}

// heldFor is how long the sample with that reply was held, until the reply left.
func (r *lateTarget) heldFor(number uint32) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[number]
}

// waysAddUp checks a sample's delays: both ends have one clock here.
func waysAddUp(t *testing.T, s wire.Samples, i int) {
	t.Helper()
	if sum := s.ForwardNS[i] + s.ReverseNS[i]; sum-s.RTTNS[i] > 2 || s.RTTNS[i]-sum > 2 {
		t.Errorf("sample %d: %d forward and %d back in a round trip of %d ns", i, s.ForwardNS[i], s.ReverseNS[i], s.RTTNS[i])
	}
}

func TestUDPEverySampleIsByWhenItsReplyLeft(t *testing.T) {
	for _, size := range []int{152, 156, 192, wire.MaxDatagramBytes} {
		bothUDPWays(t, func(t *testing.T, p *Prober) {
			r := newLateTarget()
			req := udpRequest(udpAnswering(t, r.answer), 30)
			req.Spec.RequestBytes = size
			run := p.Make(t.Context(), req)
			valid(t, run)
			if run.Counts.Received != 30 || run.Timestamps != wire.TimestampsKernel {
				t.Fatalf("%d received, time stamps %q", run.Counts.Received, run.Timestamps)
			}
			s, aside := run.Samples, 0
			for i := range s.Len() {
				if s.ClientNS[i] == wire.Null { // the kernel's stamp did not come
					aside++
					continue
				}
				waysAddUp(t, s, i)
				if want := r.heldFor(uint32(i)); s.ServerNS[i]-want > 2 || want-s.ServerNS[i] > 2 || s.ServerNS[i] < int64(late) {
					t.Errorf("%d octets, sample %d: held for %d ns, want %d", size, i, s.ServerNS[i], want)
				}
			}
			if aside > 5 {
				t.Errorf("%d samples without the kernel's stamps", aside)
			}
		})
	}
}

// As without room for one: the dwell is until T3, and the round trip has the rest.
func TestUDPWithoutAFollowUpASampleIsByItsT3(t *testing.T) {
	for name, size := range map[string]int{"the smallest": 112, "no room": 151, "no room for padding": 155} {
		r := newLateTarget()
		req := udpRequest(udpAnswering(t, r.answer), 10)
		req.Spec.RequestBytes = size
		run := stampProber().Make(t.Context(), req)
		valid(t, run)
		for i := range 10 {
			if s := run.Samples; s.ServerNS[i] != 0 || s.RTTNS[i] < int64(late) {
				t.Errorf("%s: sample %d held for %d ns in a round trip of %d, want 0 and %s", name, i, s.ServerNS[i], s.RTTNS[i], late)
			}
		}
	}
}

// Each sample's reply is told of otherwise; what is not a departure that can be leaves no trace.
func TestUDPWhatIsNoFollowUpChangesNothing(t *testing.T) {
	change := map[uint32]func(f *stamp.FollowUp){
		1:  func(f *stamp.FollowUp) { *f = stamp.FollowUp{} },
		3:  func(f *stamp.FollowUp) { f.Sequence = 5000 },
		5:  func(f *stamp.FollowUp) { f.Sequence = stamp.WarmupFrom + 1 },
		7:  func(f *stamp.FollowUp) { f.At -= 1 << 31 }, // half a second earlier
		9:  func(f *stamp.FollowUp) { f.At += 1 << 40 }, // four minutes later
		11: func(f *stamp.FollowUp) { f.Method = 0 },    // nobody knows how it was taken
		13: func(f *stamp.FollowUp) { f.Method = stamp.MethodControlPlane },
	}
	spoil := map[uint32]func(b []byte){
		15: func(b []byte) { b[len(b)-1] ^= 1 },                    // the digest
		17: func(b []byte) { b[stamp.AuthenticatedBytes+8] ^= 1 },  // what it covers
		19: func(b []byte) { b[stamp.AuthenticatedBytes] = 0x80 },  // not recognized, says the flag
		21: func(b []byte) { b[stamp.AuthenticatedBytes+3] = 12 },  // another length
		23: func(b []byte) { b[stamp.AuthenticatedBytes+1] = 1 },   // padding
		25: func(b []byte) { clear(b[stamp.AuthenticatedBytes:]) }, // nothing but zeros
		27: func(b []byte) { b[stamp.AuthenticatedBytes] = 0x40 },  // malformed, says the flag
	}
	r := newLateTarget()
	r.tell = func(f *stamp.FollowUp, reply []byte) {
		told := r.last.Sequence // before f was changed
		if c := change[told]; c != nil && reply == nil {
			c(f)
		}
		if s := spoil[told]; s != nil && reply != nil {
			s(reply)
		}
	}
	run := stampProber().Make(t.Context(), udpRequest(udpAnswering(t, r.answer), 30))
	valid(t, run)
	if run.Counts.Received != 30 || run.Timestamps != wire.TimestampsKernel {
		t.Fatalf("%d received, time stamps %q", run.Counts.Received, run.Timestamps)
	}
	for i := range uint32(30) {
		s := run.Samples
		if s.ClientNS[i] == wire.Null {
			continue
		}
		waysAddUp(t, s, int(i))
		want := r.heldFor(i)
		if change[i] != nil || spoil[i] != nil {
			want = 0 // as T3 says
		}
		if s.ServerNS[i]-want > 2 || want-s.ServerNS[i] > 2 {
			t.Errorf("sample %d: held for %d ns, want %d", i, s.ServerNS[i], want)
		}
	}
}

// What gets lost, doubled or overtaken takes nobody else's departure.
func TestUDPDeparturesSurviveWhatTheNetworkDoes(t *testing.T) {
	bothUDPWays(t, func(t *testing.T, p *Prober) {
		const n = 40
		r := startStampTarget(t, nil, testStampSession(192, 203))
		replies := make(chan []byte, 4*n)
		through := proxy{
			forward: map[uint32]treatment{3: {drop: true}, 7: {twice: true}, 11: {overtaken: true}},
			reverse: map[uint32]treatment{5: {drop: true}, 9: {twice: true}, 14: {overtaken: true}, 21: {drop: true}, 22: {drop: true}},
			seen:    func(b []byte) { replies <- b },
		}
		run := p.Make(t.Context(), udpRequest(through.start(t, r.address), n))
		valid(t, run)
		if run.Timestamps != wire.TimestampsKernel || run.Counts.Received != n-4 {
			t.Fatalf("%d received, time stamps %q", run.Counts.Received, run.Timestamps)
		}
		held := heldBySample(t, replies)
		late := 0
		for i := range n {
			s := run.Samples
			if s.RTTNS[i] == wire.Null || s.ClientNS[i] == wire.Null {
				continue
			}
			if s.ServerNS[i]-held[i].untilLeft <= 2 && held[i].untilLeft-s.ServerNS[i] <= 2 {
				continue
			}
			// Those before a lost reply, and where the target's kernel told too late, are by T3.
			if late++; s.ServerNS[i] != held[i].untilT3 {
				t.Errorf("sample %d: held for %d ns, want %d until it left, or %d until T3", i, s.ServerNS[i], held[i].untilLeft, held[i].untilT3)
			}
		}
		if late < 2 || late > 12 {
			t.Errorf("%d samples are by T3, want the two before lost replies, and few others", late)
		}
	})
}

type dwell struct{ untilT3, untilLeft int64 }

// heldBySample reads what replies, of which some were lost, say of how long each sample was held.
func heldBySample(t *testing.T, replies chan []byte) map[int]dwell {
	t.Helper()
	key, left := stamp.NewAuthenticator(testKey[:]), map[uint32]int64{}
	now := time.Now().UnixNano()
	var all []stamp.Reply
	for len(replies) > 0 {
		b := <-replies
		a, _ := stamp.ParseReply(b, stamp.Authenticated)
		f, ok := key.FollowUp(b, stamp.Authenticated)
		if at, _ := f.At.Unix(a.Estimate, now); ok {
			left[f.Sequence] = at
		}
		if a.SenderSequence < stamp.WarmupFrom {
			all = append(all, a)
		}
	}
	held := map[int]dwell{}
	for _, a := range all {
		_, t2, t3, _ := a.Times(now)
		if i := int(a.SenderSequence); held[i] == (dwell{}) { // the first to it
			held[i] = dwell{untilT3: t3 - t2, untilLeft: left[a.Sequence] - t2}
		}
	}
	return held
}
