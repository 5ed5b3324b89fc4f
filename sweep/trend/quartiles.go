package trend

import "slices"

// Quartiles are the lower quartile, the median and the upper quartile of values, each between two
// values of the order by linear interpolation (Hyndman and Fan 1996, definition 7, R's unless
// told otherwise). ok is false without values.
func Quartiles(values []float64) (q1, median, q3 float64, ok bool) {
	if len(values) == 0 {
		return 0, 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return quarter(sorted, 1), middle(sorted), quarter(sorted, 3), true
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
