package probe

import (
	"fmt"
	"sync/atomic"
	"time"

	"isochrone/prober/wire"
)

// sample is what became of one sample, warm-up included. Times are nanoseconds since the run's
// beginning, durations nanoseconds, and notYet where there is none.
type sample struct {
	// sent is atomic because the receiver may read it while the sender still runs.
	sent   atomic.Int64
	rtt    int64 // notYet also for a reply that came late
	server int64
	client int64
	// forward and reverse hold the clock offset, so any number may be one: wire.Null is none.
	forward, reverse             int64
	dns, connect, tls, firstByte int64
	late                         bool
	failure                      wire.Failure // of this sample alone; the rest of the run may be well
}

const notYet int64 = -1

// columnSet says which of the optional columns a kind fills.
type columnSet struct{ server, client, oneWay, phases bool }

// record holds the samples of a run while it is made. It is allocated whole before the first
// sample is due.
type record struct {
	spec      wire.Spec
	begin     time.Time // when sample 0 is due; with monotonic reading
	samples   []sample
	highest   int // the highest sample replied to so far, for reordering
	duplicate int
	reordered int
	columns   columnSet
	observe   func(Reply) // see Request
}

func newRecord(req Request, begin time.Time, columns columnSet) *record {
	spec := req.Spec
	r := &record{
		spec: spec, begin: begin, samples: make([]sample, spec.Warmup+spec.Count), highest: -1,
		columns: columns, observe: req.Observe,
	}
	for i := range r.samples {
		s := &r.samples[i]
		s.sent.Store(notYet)
		s.rtt, s.server, s.client = notYet, notYet, notYet
		s.forward, s.reverse = wire.Null, wire.Null
		s.dns, s.connect, s.tls, s.firstByte = notYet, notYet, notYet, notYet
	}
	return r
}

// since is the time since the run's beginning, never negative: a sample may leave some
// nanoseconds before it is due where clocks are coarse.
func (r *record) since(t time.Time) int64 { return max(int64(t.Sub(r.begin)), 0) }

// reply records a reply to sample i that was complete at, since the beginning. first is false
// for a further reply to the same sample. Only one goroutine may call it.
func (r *record) reply(i int, at int64, held time.Duration) (first bool) {
	rtt := max(at-r.samples[i].sent.Load(), 1)
	if int64(held) > rtt {
		held = -1 // cannot be
	}
	return r.replied(i, rtt, rtt, held)
}

// replied records a reply to sample i whose round trip was measured otherwise than by when the
// sample left by this program's clock. By that clock it took user, and so is in time or late: what
// rtt leaves out, as the target's dwell, was waited for as well.
func (r *record) replied(i int, rtt, user int64, held time.Duration) (first bool) {
	s := &r.samples[i]
	if s.rtt != notYet || s.late {
		if i >= r.spec.Warmup {
			r.duplicate++
		}
		r.tell(i, rtt, true)
		return false
	}
	if user > int64(r.spec.Timeout) {
		s.late, rtt = true, user
	} else {
		s.rtt = rtt
		if held >= 0 && held <= r.spec.Timeout { // anything else cannot be, and is not kept
			s.server = int64(held)
		}
		// RFC 4737, section 3: a reply is reordered if one to a later sample came before it.
		if i < r.highest && i >= r.spec.Warmup {
			r.reordered++
		}
	}
	r.highest = max(r.highest, i)
	r.tell(i, rtt, false)
	return true
}

// tell tells who watches the run of a reply.
func (r *record) tell(i int, rtt int64, duplicate bool) {
	if r.observe != nil {
		r.observe(Reply{Sequence: i - r.spec.Warmup, RTT: time.Duration(rtt), Late: r.samples[i].late, Duplicate: duplicate})
	}
}

// due is when sample i was due, since the beginning. In a closed loop it is due when it leaves.
func (r *record) due(i int) int64 {
	if r.spec.ClosedLoop() {
		return max(r.samples[i].sent.Load(), 0)
	}
	return int64(i) * int64(r.spec.Interval)
}

// ending says how a run ended, and so what became of the samples without a reply.
type ending struct {
	at     time.Time    // when it stopped waiting for replies
	cut    wire.Failure // why it stopped before its time; empty when it did not
	detail string       // for people
}

// run turns the record into the run's result.
func (r *record) run(req Request, end ending) wire.Run {
	out := result(req, "", end.detail)
	start := r.begin.Round(0).UTC()
	finish := start.Add(max(end.at.Sub(r.begin), 0))
	out.Start, out.End = &start, &finish
	out.Samples = columns(r.spec.Count, r.columns)
	for i := range r.samples[:r.spec.Warmup] {
		if r.samples[i].sent.Load() != notYet {
			out.Counts.Warmup++
		}
	}
	for i := range r.spec.Count {
		r.fill(&out, i, end)
	}
	out.Counts.Lost = out.Counts.Sent - out.Counts.Received
	out.Counts.Duplicate, out.Counts.Reordered = r.duplicate, r.reordered
	if out.Counts.Received == 0 {
		out.Failure = prevailing(out.Samples)
	}
	var err error
	if out.RTTHistogram, out.ExcessHistogram, err = wire.Histograms(out.Samples.RTTNS); err != nil {
		// The app computes them again from the samples, so the run is whole without them.
		out.Detail = wire.CutDetail(fmt.Sprintf("%s %s", out.Detail, err))
	}
	return out
}

// fill writes measured sample i into the columns and counts.
func (r *record) fill(out *wire.Run, i int, end ending) {
	s, c, n := &r.samples[r.spec.Warmup+i], &out.Samples, &out.Counts
	due := r.due(r.spec.Warmup + i)
	c.Sequence[i], c.DueNS[i], c.SentNS[i], c.RTTNS[i] = int64(i), due, wire.Null, wire.Null
	sent := s.sent.Load()
	if sent != notYet {
		c.SentNS[i] = sent
		n.Sent++
		if sent-due > int64(pacingTolerance) {
			n.PacingViolations++
		}
	}
	switch {
	case s.rtt != notYet:
		c.RTTNS[i] = s.rtt
		n.Received++
		r.fillOptional(c, i, s)
	case s.late:
		c.Failure[i] = wire.FailureTimeout
		n.Late++
	case s.failure != "":
		c.Failure[i] = s.failure
	case end.cut != "" && (sent == notYet || sent+int64(r.spec.Timeout) > r.since(end.at)):
		c.Failure[i] = end.cut // it had no chance to be answered, or not its whole chance
	default:
		c.Failure[i] = wire.FailureTimeout
	}
}

// fillOptional writes what else is known of a sample that was replied to.
func (r *record) fillOptional(c *wire.Samples, i int, s *sample) {
	for _, column := range []struct {
		to   wire.Column
		from int64
		none int64
	}{
		{c.ServerNS, s.server, notYet}, {c.ClientNS, s.client, notYet},
		{c.ForwardNS, s.forward, wire.Null}, {c.ReverseNS, s.reverse, wire.Null},
		{c.DNSNS, s.dns, notYet}, {c.ConnectNS, s.connect, notYet}, {c.TLSNS, s.tls, notYet}, {c.FirstByteNS, s.firstByte, notYet},
	} {
		if len(column.to) > 0 && column.from != column.none {
			column.to[i] = column.from
		}
	}
}

// prevailing is the failure of a run in which nothing was received: the most frequent among the
// samples that were sent, or among all if none was; of several as frequent, the first.
func prevailing(s wire.Samples) wire.Failure {
	sent := map[wire.Failure]int{}
	all := map[wire.Failure]int{}
	for i, f := range s.Failure {
		all[f]++
		if s.SentNS[i] != wire.Null {
			sent[f]++
		}
	}
	counts := sent
	if len(sent) == 0 {
		counts = all
	}
	var most wire.Failure
	for _, f := range s.Failure {
		if counts[f] > counts[most] {
			most = f
		}
	}
	return most
}
