package trend

// quartilesFrom is of how many values there are quartiles.
const quartilesFrom = 4

// Spread is where the middle half of values lies, in their unit. The zero Spread is that of no values.
type Spread struct {
	N      int
	Median float64
	Q1, Q3 *float64 // nil for fewer than four values
}

// SpreadOf is the median and the quartiles of the values that are finite numbers, each between two values
// of the order by linear interpolation (Hyndman and Fan 1996, definition 7, R's unless told otherwise). ok
// is false when there are none.
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

// quarter is the quantile of so many quarters.
func quarter(sorted []float64, quarters int) float64 {
	n := len(sorted)
	whole, rest := (n-1)*quarters/4, float64((n-1)*quarters%4)/4
	if rest == 0 {
		return sorted[whole]
	}
	return sorted[whole]*(1-rest) + sorted[whole+1]*rest
}
