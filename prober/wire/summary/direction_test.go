package summary

import (
	"math"
	"math/rand/v2"
	"testing"

	"isochrone/prober/wire"
)

// directed is a udp run over a path of 12 ms there and 8 ms back, with queues of 0.1 ms in the
// mean, to a target whose clock is ahead by that much and drifts by 30 ppm.
func directed(n int, ahead int64) *wire.Run {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	r := good(wire.KindUDP, n)
	r.Timestamps = wire.TimestampsKernel
	s := &r.Samples
	for i := range n {
		f, b := 12*millisecond+int64(random.ExpFloat64()*1e5), 8*millisecond+int64(random.ExpFloat64()*1e5)
		offset := ahead + s.SentNS[i]*30/1_000_000
		s.RTTNS[i] = f + b
		s.ForwardNS, s.ReverseNS = append(s.ForwardNS, f+offset), append(s.ReverseNS, b-offset)
	}
	return r
}

// about checks a figure to a tolerance.
func about(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is null, want %v", what, want)
	} else if math.Abs(*got-want) > tolerance {
		t.Errorf("%s is %v, want %v ± %v", what, *got, want, tolerance)
	}
}

func withClocks(source, target int64) (func(*wire.Run) *wire.Run, wire.Provenance) {
	return func(r *wire.Run) *wire.Run { r.TargetClockErrorNS = &target; return r }, wire.Provenance{ClockErrorNS: &source}
}

func TestWithoutClocksTheMinimaGiveTheOffset(t *testing.T) {
	const ahead = 7_000_000_000
	o := Of(directed(1000, ahead), &wire.Provenance{}).OneWay
	if o == nil || o.Method != OneWayMinima {
		t.Fatalf("%+v", o)
	}
	// 4 ms of asymmetry leave 2 ms in the offset; 10 s at 30 ppm are 0.3 ms by the middle.
	about(t, "offset", o.OffsetNS, ahead+2*millisecond+299_700, 20_000)
	about(t, "skew", o.SkewPPM, 30, 0.5)
	about(t, "bound", o.Bound, 10*millisecond, 100_000)
	about(t, "forward minimum", o.ForwardMin, 10*millisecond, 20_000)
	about(t, "reverse minimum", o.ReverseMin, 10*millisecond, 20_000)
	about(t, "forward median", o.ForwardP50, 10*millisecond+69_300, 20_000)
	about(t, "reverse median", o.ReverseP50, 10*millisecond+69_300, 20_000)
	// Quantiles of an exponential queue: −ln(0.05) and −ln(0.01) of its mean.
	about(t, "forward variation, p95", o.ForwardPDV95, 299_573, 40_000)
	about(t, "forward variation, p99", o.ForwardPDV99, 460_517, 120_000)
	about(t, "reverse variation, p95", o.ReversePDV95, 299_573, 40_000)
	about(t, "reverse variation, p99", o.ReversePDV99, 460_517, 120_000)
}

func TestVariationNeedsTenSamplesAbove(t *testing.T) {
	o := Of(directed(199, 0), &wire.Provenance{}).OneWay
	null(t, "p95 of 199", o.ForwardPDV95)
	o = Of(directed(200, 0), &wire.Provenance{}).OneWay
	if o.ForwardPDV95 == nil || o.ForwardPDV99 != nil {
		t.Errorf("of 200: p95 %v, p99 %v", o.ForwardPDV95, o.ForwardPDV99)
	}
}

func TestTheMethodWithTheSmallerBoundIsTaken(t *testing.T) {
	set, p := withClocks(400_000, 600_000)
	o := Of(set(directed(100, 300_000)), &p).OneWay
	if o.Method != OneWayClocks {
		t.Fatalf("with clocks good to 1 ms: %+v", o)
	}
	near(t, "bound", o.Bound, 1*millisecond)
	about(t, "forward minimum", o.ForwardMin, 12_300_000, 70_000) // as measured, offset and all
	about(t, "reverse minimum", o.ReverseMin, 7_700_000, 70_000)
	null(t, "offset", o.OffsetNS)
	set, p = withClocks(6*millisecond, 6*millisecond)
	if o = Of(set(directed(100, 300_000)), &p).OneWay; o.Method != OneWayMinima {
		t.Errorf("with clocks good to 12 ms, and minima to 10: %+v", o)
	}
}

// The clocks claim 1 ms; packets that arrive 2 ms before they were sent prove them wrong.
func TestClocksAreNotBelievedAgainstThePackets(t *testing.T) {
	for _, ahead := range []int64{-14 * millisecond, 10 * millisecond} {
		set, p := withClocks(500_000, 500_000)
		if o := Of(set(directed(100, ahead)), &p).OneWay; o.Method != OneWayMinima || o.OffsetNS == nil {
			t.Errorf("clocks that are %d ns apart: %+v", ahead, o)
		}
	}
}

func TestOneClocksErrorIsNotEnough(t *testing.T) {
	source := int64(1000)
	if o := Of(directed(100, 0), &wire.Provenance{ClockErrorNS: &source}).OneWay; o.Method != OneWayMinima {
		t.Errorf("%+v", o)
	}
}

func nothingAbsolute(t *testing.T, what string, o *OneWay) {
	t.Helper()
	if o == nil || o.Method != "" || o.Bound != nil || o.ForwardMin != nil || o.ForwardP50 != nil || o.ReverseMin != nil || o.ReverseP50 != nil || o.OffsetNS != nil || o.SkewPPM != nil {
		t.Errorf("%s: %+v, want nothing absolute", what, o)
	}
}

func TestWithoutABoundOnlyTheVariationIsTold(t *testing.T) {
	set, p := withClocks(1000, 1000)
	steps := 1
	r := set(directed(300, 0))
	r.ClockSteps = &steps
	o := Of(r, &p).OneWay
	nothingAbsolute(t, "a sample without kernel time stamps", o)
	about(t, "its variation", o.ForwardPDV95, 299_573, 80_000)

	r = directed(300, 0) // and where the delays show the step, they show no variation
	for i := 150; i < 300; i++ {
		r.Samples.ForwardNS[i] += 1_000_000_000
		r.Samples.ReverseNS[i] -= 1_000_000_000
	}
	o = Of(r, &wire.Provenance{}).OneWay
	nothingAbsolute(t, "a clock that was set", o)
	null(t, "its variation", o.ForwardPDV95)

	nothingAbsolute(t, "19 samples", Of(directed(19, 0), &wire.Provenance{}).OneWay)
	if o = Of(set(directed(19, 0)), &p).OneWay; o.Method != OneWayClocks || o.ForwardMin == nil || o.ForwardP50 != nil {
		t.Errorf("clocks need no fit: %+v", o)
	}
}

func TestDirectionsOfOtherRuns(t *testing.T) {
	if o := Of(good(wire.KindTCP, 100), &wire.Provenance{}).OneWay; o != nil {
		t.Errorf("tcp: %+v", o)
	}
	set, p := withClocks(1000, 1000)
	nothingAbsolute(t, "a run without a reply", Of(set(good(wire.KindUDP, 100)), &p).OneWay)
	r := set(directed(100, 0))
	for i := range 100 {
		r.Samples.ReverseNS[i] = wire.Null
	}
	nothingAbsolute(t, "one direction", Of(r, &p).OneWay)
}
