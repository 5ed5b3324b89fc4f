package trend

import (
	"math"
	"testing"
)

// near says whether a value is there and right to a part in a million million.
func near(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

func flat(rate float64) (out [24]float64) {
	for h := range out {
		out[h] = rate
	}
	return out
}

func repeated(n int, rate float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rate
	}
	return out
}

const (
	mega = 1e6
	giga = 1e9
)

// 20 MB/s are 160 Mbit/s. After 30 minutes without the line 288 Gbit wait; a line of 1 Gbit/s has 840 Mbit/s
// left for them: 288,000 ÷ 840 = 342.857 s. 2 TB are 16,000 Gbit: 16,000 s. 64 KiB over 80 ms: 6.5536 Mbit/s.
func TestRecoveryOfASteadyLine(t *testing.T) {
	r := RecoveryOf(RecoveryInput{Throughput: repeated(100, giga), ByHour: flat(giga), MedianRTT: 0.080, HighRTT: 0.095,
		Change: 160 * mega, Size: 16_000 * giga, Outage: 1800, TCPWindow: 64 * 1024 * 8})
	if r.Low == nil || r.Low.Value != giga || r.Low.N != 100 || r.Sustained == nil || !*r.Sustained || r.Never {
		t.Errorf("low %+v, sustained %v, never %t", r.Low, r.Sustained, r.Never)
	}
	if !near(r.CatchUp, 288_000.0/840) || !near(r.CatchUpLow, 288_000.0/840) || !near(r.CatchUpHigh, 288_000.0/840) {
		t.Errorf("catch-up %v, want 342.857 s", *r.CatchUp)
	}
	if !near(r.RPO, 0.095) || !near(r.Ceiling, 6_553_600) {
		t.Errorf("RPO %v, ceiling %v", *r.RPO, *r.Ceiling)
	}
	for h, s := range r.Seed {
		if !near(s, 16_000) {
			t.Errorf("seed from hour %d: %v, want 16,000 s", h, s)
		}
	}
}

// The line carries 50 Mbit/s from 8 to 18 o'clock and 500 Mbit/s else; changes come at 100 Mbit/s. From 8 to 18 what
// waits grows by 50 Mbit/s × 36,000 s = 1,800 Gbit, which is 18,000 s of changes; a day carries far more than it must.
func TestALineThatIsTooSlowByDayFallsBehindByDay(t *testing.T) {
	byHour := flat(500 * mega)
	for h := 8; h < 18; h++ {
		byHour[h] = 50 * mega
	}
	in := RecoveryInput{Throughput: append(repeated(280, 50*mega), repeated(392, 500*mega)...), ByHour: byHour, MedianRTT: 0.02, HighRTT: 0.03,
		Change: 100 * mega, Size: 36_000 * 50 * mega, Outage: 600}
	r := RecoveryOf(in)
	if r.Sustained == nil || *r.Sustained || !near(r.RPO, 18_000.03) {
		t.Errorf("sustained %v, RPO %v, want false and 18,000.03 s", r.Sustained, r.RPO)
	}
	if r.CatchUp != nil || !r.Never {
		t.Errorf("catch-up %v, never %t: at its 5 %% quantile the line never catches up", r.CatchUp, r.Never)
	}
	// 1,800 Gbit from 8 o'clock on take the ten slow hours; at 18 o'clock 3,600 s of 500 Mbit/s; at 7 one hour less.
	if !near(r.Seed[8], 36_000) || !near(r.Seed[18], 3600) || !near(r.Seed[7], 3600) || !near(r.Seed[17], 3600+(1_800_000-180_000)/500.0) {
		t.Errorf("seeds from 7, 8, 17, 18: %v %v %v %v", *r.Seed[7], *r.Seed[8], *r.Seed[17], *r.Seed[18])
	}
	// A night that is too slow for the day's backlog: 24 hours carry no more than they get.
	in.ByHour = flat(100 * mega)
	if r := RecoveryOf(in); r.RPO != nil {
		t.Errorf("RPO %v of a line that never catches up", *r.RPO)
	}
}

// What waits over midnight is not forgotten: slow from 20 to 4 o'clock, 8 hours of 50 Mbit/s too little.
func TestABacklogGoesOverMidnight(t *testing.T) {
	byHour := flat(500 * mega)
	for h := range 8 {
		byHour[(20+h)%24] = 50 * mega
	}
	if most, ok := dayBacklog(byHour, 100*mega); !ok || most != 50*mega*8*3600 {
		t.Errorf("%g, %t; want 1,440 Gbit", most, ok)
	}
}

func TestSeedsOfSeveralDaysAndOfDaysWithGaps(t *testing.T) {
	// 1 Mbit/s carries 86.4 Gbit a day; 200 Gbit take two days and 27.2 Gbit: 200,000 s.
	for h, s := range RecoveryOf(RecoveryInput{ByHour: flat(mega), Size: 200 * giga, HighRTT: math.NaN()}).Seed {
		if !near(s, 200_000) {
			t.Errorf("from hour %d: %v, want 200,000 s", h, s)
		}
	}
	gap := flat(mega)
	gap[5] = math.NaN()
	r := RecoveryOf(RecoveryInput{ByHour: gap, Size: 7.2 * giga, HighRTT: math.NaN()}) // two hours
	for h, s := range r.Seed {
		if want := h != 4 && h != 5; (s != nil) != want || want && !near(s, 7200) {
			t.Errorf("from hour %d: %v", h, s)
		}
	}
	gap = flat(0)
	for h, s := range RecoveryOf(RecoveryInput{ByHour: gap, Size: giga, HighRTT: math.NaN()}).Seed {
		if s != nil {
			t.Errorf("from hour %d: %g over a line that carries nothing", h, *s)
		}
	}
}

func TestTooLittleIsNoAnswer(t *testing.T) {
	var none [24]float64
	for h := range none {
		none[h] = math.NaN()
	}
	r := RecoveryOf(RecoveryInput{Throughput: repeated(19, giga), ByHour: none, MedianRTT: math.NaN(), HighRTT: math.NaN(), Change: mega, Size: mega, Outage: 60})
	if r.Low != nil || r.Sustained != nil || r.RPO != nil || r.CatchUp != nil || r.Never || r.Ceiling != nil || r.Seed[0] != nil {
		t.Errorf("got %+v", r)
	}
}

// The ranks of scipy.stats.binom: for n = 100, p = 0.05 P(B <= 0) = 0.0059, P(B <= 1) = 0.0371, P(B <= 9) = 0.9718 and
// P(B <= 10) = 0.9885: l = 1, and u = 11, the first with P(B >= u) <= 2.5 %.
func TestTheIntervalOfALowQuantile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64((i*37)%100 + 1) // 1 to 100, in some order
	}
	e, ok := LowQuantile(values, 0.05)
	if !ok || e.Value != 5 || !near(e.Low, 1) || !near(e.High, 11) || e.N != 100 {
		t.Errorf("got %+v %v %v", e, *e.Low, *e.High)
	}
	e, ok = LowQuantile(values[:20], 0.05) // P(B <= 0) = 0.358: nothing bounds it from below; P(B <= 3) = 0.984
	if !ok || e.Low != nil || e.High == nil {
		t.Errorf("of twenty: %+v", e)
	}
	for _, p := range []float64{0, 0.5, 1, -1} {
		if _, ok := LowQuantile(values, p); ok {
			t.Errorf("p = %g was taken", p)
		}
	}
	if _, ok := LowQuantile(values[:19], 0.05); ok {
		t.Error("of nineteen values the smallest passed for their 5 % quantile")
	}
}
