package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The ranks are those of an exhaustive search in Python with scipy 1.10.1's stats.binom.cdf: of
// all pairs 1 ≤ l < u ≤ n with a coverage of 0.95 or more the narrowest, then the most probable,
// then the lowest; where there is none, of 0 ≤ l < u ≤ n + 1.
var ranks = []struct {
	n        int
	p        float64
	l, u     int
	coverage float64
}{
	{1, 0.5, 0, 2, 1},
	{5, 0.5, 0, 5, 0.9687500000},
	{6, 0.5, 1, 6, 0.9687500000},
	{20, 0.5, 6, 15, 0.9586105347},
	{21, 0.5, 6, 16, 0.9733963013},
	{37, 0.5, 13, 25, 0.9529689726},
	{100, 0.01, 0, 4, 0.9816259636},
	{100, 0.5, 40, 60, 0.9539559331},
	{100, 0.9, 84, 96, 0.9556901072},
	{100, 0.99, 97, 101, 0.9816259636}, // p99 of 100 samples may lie beyond the largest
	{200, 0.95, 184, 197, 0.9671521639},
	{255, 0.9, 220, 239, 0.9530393036},
	{1000, 0.5, 469, 531, 0.9500154765},
	{1000, 0.9, 881, 919, 0.9549071811},
	{1000, 0.95, 937, 964, 0.9504167703},
	{1000, 0.99, 984, 997, 0.9635363098},
	{1009, 0.99, 993, 1006, 0.9622027369},
	{10_000, 0.5, 4902, 5099, 0.9511670501},
	{10_000, 0.999, 9984, 9997, 0.9627139012},
	{100_000, 0.5, 49_690, 50_310, 0.9500751140},
	{100_000, 0.99, 98_938, 99_062, 0.9512338613},
	{100_000, 0.999, 99_880, 99_920, 0.9547890568},
}

func TestTheRanksOfAnIntervalAgreeWithPython(t *testing.T) {
	for _, c := range ranks {
		if l, u := Ranks(c.n, c.p); l != c.l || u != c.u {
			t.Errorf("p%v of %d: ranks %d to %d, want %d to %d", c.p*100, c.n, l, u, c.l, c.u)
		}
	}
}

func TestTheTermsOfTheBinomialAgreeWithPython(t *testing.T) {
	for _, c := range ranks {
		mode := min(int(float64(c.n+1)*c.p), c.n)
		b := binomial{n: c.n, odds: c.p / (1 - c.p)}
		total, none, all := b.sum(mode)
		within := 0.0
		for k, term := mode, 1.0; k < c.u; k, term = k+1, b.up(k, term) {
			if k >= c.l {
				within += term
			}
		}
		for k, term := mode-1, b.down(mode, 1); k >= c.l; k, term = k-1, b.down(k, term) {
			if k < c.u {
				within += term
			}
		}
		if math.Abs(within/total-c.coverage) > 1e-10 {
			t.Errorf("p%v of %d: coverage %.12f, want %.10f", c.p*100, c.n, within/total, c.coverage)
		}
		if want := math.Pow(1-c.p, float64(c.n)); want > 1e-15 && math.Abs(none/total-want) > 1e-9*want {
			t.Errorf("p%v of %d: none with %v, want %v", c.p*100, c.n, none/total, want)
		}
		if want := math.Pow(c.p, float64(c.n)); want > 1e-15 && math.Abs(all/total-want) > 1e-9*want {
			t.Errorf("p%v of %d: all with %v, want %v", c.p*100, c.n, all/total, want)
		}
	}
}

// What 100 samples say of the median and 1,000 of p99: the parts of the samples that may lie at or
// below the true one, (l … u − 1)/n, to a percent and to a tenth of one.
func TestWhat100And1000SamplesSay(t *testing.T) {
	q := QuantileOf(upTo(100), 0.5)
	near(t, "p50 of 1 … 100", q.Value, 50)
	near(t, "its lower bound, the 40th percentile", q.Low, 40)
	near(t, "its upper bound, the 60th percentile", q.High, 60)
	l, u := Ranks(1000, 0.99)
	if low, high := float64(l)/1000, float64(u-1)/1000; low != 0.984 || high != 0.996 {
		t.Errorf("p99 of 1,000 lies between %v and %v, want 0.984 and 0.996", low, high)
	}
	none := QuantileOf(upTo(999), 0.99)
	null(t, "p99 of 999", none.Value)
	null(t, "its lower bound", none.Low)
	null(t, "its upper bound", none.High)
}

// Of 1,000 seeded runs each, the interval holds the true quantile in 95 % at least, less four
// standard errors of that share (2.8 %), whatever the distribution.
func TestIntervalsHoldTheTrueQuantile(t *testing.T) {
	const runs = 1000
	slack := 4 * math.Sqrt(confidence*(1-confidence)/runs)
	distributions := map[string]func(u float64) int64{ // by their inverse
		"uniform":     func(u float64) int64 { return int64(u * 1e9) },
		"exponential": func(u float64) int64 { return int64(-math.Log1p(-u) * 1e6) },
		"Pareto":      func(u float64) int64 { return int64(math.Pow(1-u, -1.2) * 1e6) },
		"two modes":   func(u float64) int64 { return int64(u*1e5) + int64(u*2)*50_000_000 },
		"four values": func(u float64) int64 { return int64(u * 4) },
		"constant":    func(float64) int64 { return 7 },
	}
	for name, inverse := range distributions {
		for _, c := range []struct {
			n int
			p float64
		}{{20, 0.5}, {100, 0.5}, {100, 0.9}, {200, 0.95}, {1000, 0.99}} {
			random := rand.New(rand.NewPCG(uint64(c.n), math.Float64bits(c.p)))
			truth, held := float64(inverse(c.p)), 0
			for range runs {
				v := make([]int64, c.n)
				for i := range v {
					v[i] = inverse(random.Float64())
				}
				slices.Sort(v)
				if q := QuantileOf(v, c.p); *q.Low <= truth && truth <= *q.High && *q.Low <= *q.Value && *q.Value <= *q.High {
					held++
				}
			}
			if share := float64(held) / runs; share < confidence-slack {
				t.Errorf("%s: %d intervals of 1,000 for p%v of %d hold it", name, held, c.p*100, c.n)
			}
		}
	}
}

func BenchmarkRanksOfP99Of100000(b *testing.B) {
	for b.Loop() {
		Ranks(100_000, 0.99)
	}
}
