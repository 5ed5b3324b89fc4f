package probe

import (
	"isochrone/prober/wire"
	"isochrone/prober/wire/stamp"
)

// departures is when the target's kernel let its replies go. A reply cannot tell of itself: its T3 is
// what the target's program knew as it wrote it, some ten microseconds before. The one after it tells
// (RFC 8972, section 4.7), or the reply that closes the session.
type departures struct {
	// left is by the target's number of a reply to a sample, in Unix nanoseconds of its clock; 0: not told.
	left []int64
	// first is, by sample, the first reply to it.
	first []firstReply
}

// firstReply is what a sample's first reply said of itself.
type firstReply struct {
	number uint32 // the target's
	t3     int64  // in Unix nanoseconds; 0: none
}

func newDepartures(samples, count int) *departures {
	// A target answers each request three times at the most.
	return &departures{left: make([]int64, 3*count), first: make([]firstReply, samples)}
}

// told takes a follow-up that the key's holder made, near the time now. The first to a reply counts. The
// warm-up's are left out: they count for nothing.
func (d *departures) told(f stamp.FollowUp, e stamp.ErrorEstimate, now int64) {
	if int64(f.Sequence) >= int64(len(d.left)) || d.left[f.Sequence] != 0 {
		return
	}
	if at, ok := f.At.Unix(e, now); ok {
		d.left[f.Sequence] = at
	}
}

// later is by how much after its T3 the first reply to sample i left; false: it was not told, or cannot
// be.
func (d *departures) later(i int) (ns int64, ok bool) {
	reply := d.first[i]
	if reply.t3 == 0 || int64(reply.number) >= int64(len(d.left)) || d.left[reply.number] == 0 {
		return 0, false
	}
	ns = d.left[reply.number] - reply.t3
	return ns, ns >= 0
}

// byDepartures takes what passed between a reply's T3 and its leaving out of the round trip and of the
// way back, and counts it as the target's. Samples that are not by the kernel's stamps on this side,
// or on both sides of a clock's being set, stay as they are; so do those whose departure was not told:
// the last of a run that was not closed, and of two in a row the first, where the second's reply was lost.
func (f *flight) byDepartures() {
	if f.departures == nil || !f.stamping.byKernel() {
		return
	}
	for i := range f.rec.samples {
		s := &f.rec.samples[i]
		if s.rtt == notYet || s.client == notYet || s.server == notYet || s.reverse == wire.Null {
			continue
		}
		if ns, ok := f.departures.later(i); ok && ns < s.rtt { // else the target's clock was set meanwhile
			s.rtt, s.reverse, s.server = s.rtt-ns, s.reverse-ns, s.server+ns
		}
	}
}
