package oneway

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func steady(n int) measured {
	return path{n, usual, 1e7, 1e7, 0, 30, exponential(1e5, 1e5)}.measure(rand.New(rand.NewPCG(7, 7)))
}

func TestAClockThatWasSetGivesNoEstimate(t *testing.T) {
	for _, by := range []int64{2_000_000, -2_000_000, 100_000_000, -1_000_000_000, 3_600_000_000_000, math.MaxInt64 / 2} {
		for _, from := range []int{10, 100, 190} {
			m := steady(200)
			for i := from; i < 200; i++ {
				m.forward[i] += by
				m.reverse[i] -= by
			}
			if e, err := Of(m.at, m.forward, m.reverse); !errors.Is(err, ErrUneven) {
				t.Errorf("set by %d ns at sample %d: offset %v, skew %v, %v; want %v", by, from, e.Offset, e.SkewPPM, err, ErrUneven)
			}
		}
	}
}

func TestARouteThatChangesIsNoClockThatWasSet(t *testing.T) {
	m := steady(200)
	for i := 100; i < 200; i++ {
		m.forward[i] += 30_000_000
	}
	if _, err := Of(m.at, m.forward, m.reverse); err != nil {
		t.Error(err)
	}
}

func TestTooFewSamples(t *testing.T) {
	m := steady(Least)
	if _, err := Of(m.at, m.forward, m.reverse); err != nil {
		t.Errorf("%d samples: %v", Least, err)
	}
	if _, err := Of(m.at[1:], m.forward[1:], m.reverse[1:]); !errors.Is(err, ErrFew) {
		t.Errorf("%d samples: %v, want %v", Least-1, err, ErrFew)
	}
	if _, err := Of(nil, nil, nil); !errors.Is(err, ErrFew) {
		t.Errorf("nothing: %v, want %v", err, ErrFew)
	}
	slices.Reverse(m.at)
	if _, err := Of(m.at, m.forward, m.reverse); !errors.Is(err, ErrFew) {
		t.Errorf("times that fall: %v, want %v", err, ErrFew)
	}
	if _, err := Of(make([]int64, Least), m.forward, m.reverse); !errors.Is(err, ErrFew) {
		t.Errorf("all at one time: %v, want %v", err, ErrFew)
	}
}

// seeds are a forward and a reverse delay each.
var seeds = [][2]int64{{0, 0}, {1, -1}, {decades, 1e7 - decades}, {math.MaxInt64, math.MinInt64 + 1}, {math.MaxInt64, math.MaxInt64}, {math.MinInt64, math.MinInt64}}

func TestNoSeedIsMissing(t *testing.T) {
	if len(seeds) != 6 {
		t.Errorf("%d seeds, want 6", len(seeds))
	}
}

// Documents come from anywhere: whatever the numbers, no panic, no endless loop, and what is
// given is finite.
func FuzzAnyNumbersAreSafe(f *testing.F) {
	for i, s := range seeds {
		f.Add(uint64(i), s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, seed uint64, a, b int64) {
		random := rand.New(rand.NewPCG(seed, 8))
		n := Least + random.IntN(50)
		at, forward, reverse := make([]int64, n), make([]int64, n), make([]int64, n)
		for i := range at {
			at[i] = random.Int64N(1 + int64(n)*(1+abs64(a)%1000))
			forward[i], reverse[i] = a, b
			if random.IntN(3) == 0 {
				forward[i] ^= int64(random.Uint64() >> random.IntN(64))
				reverse[i] ^= int64(random.Uint64() >> random.IntN(64))
			}
		}
		slices.Sort(at)
		e, err := Of(at, forward, reverse)
		if err != nil {
			return
		}
		for _, v := range []float64{e.Offset, e.SkewPPM, e.Bound} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%+v", e)
			}
		}
		if e.Bound < 0 {
			t.Errorf("the bound is %v", e.Bound)
		}
	})
}

func abs64(x int64) int64 { return max(x, -(x + 1)) }

func BenchmarkOf100(b *testing.B) {
	m := steady(100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Of(m.at, m.forward, m.reverse); err != nil {
			b.Fatal(err)
		}
	}
}
