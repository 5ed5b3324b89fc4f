package trend

// quartilesFrom is of how many values there are quartiles.
const quartilesFrom = 4

// Spread is where the middle half of values lies, in their unit. The zero Spread is that of no values.
type Spread struct {
	N      int
	Median float64
	Q1, Q3 *float64 // nil for fewer than four values
}

// SpreadOf is the spread of the values that are finite numbers, by the definition of Quartiles. ok is
// false when there are none.
func SpreadOf(values []float64) (s Spread, ok bool) {
	sorted := finiteValues(values)
	if len(sorted) == 0 {
		return Spread{}, false
	}
	s = Spread{N: len(sorted), Median: middle(sorted)}
	if s.N >= quartilesFrom {
		q1, q3 := quarter(sorted, 1), quarter(sorted, 3)
		s.Q1, s.Q3 = &q1, &q3
	}
	return s, true
}
