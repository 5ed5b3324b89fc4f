package simulate

import (
	"math"
	"math/rand/v2"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
	"isochrone/sweep/plan"
)

// What is the same for all samples.
const (
	// wander is how much the queues of one run differ from the hour's: the deviation of the logarithm.
	wander = 0.1
	// In a tail of all samples something else stood in the queue: a wait by Pareto's law.
	tailRatio, tailUS, tailShape, mostTailUS = 0.005, 1500.0, 1.7, 400_000.0
	// clockOffset is how far a target's clock is ahead of the source's, and clockError what both say of their own, in ns.
	clockOffset, clockError = 200_000, 400_000
)

// run is what a source measured of a planned run.
func (m *Model) run(source string, a *plan.Assignment, r *plan.Run, random *rand.Rand) wire.Run {
	run := wire.Run{Target: r.Target, Path: r.Path, Kind: a.Spec.Kind, Address: r.Address, PlannedStart: a.Start}
	pair := m.pairs[config.Pair{Source: source, Target: r.Target, Path: r.Path}]
	switch {
	case r.Failure != "":
		return notMade(run, a.Spec, r.Failure, r.Detail)
	case pair == nil:
		return notMade(run, a.Spec, wire.FailureUnsupported, "the model has no such pair")
	}
	start, end := a.Start, a.Start.Add(a.Spec.Span())
	run.Start, run.End = &start, &end
	_, gone := m.away(r.Target, a.Start)
	if a.Spec.Kind.IsBulk() {
		if gone {
			run.End = &start
			return notMade(run, a.Spec, wire.FailureTimeout, "the target did not answer")
		}
		m.throughput(&run, pair, a.Spec, random)
		return run
	}
	s := sampler{kind: a.Spec.Kind, random: random, lossRatio: m.loss(pair, a.Start), floor: m.floor(pair, a.Start),
		queue: m.queue(pair, a.Start) * math.Exp(wander*random.NormFloat64())}
	if gone {
		s.lossRatio = 1
	}
	s.measure(&run, a.Spec)
	return run
}

// notMade is a run of which nothing was sent.
func notMade(run wire.Run, spec wire.Spec, failure wire.Failure, detail string) wire.Run {
	run.Failure, run.Detail = failure, detail
	if !spec.Kind.HasSamples() {
		return run
	}
	for i := range spec.Count {
		s := &run.Samples
		s.Sequence, s.DueNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(spec.Interval)*int64(i+spec.Warmup))
		s.SentNS, s.RTTNS, s.Failure = append(s.SentNS, wire.Null), append(s.RTTNS, wire.Null), append(s.Failure, failure)
	}
	return run
}

// sampler draws the samples of one run. Times are µs.
type sampler struct {
	kind         wire.Kind
	random       *rand.Rand
	lossRatio    float64
	floor, queue float64
}

// draw is a round trip in ns.
func (s *sampler) draw() int64 {
	us := s.floor + s.queue*s.random.ExpFloat64()
	if s.random.Float64() < tailRatio {
		us += min(tailUS*math.Pow(1-s.random.Float64(), -1/tailShape), mostTailUS)
	}
	return int64(us * 1000)
}

func (s *sampler) measure(run *wire.Run, spec wire.Spec) {
	run.Counts.Warmup, run.Timestamps = spec.Warmup, wire.TimestampsUser
	to := &run.Samples
	for _, c := range append(s.columns(to), &to.Sequence, &to.DueNS, &to.SentNS) {
		*c = make(wire.Column, 0, spec.Count)
	}
	to.Failure = make(wire.FailureColumn, 0, spec.Count)
	for i := range spec.Count {
		due := int64(spec.Interval) * int64(i+spec.Warmup)
		to.Sequence, to.DueNS = append(to.Sequence, int64(i)), append(to.DueNS, due)
		to.SentNS = append(to.SentNS, due+20_000+s.random.Int64N(60_000))
		s.answer(run, int64(spec.Timeout))
	}
	run.Counts.Sent = spec.Count
	run.Counts.Lost = run.Counts.Sent - run.Counts.Received
	s.finish(run)
}

// columns are those that a kind has beside the schedule's.
func (s *sampler) columns(to *wire.Samples) []*wire.Column {
	switch s.kind {
	case wire.KindTCP:
		return []*wire.Column{&to.RTTNS, &to.ClientNS, &to.ServerNS}
	case wire.KindUDP:
		return []*wire.Column{&to.RTTNS, &to.ClientNS, &to.ServerNS, &to.ForwardNS, &to.ReverseNS}
	}
	return []*wire.Column{&to.RTTNS}
}

// answer adds what came of one sample.
func (s *sampler) answer(run *wire.Run, timeout int64) {
	to := &run.Samples
	rtt := s.draw()
	client, server := 40_000+s.random.Int64N(40_000), 15_000+s.random.Int64N(20_000)
	if lost := s.random.Float64() < s.lossRatio; lost || rtt > timeout {
		if !lost {
			run.Counts.Late++
		}
		for _, c := range s.columns(to) {
			*c = append(*c, wire.Null)
		}
		to.Failure = append(to.Failure, wire.FailureTimeout)
		return
	}
	run.Counts.Received++
	to.RTTNS, to.Failure = append(to.RTTNS, rtt), append(to.Failure, "")
	if s.kind == wire.KindTCP || s.kind == wire.KindUDP {
		to.ClientNS, to.ServerNS = append(to.ClientNS, client), append(to.ServerNS, server)
	}
	if s.kind == wire.KindUDP { // all of the wait is on the way there
		there := int64(s.floor*500) + rtt - int64(s.floor*1000)
		to.ForwardNS, to.ReverseNS = append(to.ForwardNS, there+clockOffset), append(to.ReverseNS, rtt-there-clockOffset)
	}
}

// finish adds what a kind says of the run as a whole.
func (s *sampler) finish(run *wire.Run) {
	none := func() *int { n := 0; return &n }
	switch s.kind {
	case wire.KindTCP, wire.KindConnect:
		rtt, least := int64(s.floor+s.queue), int64(s.floor)
		run.TCPInfo = &wire.TCPInfo{RTTUS: rtt, MinRTTUS: least, RTTVarUS: int64(s.queue), DeliveryRateBPS: 8_000_000, MSSBytes: 1440, CongestionControl: "cubic", CongestionWindow: 10}
	case wire.KindUDP:
		run.Timestamps, run.ClockSteps, run.Unstamped = wire.TimestampsKernel, none(), none()
		bound, lost := int64(clockError), run.Counts.Lost-run.Counts.Late
		run.TargetClockErrorNS = &bound
		c := &run.Counts
		c.LostForward, c.LostReverse, c.DuplicateForward, c.DuplicateReverse, c.ReorderedForward, c.ReorderedReverse = &lost, none(), none(), none(), none(), none()
	}
	if run.Counts.Received == 0 {
		run.Failure, run.Detail = wire.FailureTimeout, "every sample was lost"
		run.TCPInfo = nil
		c := &run.Counts
		c.LostForward, c.LostReverse, c.DuplicateForward, c.DuplicateReverse, c.ReorderedForward, c.ReorderedReverse = nil, nil, nil, nil, nil, nil
	}
}
