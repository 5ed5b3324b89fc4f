package summary

import (
	"slices"
	"testing"

	"isochrone/prober/wire"
)

const millisecond = 1_000_000

// good is a run of n samples in which nothing is wrong: 20 ms apart, 10 ms round trips, sent 0.1
// ms late.
func good(kind wire.Kind, n int) *wire.Run {
	r := &wire.Run{Kind: kind, Timestamps: wire.TimestampsUser, Counts: wire.Counts{Sent: n, Received: n}}
	r.Samples.Failure = make(wire.FailureColumn, n)
	for i := range n {
		due := int64(i) * 20 * millisecond
		r.Samples.DueNS, r.Samples.SentNS = append(r.Samples.DueNS, due), append(r.Samples.SentNS, due+100_000)
		r.Samples.RTTNS = append(r.Samples.RTTNS, 10*millisecond)
	}
	return r
}

func column(n int, v int64) wire.Column { return slices.Repeat(wire.Column{v}, n) }

func degraded(t *testing.T, what string, r *wire.Run, p wire.Provenance, want ...Reason) {
	t.Helper()
	if got := Of(r, &p).Noise.Degraded; !slices.Equal(got, want) {
		t.Errorf("%s: degraded by %q, want %q", what, got, want)
	}
}

func TestARunThatIsWellIsNotDegraded(t *testing.T) {
	for _, kind := range wire.Kinds() {
		degraded(t, string(kind), good(kind, 100), wire.Provenance{})
	}
	degraded(t, "nothing", &wire.Run{Kind: wire.KindTCP}, wire.Provenance{})
}

// More than 1 % of the samples, and two at least: one stray in 20 says nothing.
func TestLateSends(t *testing.T) {
	for _, c := range []struct {
		n, late int
		is      bool
	}{{20, 1, false}, {20, 2, true}, {100, 1, false}, {100, 2, true}, {1000, 10, false}, {1000, 11, true}} {
		for _, by := range []int64{5 * millisecond, 5*millisecond + 1} {
			r := good(wire.KindTCP, c.n)
			for i := range c.late {
				r.Samples.SentNS[i] = r.Samples.DueNS[i] + by
			}
			var want []Reason
			if c.is && by > 5*millisecond {
				want = []Reason{ReasonLateSends}
			}
			degraded(t, "late sends", r, wire.Provenance{}, want...)
		}
	}
	r := good(wire.KindTCP, 1000)
	r.Samples.SentNS[3], r.Samples.SentNS[4] = r.Samples.DueNS[3]+80*millisecond, wire.Null
	n := Of(r, &wire.Provenance{}).Noise
	near(t, "median lateness", n.LatenessP50, 100_000)
	null(t, "p99 of 999", n.LatenessP99)
	near(t, "largest lateness", n.LatenessMax, 80*millisecond)
}

// Samples that are lost were sent late all the same.
func TestLatenessNeedsNoReply(t *testing.T) {
	r := good(wire.KindTCP, 30)
	for i := range r.Samples.RTTNS {
		r.Samples.RTTNS[i], r.Samples.Failure[i] = wire.Null, wire.FailureTimeout
		r.Samples.SentNS[i] = r.Samples.DueNS[i] + 6*millisecond
	}
	degraded(t, "a run that lost everything", r, wire.Provenance{}, ReasonLateSends)
	near(t, "lateness", Of(r, &wire.Provenance{}).Noise.LatenessP50, 6*millisecond)
}

func TestClientOverhead(t *testing.T) {
	for _, c := range []struct {
		rtt, client int64
		stamps      wire.Timestamps
		is          bool
	}{
		{1 * millisecond, 400_000, wire.TimestampsUser, false}, // less than 0.5 ms
		{1 * millisecond, 501_000, wire.TimestampsUser, true},
		{80 * millisecond, 7 * millisecond, wire.TimestampsUser, false}, // less than a tenth
		{80 * millisecond, 9 * millisecond, wire.TimestampsUser, true},
		{80 * millisecond, 9 * millisecond, wire.TimestampsKernel, false}, // is no part of the round trip
	} {
		r := good(wire.KindTCP, 20)
		r.Timestamps, r.Samples.RTTNS, r.Samples.ClientNS = c.stamps, column(20, c.rtt), column(20, c.client)
		var want []Reason
		if c.is {
			want = []Reason{ReasonClientOverhead}
		}
		degraded(t, "client overhead", r, wire.Provenance{}, want...)
		near(t, "median", Of(r, &wire.Provenance{}).Noise.ClientP50, float64(c.client))
	}
	r := good(wire.KindTCP, 20)
	r.Samples.ClientNS = column(20, wire.Null)
	r.Samples.ClientNS[7] = 9 * millisecond
	degraded(t, "one sample's overhead", r, wire.Provenance{})
}

func TestServerDwell(t *testing.T) {
	for kind, want := range map[wire.Kind][]Reason{
		wire.KindTCP: {ReasonServerDwell}, wire.KindUDP: nil, wire.KindHTTP: nil,
	} {
		r := good(kind, 100)
		r.Samples.ServerNS = column(100, 20_000)
		r.Samples.ServerNS[5] = 7 * millisecond
		degraded(t, "one request held", r, wire.Provenance{})
		r.Samples.ServerNS[6] = 7 * millisecond
		degraded(t, string(kind)+" with two held", r, wire.Provenance{}, want...)
		near(t, "median", Of(r, &wire.Provenance{}).Noise.ServerP50, 20_000)
	}
	// The round trip of udp has the dwell taken out, so only a target that stood still is noise.
	r := good(wire.KindUDP, 100)
	r.Samples.ServerNS = column(100, 20_000)
	r.Samples.ServerNS[5], r.Samples.ServerNS[6] = 100*millisecond, 2000*millisecond
	degraded(t, "udp with one request held by a target that stood still", r, wire.Provenance{})
	r.Samples.ServerNS[5] = 101 * millisecond
	degraded(t, "udp with two", r, wire.Provenance{}, ReasonServerDwell)
}

func TestStealAndClockSteps(t *testing.T) {
	some, much, none, one := 0.05, 0.051, 0, 1
	r := good(wire.KindUDP, 100)
	r.ClockSteps = &none
	degraded(t, "5 % stolen", r, wire.Provenance{CPUStealRatio: &some})
	r.ClockSteps = &one
	degraded(t, "more stolen, and a step", r, wire.Provenance{CPUStealRatio: &much}, ReasonCPUSteal, ReasonClockStep)
}
