package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noisy is a series of levels, each of n values, with normal noise.
func noisy(rnd *rand.Rand, deviation float64, n int, levels ...float64) (out []float64) {
	for _, level := range levels {
		for range n {
			out = append(out, level+deviation*rnd.NormFloat64())
		}
	}
	return out
}

func TestChangesFindStepsInNoise(t *testing.T) {
	for name, c := range map[string]struct {
		n         int
		deviation float64
		levels    []float64
	}{
		"two days of hours":         {24, 0.2, []float64{20, 22}},
		"up and down":               {60, 0.5, []float64{80, 84, 80}},
		"a stair":                   {40, 0.3, []float64{10, 12, 14, 12, 30}},
		"below zero":                {100, 1, []float64{-5, 5, -5}},
		"a small step, long beside": {2000, 1, []float64{100, 104}},
		"no noise at all":           {24, 0, []float64{20, 21, 20}},
		"a few values":              {6, 0.01, []float64{20, 40}},
	} {
		for seed := range uint64(20) {
			found := Changes(noisy(rand.New(rand.NewPCG(seed, 1)), c.deviation, c.n, c.levels...), ChangeOptions{})
			if len(found) != len(c.levels)-1 {
				t.Errorf("%s, seed %d: %+v, want %d changes", name, seed, found, len(c.levels)-1)
				continue
			}
			for i, f := range found {
				want := (i + 1) * c.n
				off := 4 * c.deviation / math.Sqrt(float64(c.n)) * math.Sqrt(math.Pi/2)
				if c.deviation > 0 {
					off = max(off, c.deviation)
				}
				if f.At < want-1 || f.At > want+1 || math.Abs(f.Before-c.levels[i]) > off || math.Abs(f.After-c.levels[i+1]) > off || f.P > 1e-6 {
					t.Errorf("%s, seed %d: %+v, want one at %d from %v to %v", name, seed, f, want, c.levels[i], c.levels[i+1])
				}
			}
		}
	}
}

// A year of hours with a step, of which one in five is missing, and one in a hundred is far off.
func TestChangesInAYearOfHours(t *testing.T) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		values := noisy(rnd, 0.3, 4380, 80, 82)
		for i := range values {
			switch {
			case rnd.Float64() < 0.2:
				values[i] = math.NaN()
			case rnd.Float64() < 0.01:
				values[i] += 50 * rnd.ExpFloat64()
			}
		}
		values[4380] = 82
		found := Changes(values, ChangeOptions{Least: 0.5, Reach: 2})
		if len(found) != 1 || found[0].At < 4378 || found[0].At > 4382 || math.Abs(found[0].Before-80) > 0.1 || math.Abs(found[0].After-82) > 0.1 {
			t.Errorf("seed %d: %+v, want one at 4380 from 80 to 82", seed, found)
		}
	}
}

func TestChangesOfNothing(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, values := range map[string][]float64{
		"none": nil, "empty": {}, "one": {3}, "two": {3, 900}, "three": {3, 3, 900}, "constant": slices.Repeat([]float64{81.25}, 500),
		"nothing but missing": {nan, nan, inf, -inf, nan}, "one present": {nan, 3, nan}, "one that is off": append(slices.Repeat([]float64{81.25}, 50), 900, 81.25),
		"a slope": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
	} {
		if found := Changes(values, ChangeOptions{}); len(found) != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// What the level does later does not hide a change, and is none itself where it goes slowly.
func TestChangesBeforeASlope(t *testing.T) {
	values := noisy(rand.New(rand.NewPCG(3, 3)), 0.2, 300, 20)
	for i := range 3000 {
		values = append(values, 30+float64(i)/100+0.2*math.Sin(float64(i)))
	}
	if found := Changes(values, ChangeOptions{}); len(found) != 1 || found[0].At != 300 || math.Abs(found[0].Before-20) > 0.1 || math.Abs(found[0].After-30.5) > 0.1 {
		t.Errorf("%+v, want one at 300 from 20 to 30.5", found)
	}
}

// Missing values change nothing but where the others stand.
func TestChangesPassOverMissing(t *testing.T) {
	values := noisy(rand.New(rand.NewPCG(1, 3)), 0.2, 50, 20, 25, 20)
	want := Changes(values, ChangeOptions{})
	var gaps []float64
	at := make([]int, len(values))
	for i, v := range values {
		if i%3 == 0 {
			gaps = append(gaps, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[i/3%3])
		}
		at[i], gaps = len(gaps), append(gaps, v)
	}
	for i := range want {
		want[i].At = at[want[i].At]
	}
	if got := Changes(gaps, ChangeOptions{}); len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestChangesAreLargeEnough(t *testing.T) {
	values := noisy(rand.New(rand.NewPCG(2, 3)), 0.01, 50, 100, 100.8, 103, 103.7)
	for _, c := range []struct {
		o    ChangeOptions
		want []int
	}{
		{ChangeOptions{}, []int{100}},
		{ChangeOptions{Ratio: -1}, []int{50, 100, 150}},
		{ChangeOptions{Ratio: 0.0075}, []int{50, 100}},
		{ChangeOptions{Ratio: -1, Least: 0.75}, []int{50, 100}},
		{ChangeOptions{Least: 5}, nil},
		{ChangeOptions{P: 1e-300}, nil},
	} {
		var at []int
		for _, f := range Changes(values, c.o) {
			at = append(at, f.At)
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%+v: at %d, want %d", c.o, at, c.want)
		}
	}
}

// In another unit, and with another constant in it, the same values have the same changes.
func TestChangesKnowNoUnits(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var values []float64
		for range 1 + rnd.IntN(8) {
			level, n := 50+100*rnd.Float64(), 1+rnd.IntN(80)
			for range n {
				values = append(values, level+math.Exp(rnd.NormFloat64()))
			}
		}
		// A power of two changes no digit of any value: the answer is the same to the last digit.
		scaled, shifted := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			scaled[i], shifted[i] = v*1024, v*1024+1<<20
		}
		want := Changes(values, ChangeOptions{})
		got := Changes(scaled, ChangeOptions{})
		for i := range got {
			got[i].Before, got[i].After = got[i].Before/1024, got[i].After/1024
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: scaled %+v, want %+v", seed, got, want)
		}
		want, got = Changes(scaled, ChangeOptions{Ratio: -1, Least: 300}), Changes(shifted, ChangeOptions{Ratio: -1, Least: 300})
		same := slices.EqualFunc(got, want, func(a, b Change) bool {
			return a.At == b.At && math.Abs(a.Before-1<<20-b.Before) < 1e-6 && math.Abs(a.After-1<<20-b.After) < 1e-6 && math.Abs(math.Log((a.P+1e-300)/(b.P+1e-300))) < 1e-4
		})
		if !same {
			t.Errorf("seed %d: shifted %+v, want %+v", seed, got, want)
		}
	}
}
