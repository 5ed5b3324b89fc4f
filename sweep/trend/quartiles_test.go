package trend

import "testing"

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
		if q1, median, q3, ok := Quartiles(c.values); !ok || q1 != c.q1 || median != c.median || q3 != c.q3 {
			t.Errorf("of %v: %g, %g, %g, %v; want %g, %g, %g", c.values, q1, median, q3, ok, c.q1, c.median, c.q3)
		}
	}
	if _, _, _, ok := Quartiles(nil); ok {
		t.Error("nothing has quartiles")
	}
}
