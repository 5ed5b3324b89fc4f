package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Where the level does not change, next to nothing is found: counted over all seeds, in 100,000 values.
func TestChangesInNoiseAlone(t *testing.T) {
	const seeds, n = 50, 2000
	day := func(i, perDay int) float64 { return 5 * math.Sin(2*math.Pi*float64(i)/float64(perDay)) }
	for name, c := range map[string]struct {
		of   func(rnd *rand.Rand, i int, before float64) float64
		most int
	}{
		"normal":                     {func(rnd *rand.Rand, _ int, _ float64) float64 { return 100 + 3*rnd.NormFloat64() }, 0},
		"exponential":                {func(rnd *rand.Rand, _ int, _ float64) float64 { return 100 + 20*rnd.ExpFloat64() }, 0},
		"log-normal":                 {func(rnd *rand.Rand, _ int, _ float64) float64 { return 100 + 2*math.Exp(rnd.NormFloat64()) }, 1},
		"Student's t, two degrees":   {func(rnd *rand.Rand, _ int, _ float64) float64 { return 100 + student2(rnd) }, 1},
		"Pareto, no variance":        {func(rnd *rand.Rand, _ int, _ float64) float64 { return 100 + 2*math.Pow(1-rnd.Float64(), -1/1.5) }, 40},
		"every value like the last":  {func(rnd *rand.Rand, _ int, b float64) float64 { return 100 + 0.6*(b-100) + rnd.NormFloat64() }, 1},
		"a day of four-minute steps": {func(_ *rand.Rand, i int, _ float64) float64 { return 100 + day(i, 360) }, 0},
		"such a day, and noise":      {func(rnd *rand.Rand, i int, _ float64) float64 { return 100 + day(i, 360) + 0.3*rnd.NormFloat64() }, 0},
		"a slope, and noise":         {func(rnd *rand.Rand, i int, _ float64) float64 { return 100 + 0.05*float64(i) + 0.3*rnd.NormFloat64() }, 0},
	} {
		found := 0
		for seed := range uint64(seeds) {
			rnd := rand.New(rand.NewPCG(seed, 5))
			values := make([]float64, n)
			before := 100.0
			for i := range values {
				values[i] = c.of(rnd, i, before)
				before = values[i]
			}
			found += len(Changes(values, ChangeOptions{}))
		}
		t.Logf("%s: %d in %d values", name, found, seeds*n)
		if found > c.most {
			t.Errorf("%s: %d changes in %d values, want %d at most", name, found, seeds*n, c.most)
		}
	}
}

// student2 has no variance either.
func student2(rnd *rand.Rand) float64 {
	return 3 * rnd.NormFloat64() / math.Sqrt(rnd.ExpFloat64())
}

// The day of hours is known to the caller, who takes it out: what is left is no change. A step is one still.
func TestChangesOfDeseasonalisedHours(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		values := make([]float64, 24*56)
		for i := range values {
			values[i] = 80 + 5*math.Sin(2*math.Pi*float64(i%24)/24) + 0.3*rnd.NormFloat64()
			if i >= 24*28 {
				values[i] += 3
			}
		}
		for hour := range 24 {
			var same []float64
			for i := hour; i < len(values); i += 24 {
				same = append(same, values[i])
			}
			usual := medianOfValues(same)
			for i := hour; i < len(values); i += 24 {
				values[i] -= usual - 80
			}
		}
		found := Changes(values, ChangeOptions{Least: 0.5})
		if len(found) != 1 || found[0].At < 24*28-1 || found[0].At > 24*28+1 || math.Abs(found[0].After-found[0].Before-3) > 0.2 {
			t.Errorf("seed %d: %+v, want one of 3 at %d", seed, found, 24*28)
		}
	}
}
