package simulated

import (
	"math/rand/v2"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

// The shortest and longest round trip of a pair, and by how much the first hop may be late, in ns.
const (
	shortest = 2e6
	longest  = 250e6
	busyHop  = 100_000
)

// Run is what a source measured of an assigned run that began at start. One that the app planned with a
// failure has that, and nothing sent.
func Run(source string, r wire.AssignedRun, spec wire.Spec, start time.Time, random *rand.Rand) (wire.Run, error) {
	asked := probe.Request{Target: r.Target, Path: r.Path, Spec: spec, Address: r.Address, URL: r.URL, PlannedStart: start}
	switch {
	case r.Failure != "":
		return probe.NotMade(asked, r.Failure, r.Detail), nil
	case spec.Kind.IsBulk():
		return probe.NotMade(asked, wire.FailureUnsupported, "simulated probers make latency runs only"), nil
	}
	end := start.Add(spec.Span())
	run := wire.Run{Target: r.Target, Path: r.Path, Kind: spec.Kind, Address: r.Address, PlannedStart: start, Start: &start, End: &end,
		Counts: wire.Counts{Warmup: spec.Warmup}, Timestamps: wire.TimestampsUser}
	base := roundTrip(source, r.Target, r.Path)
	for i := range spec.Count {
		due := int64(spec.Interval) * int64(i+spec.Warmup)
		rtt := int64(base * (1 + 0.02*random.ExpFloat64()))
		if random.IntN(200) == 0 { // now and then something stands in a queue
			rtt += random.Int64N(20e6)
		}
		s := sample{due: due, sent: due + random.Int64N(busyHop), rtt: rtt, lost: random.Float64() < Loss, random: random}
		s.addTo(&run)
	}
	run.Counts.Lost = run.Counts.Sent - run.Counts.Received
	finish(&run, base)
	var err error
	run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS)
	return run, err
}

// roundTrip is a pair's on a path, in ns, whichever of the two is the source.
func roundTrip(source, target, path string) float64 {
	if source > target {
		source, target = target, source
	}
	random := rand.New(rand.NewPCG(hash(source, target), 1))
	base := shortest + (longest-shortest)*random.Float64()
	return base * (0.9 + 0.2*rand.New(rand.NewPCG(hash(path), 1)).Float64())
}

// sample is one round trip.
type sample struct {
	due, sent, rtt int64
	lost           bool
	random         *rand.Rand
}

// clockOffset is how far the target's clock is ahead of the source's, in ns.
const clockOffset = 300_000

func (s *sample) addTo(run *wire.Run) {
	to := &run.Samples
	to.Sequence = append(to.Sequence, int64(len(to.Sequence)))
	to.DueNS = append(to.DueNS, s.due)
	to.SentNS = append(to.SentNS, s.sent)
	run.Counts.Sent++
	failure := wire.Failure("")
	if s.lost {
		failure = wire.FailureTimeout
	} else {
		run.Counts.Received++
	}
	to.Failure = append(to.Failure, failure)
	add := func(c *wire.Column, v int64) {
		if s.lost {
			v = wire.Null
		}
		*c = append(*c, v)
	}
	server, client := 8_000+s.random.Int64N(10_000), 30_000+s.random.Int64N(200_000)
	add(&to.RTTNS, s.rtt)
	switch run.Kind {
	case wire.KindTCP:
		add(&to.ServerNS, server)
		add(&to.ClientNS, client)
	case wire.KindUDP:
		add(&to.ServerNS, server)
		add(&to.ClientNS, client)
		forward := s.rtt*48/100 + s.random.Int64N(1000)
		add(&to.ForwardNS, forward+clockOffset)
		add(&to.ReverseNS, s.rtt-forward-clockOffset)
	case wire.KindHTTP:
		null := wire.Null
		add(&to.ServerNS, server)
		add(&to.DNSNS, null)
		add(&to.ConnectNS, null)
		add(&to.TLSNS, null)
		add(&to.FirstByteNS, s.rtt)
	}
}

// finish adds what a kind says of the run as a whole.
func finish(run *wire.Run, base float64) {
	none := func() *int { n := 0; return &n }
	switch run.Kind {
	case wire.KindTCP, wire.KindConnect:
		us := int64(base / 1000)
		run.TCPInfo = &wire.TCPInfo{RTTUS: us, MinRTTUS: us, RTTVarUS: us / 50, DeliveryRateBPS: 8e6, MSSBytes: 1448, CongestionControl: "cubic", CongestionWindow: 10}
	case wire.KindUDP:
		run.Timestamps, run.ClockSteps, run.Unstamped = wire.TimestampsKernel, none(), none()
		clock, lost := int64(2_000_000), run.Counts.Lost
		run.TargetClockErrorNS = &clock
		run.Counts.LostForward, run.Counts.LostReverse = &lost, none()
		run.Counts.DuplicateForward, run.Counts.DuplicateReverse = none(), none()
		run.Counts.ReorderedForward, run.Counts.ReorderedReverse = none(), none()
	}
	if run.Counts.Received == 0 {
		run.Failure, run.Detail = wire.FailureTimeout, "every sample was lost"
	}
}
