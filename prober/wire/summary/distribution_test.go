package summary

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A distribution says the same as the values one by one.
func TestADistributionSaysWhatItsValuesSay(t *testing.T) {
	near := cmp.Comparer(func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*math.Abs(a) })
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 9, 20, 199, 200, 1_000, 20_000} {
		values, counts := make([]int64, n), map[int64]int{}
		for i := range values {
			values[i] = 20e6 + r.Int64N(40)*1e6
			counts[values[i]]++
		}
		d := DistributionOf(counts)
		if d.Len() != n {
			t.Fatalf("%d values: the distribution has %d", n, d.Len())
		}
		want := OfRoundTrips(values)
		want.Jitter = nil // it needs the order
		if diff := cmp.Diff(want, d.Summary(), near); diff != "" {
			t.Errorf("%d values (-one by one +distribution):\n%s", n, diff)
		}
	}
	if diff := cmp.Diff(Summary{}, DistributionOf(nil).Summary()); diff != "" {
		t.Errorf("no values:\n%s", diff)
	}
}
