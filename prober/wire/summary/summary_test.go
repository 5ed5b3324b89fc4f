package summary

import (
	"math"
	"slices"
	"testing"

	"isochrone/prober/wire"
)

// near compares with Python's result, whose sums run in another order.
func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is null, want %v", what, want)
	} else if math.Abs(*got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

func null(t *testing.T, what string, got *float64) {
	t.Helper()
	if got != nil {
		t.Errorf("%s is %v, want null", what, *got)
	}
}

func of(s wire.Samples, c wire.Counts) Summary {
	return Of(&wire.Run{Kind: wire.KindTCP, Samples: s, Counts: c}, &wire.Provenance{})
}

func samplesOf(rtt ...int64) (wire.Samples, wire.Counts) {
	s := wire.Samples{RTTNS: rtt, Failure: make(wire.FailureColumn, len(rtt))}
	c := wire.Counts{Sent: len(rtt)}
	for i, v := range rtt {
		if v == wire.Null {
			s.Failure[i] = wire.FailureTimeout
			c.Lost++
		} else {
			c.Received++
		}
	}
	return s, c
}

// The values are rtt[i] = 80 ms + (7919·i mod 1009) µs for i in 0 … 999, and the figures were
// computed with Python 3.11: statistics.fmean and stdev, sorted()[ceil(n·p)−1], and RFC 3550's
// recursion written out.
func TestTheFiguresOfARunAgreeWithPython(t *testing.T) {
	rtt := make([]int64, 1000)
	for i := range rtt {
		rtt[i] = 80_000_000 + int64(7919*i%1009)*1000
	}
	before := slices.Clone(rtt)
	s := of(samplesOf(rtt...))
	near(t, "min", s.Min, 80_000_000)
	near(t, "mean", s.Mean, 80_504_678)
	near(t, "stddev", s.Stddev, 291504.85999276134)
	near(t, "max", s.Max, 81_008_000)
	near(t, "p50", s.P50.Value, 80_505_000)
	near(t, "p90", s.P90.Value, 80_907_000)
	near(t, "p95", s.P95.Value, 80_958_000)
	near(t, "p99", s.P99.Value, 80_998_000)
	null(t, "p99.9 of 1,000", s.P999.Value)
	near(t, "jitter", s.Jitter, 259465.9188937355)
	near(t, "PDV", s.PDV, 80_958_000-80_505_000)
	if s.Failures != nil || *s.LossRatio != 0 {
		t.Errorf("failures %v, loss %v", s.Failures, *s.LossRatio)
	}
	if !slices.Equal(rtt, before) {
		t.Error("the samples were changed")
	}
}

func TestJitterIsRFC3550s(t *testing.T) {
	// By hand: differences 16, 32, 0; 0 + 16/16 = 1; 1 + (32 − 1)/16 = 2.9375; 2.9375·15/16.
	s := of(samplesOf(100, 116, 84, 84))
	near(t, "jitter", s.Jitter, 2.75390625)
	null(t, "the jitter of one sample", of(samplesOf(100)).Jitter)
	// A lost sample is no round trip of zero: the neighbours of the gap are consecutive.
	near(t, "jitter over a gap", of(samplesOf(100, wire.Null, 116)).Jitter, 1)
}

// 1 … n, so that the nearest rank is the value itself.
func upTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i + 1)
	}
	return out
}

func TestAQuantileNeedsTenSamplesAboveIt(t *testing.T) {
	for _, c := range []struct {
		p     float64
		least int     // number of samples
		value float64 // then
	}{{0.5, 20, 10}, {0.9, 100, 90}, {0.95, 200, 190}, {0.99, 1000, 990}, {0.999, 10_000, 9990}} {
		null(t, "a quantile of one sample too few", NearestRank(upTo(c.least-1), c.p))
		near(t, "the quantile", NearestRank(upTo(c.least), c.p), c.value)
	}
	near(t, "p50 of 21", NearestRank(upTo(21), 0.5), 11) // ⌈10.5⌉
	near(t, "p90 of 101", NearestRank(upTo(101), 0.9), 91)
	null(t, "a quantile of nothing", NearestRank(nil, 0.5))
}

// The first four are Newcombe's (Statistics in Medicine 17, 1998, table I, method 3), to his
// four digits; all of them were computed to more with Python as the roots of
// (p − x)² = z²·x(1 − x)/n, z = statistics.NormalDist().inv_cdf(0.975).
func TestWilsonAgreesWithNewcombe(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{81, 263, 0.2552885198782742, 0.3662095769828002},
		{15, 148, 0.06238639953073631, 0.16048724172330797},
		{0, 20, 0, 0.1611251580528193},
		{1, 29, 0.006113214292762661, 0.17175521879320282},
		{29, 29, 0.8830302015002593, 1},
		{1, 2, 0.09453120573423074, 0.9054687942657692},
		{3, 10_000, 0.00010203219941781007, 0.0008817357722363795},
	} {
		ratio, low, high := Wilson(c.k, c.n)
		if ratio != float64(c.k)/float64(c.n) || math.Abs(low-c.low) > 1e-12 || math.Abs(high-c.high) > 1e-12 {
			t.Errorf("%d of %d: %v, %v to %v; want %v to %v", c.k, c.n, ratio, low, high, c.low, c.high)
		}
	}
}

func TestWhatTheSamplesDoNotSupportIsNull(t *testing.T) {
	nothing := of(wire.Samples{}, wire.Counts{})
	for what, f := range map[string]*float64{
		"min": nothing.Min, "mean": nothing.Mean, "max": nothing.Max, "stddev": nothing.Stddev, "p50": nothing.P50.Value, "p90": nothing.P90.Value,
		"p95": nothing.P95.Value, "p99": nothing.P99.Value, "p99.9": nothing.P999.Value, "jitter": nothing.Jitter, "PDV": nothing.PDV,
		"loss": nothing.LossRatio, "low": nothing.LossLow, "high": nothing.LossHigh,
	} {
		null(t, what, f)
	}
	one := of(samplesOf(5, wire.Null))
	near(t, "min of one", one.Min, 5)
	near(t, "mean of one", one.Mean, 5)
	near(t, "max of one", one.Max, 5)
	null(t, "stddev of one", one.Stddev)
	null(t, "p50 of one", one.P50.Value)
	null(t, "PDV of one", one.PDV)
	near(t, "loss", one.LossRatio, 0.5)
	lost := of(samplesOf(wire.Null, wire.Null))
	null(t, "min of a run that lost everything", lost.Min)
	near(t, "its loss", lost.LossRatio, 1)
}

func TestFailuresAreCountedByCode(t *testing.T) {
	s, c := samplesOf(5, wire.Null, wire.Null, wire.Null)
	s.Failure[3] = wire.FailureReset
	got := of(s, c).Failures
	if len(got) != 2 || got[wire.FailureTimeout] != 2 || got[wire.FailureReset] != 1 {
		t.Errorf("%v", got)
	}
}

func TestTheMeanOfHugeValuesDoesNotOverflow(t *testing.T) {
	big := int64(math.MaxInt64)
	near(t, "mean", of(samplesOf(big, big, big)).Mean, float64(big))
}

// A stop of the source is not a loss on the way: of four samples sent one was lost, and one had no
// chance to be answered.
func TestSamplesCanceledInFlightAreNoLoss(t *testing.T) {
	n := wire.Null
	s := wire.Samples{
		SentNS:  wire.Column{1, 2, 3, 4, n},
		RTTNS:   wire.Column{10, 10, n, n, n},
		Failure: wire.FailureColumn{"", "", wire.FailureTimeout, wire.FailureCanceled, wire.FailureCanceled},
	}
	got := of(s, wire.Counts{Sent: 4, Received: 2, Lost: 2})
	near(t, "loss", got.LossRatio, 1.0/3)
	if got.Failures[wire.FailureCanceled] != 2 {
		t.Errorf("failures %v", got.Failures)
	}
	s.Failure[2] = wire.FailureCanceled
	s.RTTNS[0], s.RTTNS[1], s.Failure[0], s.Failure[1] = n, n, wire.FailureCanceled, wire.FailureCanceled
	if got := of(s, wire.Counts{Sent: 4, Lost: 4}); got.LossRatio != nil {
		t.Errorf("with nothing but canceled samples the loss is %v, want none", *got.LossRatio)
	}
}
