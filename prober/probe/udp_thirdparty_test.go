package probe

import (
	"sync/atomic"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// thirdParty is a reflector that knows no keys. drop says, by the source's sequence number, what gets
// lost on the way to it and on the way back.
type thirdParty struct {
	stateful              bool
	first                 uint32 // of its own numbers
	bytes                 int    // of its replies; 0: as the request
	noSSID                bool
	droppedTo, droppedFro map[uint32]bool
	answered              atomic.Uint32
}

func (r *thirdParty) answer(b []byte) []byte {
	q, ok := stamp.ParseRequest(b, stamp.Unauthenticated)
	if !ok || r.droppedTo[q.Sequence] {
		return nil
	}
	received := time.Now().UnixNano()
	a := stamp.ReplyTo(q, 255)
	n := r.answered.Add(1) - 1
	if r.stateful {
		a.Sequence = r.first + n
	}
	if r.noSSID {
		a.SSID = 0
	}
	a.Estimate, a.T2 = stamp.UnknownError|1<<14, stamp.PTP(received) // bit Z
	reply := append([]byte(nil), b...)
	a.T3 = stamp.PTP(time.Now().UnixNano())
	stamp.PutReply(reply, stamp.Unauthenticated, a)
	if r.droppedFro[q.Sequence] {
		return nil
	}
	if r.bytes > 0 {
		reply = reply[:r.bytes]
	}
	return reply
}

func (r *thirdParty) measure(t *testing.T, n int) wire.Run {
	t.Helper()
	req := udpRequest(udpAnswering(t, r.answer), n)
	req.Key, req.Session, req.Spec.Timeout = wire.Key{}, wire.SessionID{}, 500*time.Millisecond
	run := stampProber().Make(t.Context(), req)
	valid(t, run)
	if run.Failure != "" || run.TargetClockErrorNS != nil {
		t.Errorf("failure %q (%s), clock error %v; want none", run.Failure, run.Detail, run.TargetClockErrorNS)
	}
	for i := range run.Samples.Len() {
		// Its stamps have PTP's format, and are of the same clock.
		if f := run.Samples.ForwardNS[i]; f != wire.Null && (f < 0 || f > int64(time.Minute)) {
			t.Errorf("sample %d: %d ns forward", i, f)
		}
	}
	return run
}

func TestUDPAStatelessReflectorOfAThirdParty(t *testing.T) {
	r := thirdParty{droppedTo: map[uint32]bool{3: true}, droppedFro: map[uint32]bool{5: true}}
	sameCounts(t, r.measure(t, 20), wire.Counts{Warmup: 3, Sent: 20, Received: 18, Lost: 2})
}

func TestUDPAReflectorOfTWAMPLight(t *testing.T) {
	r := thirdParty{bytes: stamp.TWAMPLightReplyBytes, noSSID: true}
	sameCounts(t, r.measure(t, 20), wire.Counts{Warmup: 3, Sent: 20, Received: 20})
}

func TestUDPAStatefulReflectorOfAThirdParty(t *testing.T) {
	for name, first := range map[string]uint32{"from 0": 0, "from where it was": 4_000_000_000, "over the end of its numbers": 1<<32 - 10} {
		t.Run(name, func(t *testing.T) {
			r := thirdParty{
				stateful: true, first: first,
				// The first and the last samples have no reply before or after them to tell by.
				droppedTo:  map[uint32]bool{0: true, 3: true, 4: true, 19: true},
				droppedFro: map[uint32]bool{5: true},
			}
			sameCounts(t, r.measure(t, 20), wire.Counts{
				Warmup: 3, Sent: 20, Received: 15, Lost: 5,
				LostForward: count(2), LostReverse: count(1), DuplicateReverse: count(0), ReorderedReverse: count(0),
			})
		})
	}
}
