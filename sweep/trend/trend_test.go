package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The definitions, word for word, on every pair: what the search finds without them must be the same.
func TestTheSearchFindsWhatSortingFinds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		n, m := 1+rnd.IntN(30), 1+rnd.IntN(30)
		draw := func(n int) (v []float64) {
			for range n {
				x := rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(7)-3))
				if round%3 == 0 {
					x = math.Round(x) // ties, and zeros
				}
				v = append(v, x)
			}
			return v
		}
		a, b := draw(n), draw(m)
		var walsh, differences []float64
		for i := range a {
			for j := i; j < len(a); j++ {
				walsh = append(walsh, a[i]/2+a[j]/2)
			}
			for j := range b {
				differences = append(differences, a[i]-b[j])
			}
		}
		paired, _ := Paired(a)
		shift, _ := Shift(a, b)
		check(t, "paired", paired, walsh, signedRank(n))
		check(t, "shift", shift, differences, rankSum(n, m))
		again, _ := Shift(b, a)
		if again.Value != -shift.Value || (shift.Low != nil) != (again.Low != nil) || shift.Low != nil && (*again.Low != -*shift.High || *again.High != -*shift.Low) {
			t.Errorf("the groups in the other order: %+v, %+v", shift, again)
		}
	}
}

func check(t *testing.T, what string, e Estimate, all []float64, k int) {
	t.Helper()
	slices.Sort(all)
	if e.Value != middle(all) {
		t.Errorf("%s: %v, want %v", what, e.Value, middle(all))
	}
	switch {
	case k == 0 && (e.Low != nil || e.High != nil):
		t.Errorf("%s: an interval of %d values", what, e.N)
	case k > 0 && (*e.Low != all[k-1] || *e.High != all[len(all)-k]):
		t.Errorf("%s: %v to %v, want %v to %v", what, *e.Low, *e.High, all[k-1], all[len(all)-k])
	}
}

// Of few values nothing can be told: with 5 differences even the most extreme signs have a
// probability of 1 in 16.
func TestFewValuesHaveNoInterval(t *testing.T) {
	v := []float64{1, 2, 3, 4, 5, 6}
	for n := range 7 {
		p, ok := Paired(v[:n])
		m, _ := Median(v[:n])
		if ok != (n > 0) || (p.Low != nil) != (n >= 6) || (m.Low != nil) != (n >= 6) || p.Difference() != (n >= 6) {
			t.Errorf("%d values: %+v %+v", n, p, m)
		}
	}
	for _, c := range []struct {
		n, m int
		told bool
	}{{1, 1, false}, {3, 4, false}, {2, 7, false}, {2, 8, true}, {4, 4, true}, {3, 5, true}, {1, 38, false}, {1, 50, false}} {
		s, ok := Shift(make([]float64, c.n), make([]float64, c.m))
		if !ok || (s.Low != nil) != c.told {
			t.Errorf("%d and %d values: %+v", c.n, c.m, s)
		}
	}
	if _, ok := Shift(nil, v); ok {
		t.Error("a shift of no values")
	}
	if _, ok := Median(nil); ok {
		t.Error("a median of no values")
	}
}

// Published critical values: Hollander, Wolfe and Chicken, tables A.4 and A.6; the smallest statistic
// at a two-sided 5 % is one less than the rank.
func TestRanksAreThoseOfTheTables(t *testing.T) {
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89, 30: 137, 50: 434} {
		if k := signedRank(n); k != critical+1 {
			t.Errorf("signed rank of %d: %d, want %d", n, k, critical+1)
		}
	}
	for _, c := range [][3]int{{4, 4, 0}, {5, 5, 2}, {8, 8, 13}, {10, 10, 23}, {15, 15, 64}, {20, 20, 127}, {5, 10, 8}, {10, 20, 55}} {
		if k := rankSum(c[0], c[1]); k != c[2]+1 || rankSum(c[1], c[0]) != k {
			t.Errorf("rank sum of %d and %d: %d, want %d", c[0], c[1], k, c[2]+1)
		}
	}
}

// Where the computed distribution gives way to the normal one the ranks go on as they were.
func TestTheApproximationContinuesTheExactRanks(t *testing.T) {
	step := signedRank(exactPairs) - signedRank(exactPairs-1)
	if next := signedRank(exactPairs+1) - signedRank(exactPairs); next < step-2 || next > step+4 {
		t.Errorf("signed rank: steps of %d, then %d", step, next)
	}
	step = rankSum(exactGroup, exactGroup) - rankSum(exactGroup, exactGroup-1)
	if next := rankSum(exactGroup, exactGroup+1) - rankSum(exactGroup, exactGroup); next < step-2 || next > step+4 {
		t.Errorf("rank sum: steps of %d, then %d", step, next)
	}
}

// The interval holds the truth as often as it says.
func TestIntervalsHoldTheTruth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	const rounds = 2000
	var paired, shift, median int
	for range rounds {
		var a, b []float64
		for range 15 {
			a = append(a, 5+rnd.NormFloat64())
			b = append(b, rnd.NormFloat64())
		}
		p, _ := Paired(a)
		s, _ := Shift(a, b)
		m, _ := Median(a)
		for _, c := range []struct {
			e     Estimate
			truth float64
			held  *int
		}{{p, 5, &paired}, {s, 5, &shift}, {m, 5, &median}} {
			if *c.e.Low <= c.truth && c.truth <= *c.e.High {
				*c.held++
			}
		}
	}
	for what, held := range map[string]int{"paired": paired, "shift": shift, "median": median} {
		if part := float64(held) / rounds; part < 0.94 || part > 0.985 {
			t.Errorf("%s: the truth is inside %.3f of the intervals", what, part)
		}
	}
}

// A year of ten-minute slots is 52,560 differences: more than a thousand million averages.
func TestManyValuesTakeNoMemory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	v := make([]float64, 52_560)
	for i := range v {
		v[i] = 2.5 + rnd.NormFloat64()
	}
	p, _ := Paired(v)
	s, _ := Shift(v, make([]float64, 30_000))
	m, _ := Median(v)
	for _, e := range []Estimate{p, s, m} {
		if math.Abs(e.Value-2.5) > 0.05 || *e.High-*e.Low > 0.05 || *e.Low > e.Value || *e.High < e.Value {
			t.Errorf("%v, %v to %v", e.Value, *e.Low, *e.High)
		}
	}
}
