package oneway

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const (
	millisecond = 1e6
	usual       = 20 * millisecond // apart
	decades     = int64(50 * 365 * 24 * time.Hour)
)

// farthestDelay is how far the estimated delays are from the truth.
func farthestDelay(e Estimate, m measured) float64 {
	most := 0.0
	for i := range m.at {
		most = max(most, math.Abs(float64(e.Forward[i]-m.trueForward[i])), math.Abs(float64(e.Reverse[i]-m.trueReverse[i])))
	}
	return most
}

func TestTheOffsetOfASymmetricPathIsFoundTo50Microseconds(t *testing.T) {
	for _, c := range []struct{ trip, queue float64 }{{1, 0.1}, {20, 0.5}, {180, 0.5}} {
		for _, n := range []int{100, 300, 1000} {
			worst := 0.0
			for seed := range uint64(100) {
				random := rand.New(rand.NewPCG(seed, 1))
				half, queue := c.trip/2*millisecond, c.queue*millisecond
				m := path{n, usual, half, half, 3_000_000_000, 30, exponential(queue, queue)}.measure(random)
				e, err := Of(m.at, m.forward, m.reverse)
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, math.Abs(e.Offset-m.trueOffset))
			}
			t.Logf("round trip %v ms, %d samples: at most %.1f µs off", c.trip, n, worst/1000)
			if worst > 50_000 {
				t.Errorf("round trip %v ms, %d samples: %.1f µs off", c.trip, n, worst/1000)
			}
		}
	}
}

// The truth lies within the bound, whatever the asymmetry, the queues, the drift and the offset.
func TestTheTruthLiesWithinTheBound(t *testing.T) {
	estimated, skewed := 0, 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 2))
		span := func(low, high float64) float64 { return low * math.Pow(high/low, random.Float64()) }
		trip, part := span(0.1*millisecond, 200*millisecond), random.Float64()
		if random.IntN(3) == 0 {
			part = float64(random.IntN(2)) // one direction takes no time
		}
		offset := int64((random.Float64()*2 - 1) * span(1e9, float64(decades)))
		queues := []func(*rand.Rand) (float64, float64){exponential(span(1e3, 1e7), span(1e3, 1e7)), soft(span(1e3, 1e6), span(1e3, 1e6))}
		m := path{Least + random.IntN(400), usual, trip * part, trip * (1 - part), offset, random.Float64()*200 - 100, queues[random.IntN(2)]}.measure(random)
		e, err := Of(m.at, m.forward, m.reverse)
		if err != nil {
			continue
		}
		estimated++
		if e.Skewed {
			skewed++
		}
		const rounding = 2
		if far := farthestDelay(e, m); far > e.Bound+rounding {
			t.Errorf("seed %d: a delay is %.0f ns off, beyond the bound of %.0f", seed, far, e.Bound)
		}
		if far, spacing := math.Abs(e.Offset-m.trueOffset), math.Abs(m.trueOffset)*0x1p-51; far > e.Bound+rounding+spacing {
			t.Errorf("seed %d: the offset is %.0f ns off, beyond the bound of %.0f", seed, far, e.Bound)
		}
	}
	if estimated < 2900 || skewed < 500 || skewed > estimated-200 {
		t.Errorf("of 3,000 runs %d were estimated, %d with a slope: this tests too little", estimated, skewed)
	}
}

func TestAsymmetryLeavesItsHalfInTheOffsetAndInTheBound(t *testing.T) {
	m := path{200, usual, 15 * millisecond, 5 * millisecond, 1e9, 30, exponential(1e5, 1e5)}.measure(rand.New(rand.NewPCG(3, 3)))
	e, err := Of(m.at, m.forward, m.reverse)
	if err != nil {
		t.Fatal(err)
	}
	if off := e.Offset - m.trueOffset; math.Abs(off-5*millisecond) > 50_000 {
		t.Errorf("10 ms of asymmetry put the offset %.0f ns off, want half", off)
	}
	if e.Bound < 10*millisecond || e.Bound > 10.2*millisecond {
		t.Errorf("the bound is %.0f ns, want half the round trip of 20 ms and a little", e.Bound)
	}
}

// In 2 s 30 ppm are 60 µs. With queues of 2 ms a slope would be one of the noise.
func TestASlopeIsUsedOnlyWhereTheDataSupportIt(t *testing.T) {
	used := func(n int, drift, queue float64) (runs int, farthestSkew, farthestOff float64) {
		for seed := range uint64(100) {
			half := 10.0 * millisecond
			m := path{n, usual, half, half, 0, drift, exponential(queue, queue)}.measure(rand.New(rand.NewPCG(seed, 4)))
			e, err := Of(m.at, m.forward, m.reverse)
			if err != nil {
				t.Fatal(err)
			}
			if e.Skewed {
				runs++
				farthestSkew = max(farthestSkew, math.Abs(e.SkewPPM-drift))
			} else if e.SkewPPM != 0 {
				t.Errorf("a skew of %v that is not supported", e.SkewPPM)
			}
			farthestOff = max(farthestOff, farthestDelay(e, m))
		}
		return runs, farthestSkew, farthestOff
	}
	if runs, _, _ := used(100, 30, 2*millisecond); runs > 3 {
		t.Errorf("a short, noisy run: a slope in %d of 100", runs)
	}
	if runs, _, _ := used(1000, 0, 0.5*millisecond); runs > 3 {
		t.Errorf("no drift: a slope in %d of 100", runs)
	}
	if runs, skew, off := used(100, 30, 0.01*millisecond); runs < 95 || skew > 3 || off > 60_000 {
		t.Errorf("a short, quiet run: a slope in %d of 100, %v ppm off, delays %v ns off", runs, skew, off)
	}
	if runs, skew, off := used(1000, 30, 0.5*millisecond); runs < 95 || skew > 1 || off > 50_000 {
		t.Errorf("a long run: a slope in %d of 100, %v ppm off, delays %v ns off", runs, skew, off)
	}
}

// Interleaved parts all see the same slow queue, and agree on its slope; the halves do not.
func TestAQueueThatWandersIsNoDrift(t *testing.T) {
	used := 0
	for seed := range uint64(200) {
		m := path{500, usual, 1e7, 1e7, 0, 0, wandering(200_000)}.measure(rand.New(rand.NewPCG(seed, 3)))
		e, err := Of(m.at, m.forward, m.reverse)
		if err != nil {
			continue
		}
		if e.Skewed {
			used++
		}
		if far := farthestDelay(e, m); far > e.Bound {
			t.Errorf("seed %d: a delay is %v ns off, beyond the bound of %v", seed, far, e.Bound)
		}
	}
	if used > 3 {
		t.Errorf("a slope in %d of 200 runs", used)
	}
}

// The quiet direction tells the drift; the other does not drown it.
func TestTheQuieterDirectionSaysMore(t *testing.T) {
	for seed := range uint64(50) {
		half := 10.0 * millisecond
		m := path{300, usual, half, half, 0, 30, exponential(10_000, 5*millisecond)}.measure(rand.New(rand.NewPCG(seed, 5)))
		e, err := Of(m.at, m.forward, m.reverse)
		if err != nil {
			t.Fatal(err)
		}
		if e.Skewed && math.Abs(e.SkewPPM-30) > 2 {
			t.Errorf("seed %d: skew %v ppm, want 30", seed, e.SkewPPM)
		}
	}
}

// A queue that grows in one direction is no drift, however clearly it does: a clock shows in both.
func TestAGrowingQueueIsNoDrift(t *testing.T) {
	m := path{500, usual, 1e7, 1e7, 0, 0, exponential(2e4, 1e5)}.measure(rand.New(rand.NewPCG(6, 6)))
	for i := range m.forward {
		grown := int64(i) * 10_000 // 5 ms in 10 s, or 500 ppm
		m.forward[i] += grown
		m.trueForward[i] += grown
	}
	e, err := Of(m.at, m.forward, m.reverse)
	if err != nil {
		t.Fatal(err)
	}
	if e.Skewed {
		t.Errorf("a skew of %v ppm", e.SkewPPM)
	}
	if far := farthestDelay(e, m); far > e.Bound {
		t.Errorf("a delay is %v ns off, beyond the bound of %v", far, e.Bound)
	}
}

// A rate that held for half the run is none of the run.
func TestARateThatChangedIsNoDrift(t *testing.T) {
	m := path{500, usual, 1e7, 1e7, 0, 0, exponential(2e4, 1e4)}.measure(rand.New(rand.NewPCG(9, 9)))
	for i := range m.forward {
		slewed := int64(min(i, 250)) * 400 // 20 ppm
		m.forward[i] += slewed
		m.reverse[i] -= slewed
	}
	if e, err := Of(m.at, m.forward, m.reverse); err != nil || e.Skewed {
		t.Errorf("a skew of %v ppm, %v", e.SkewPPM, err)
	}
}

// Nanoseconds are not lost in an offset of decades, which floating point does not hold.
func TestTheDelaysDoNotDependOnTheOffset(t *testing.T) {
	delays := func(offset int64) Estimate {
		m := path{100, usual, 1e7, 1e7, offset, 30, exponential(1e4, 1e4)}.measure(rand.New(rand.NewPCG(8, 8)))
		e, err := Of(m.at, m.forward, m.reverse)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, offset := range []int64{decades, -decades} {
		near, far := delays(0), delays(offset)
		if !slices.Equal(near.Forward, far.Forward) || !slices.Equal(near.Reverse, far.Reverse) || near.Bound != far.Bound {
			t.Errorf("with an offset of %d ns the delays are others than without", offset)
		}
	}
}
