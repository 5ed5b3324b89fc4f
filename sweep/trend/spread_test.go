package trend

import (
	"slices"
	"testing"
)

// The values are those of Python's statistics.quantiles(values, n=4, method="inclusive"), which is the same definition.
func TestQuartilesAreThoseOfPython(t *testing.T) {
	for _, c := range []struct {
		values         []float64
		q1, median, q3 float64
	}{
		{[]float64{5}, 5, 5, 5},
		{[]float64{2, 1}, 1.25, 1.5, 1.75},
		{[]float64{10, 4, 3, 2, 1}, 2, 3, 4},
		{[]float64{7, 1, 3, 9}, 2.5, 5, 7.5},
		{[]float64{6, 5, 4, 3, 2, 1}, 2.25, 3.5, 4.75},
	} {
		sorted := slices.Sorted(slices.Values(c.values))
		if q1, q3 := quarter(sorted, 1), quarter(sorted, 3); q1 != c.q1 || q3 != c.q3 {
			t.Errorf("of %v: %g and %g; want %g and %g", c.values, q1, q3, c.q1, c.q3)
		}
		s, ok := SpreadOf(c.values)
		if !ok || s.N != len(c.values) || s.Median != c.median || (s.Q1 != nil) != (len(c.values) >= 4) || (s.Q3 != nil) != (s.Q1 != nil) {
			t.Errorf("of %v: %+v", c.values, s)
		}
		if s.Q1 != nil && (*s.Q1 != c.q1 || *s.Q3 != c.q3) {
			t.Errorf("of %v: %g and %g; want %g and %g", c.values, *s.Q1, *s.Q3, c.q1, c.q3)
		}
	}
	if s, ok := SpreadOf(nil); ok || s != (Spread{}) {
		t.Errorf("nothing has the spread %+v", s)
	}
}
