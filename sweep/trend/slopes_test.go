package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The definition, word for word: all slopes, sorted. The search must find the same at every rank, of values
// with ties and without, in steps, with outliers, at even and uneven times.
func TestSlopesAreFoundAtEveryRank(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for round := range 120 {
		n := 2 + rnd.IntN(120)
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			if i > 0 {
				x[i] = x[i-1] + 1.0/24
				if round%2 == 0 {
					x[i] += float64(rnd.IntN(4)) / 24
				}
			}
			switch y[i] = 80_000 + 300*rnd.NormFloat64(); round % 5 {
			case 0:
				y[i] = math.Round(y[i]/200) * 200 // ties
			case 1:
				y[i] = 1000 * float64(i/40) // steps
			case 2:
				y[i] += math.Exp(8 * rnd.NormFloat64())
			case 3:
				y[i] = -2 * float64(i) // falls
			}
		}
		var all []float64
		for i := range n {
			for j := i + 1; j < n; j++ {
				all = append(all, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
		slices.Sort(all)
		s := slopesOf(x, y)
		for k := 1; k <= len(all); k += 1 + rnd.IntN(max(len(all)/40, 1)) {
			if got := s.kth(k); math.Abs(got-all[k-1]) > 1e-9*math.Max(1, math.Abs(all[k-1])) {
				t.Fatalf("round %d, %d points: slope %d of %d is %v, want %v", round, n, k, len(all), got, all[k-1])
			}
		}
		if got := s.median(); math.Abs(got-middle(all)) > 1e-9*math.Max(1, math.Abs(got)) {
			t.Fatalf("round %d: the median is %v, want %v", round, got, middle(all))
		}
		less, _ := slices.BinarySearch(all, 0)
		upTo, _ := slices.BinarySearch(all, math.SmallestNonzeroFloat64)
		if s.zero != (ranks{less, upTo}) {
			t.Fatalf("round %d: %+v, want %d below 0 and %d up to it", round, s.zero, less, upTo)
		}
	}
}

// Enough points for brackets to be narrowed down before they are listed.
func TestSlopesOfManyPoints(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	const n = 1500
	for _, step := range []float64{0, 1, 100, 1e4} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(i)/24, 80_000+300*rnd.NormFloat64()+5*float64(i)/24
			if step > 0 {
				y[i] = math.Round(y[i]/step) * step
			}
		}
		all := make([]float64, 0, n*(n-1)/2)
		for i := range n {
			for j := i + 1; j < n; j++ {
				all = append(all, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
		slices.Sort(all)
		s := slopesOf(x, y)
		for _, k := range []int{1, 2, 1000, len(all) / 10, len(all) / 3, len(all) / 2, len(all)/2 + 1, 9 * len(all) / 10, len(all) - 1, len(all)} {
			if got := s.kth(k); math.Abs(got-all[k-1]) > 1e-9*math.Max(1, math.Abs(all[k-1])) {
				t.Errorf("in steps of %g: slope %d is %v, want %v", step, k, got, all[k-1])
			}
		}
	}
}
