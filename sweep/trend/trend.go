package trend

import "math"

// trendFrom is of how many points there is a trend: from ten on the statistic of Mann and Kendall is close
// to normal (Kendall, Rank Correlation Methods, section 4.7).
const trendFrom = 10

// Trend says whether values rise or fall over the whole of the points.
type Trend struct {
	// Slope is the median of the slopes between all two of the points, in units of the values per day
	// (Theil 1950, Sen 1968). Its interval is Sen's, with the variance by which P is computed.
	Slope Estimate
	// P is how probable a Tau so far from 0 is when nothing rises or falls: the test of Mann and Kendall,
	// two-sided, with continuity, ties counted, and the variance corrected for values that resemble those
	// of the hours before (Hamed and Rao 1998).
	P   float64
	Tau float64 // (rising pairs − falling pairs) ÷ pairs
	// Inflation is the correction of the variance: 1 says that the points are worth their number, 10 that
	// they are worth a tenth of it.
	Inflation float64
	N         int
}

// TrendOf is the trend of points. ok is false for fewer than ten. Points of a time that has one already are
// left out.
//
// The correction is that of Hamed and Rao, A Modified Mann-Kendall Trend Test for Autocorrelated Data
// (Journal of Hydrology 204, 1998), with three precautions. What the slope leaves is taken less the median
// of its hour of the day before it is ranked, as far as there is a week of hours: a daily rhythm would hide
// how alike neighbours are. Lags count up to the first that is not significant. The variance never gets
// smaller. Lags count points: where hours are missing those beside the gap are taken for neighbours.
func TrendOf(points []Point) (t Trend, ok bool) {
	points = distinct(finite(points))
	n := len(points)
	if n < trendFrom {
		return Trend{}, false
	}
	x, y := make([]float64, n), valuesOf(points)
	for i, p := range points {
		x[i] = p.Time.Sub(points[0].Time).Hours() / 24
	}
	s := slopesOf(x, y)
	score := float64(s.all-s.zero.atMost) - float64(s.zero.less)
	t = Trend{N: n, Tau: score / float64(s.all), P: 1, Slope: Estimate{N: n, Value: s.median()}}
	rest := make([]float64, n)
	for i := range y {
		rest[i] = y[i] - t.Slope.Value*x[i]
	}
	t.Inflation = max(1, hamedRao(n, firstSignificant(n, autocorrelation(midranks(withoutDay(points, rest))))))
	deviation := math.Sqrt(scoreVariance(y) * t.Inflation)
	if deviation > 0 {
		t.P = math.Erfc(max(math.Abs(score)-1, 0) / deviation / math.Sqrt2)
	}
	// Sen's ranks, as scipy.stats.theilslopes rounds them.
	if half := z * deviation; half > 0 {
		l, h := int(math.RoundToEven((float64(s.all)-half)/2)), int(math.RoundToEven((float64(s.all)+half)/2))
		if l >= 1 && h < s.all {
			low, high := s.kth(l), s.kth(h+1)
			t.Slope.Low, t.Slope.High = &low, &high
		}
	}
	return t, true
}

// withoutDay is the values of points less the median of those of the same hour of the day, of UTC, when each
// has a week of them.
func withoutDay(points []Point, values []float64) []float64 {
	var of [24][]float64
	hours := 0
	for i, p := range points {
		h := p.Time.UTC().Hour()
		if of[h] = append(of[h], values[i]); len(of[h]) == 1 {
			hours++
		}
	}
	if len(values) < 7*hours {
		return values
	}
	var usual [24]float64
	for h := range of {
		s, _ := SpreadOf(of[h])
		usual[h] = s.Median
	}
	out := make([]float64, len(values))
	for i, p := range points {
		out[i] = values[i] - usual[p.Time.UTC().Hour()]
	}
	return out
}

// scoreVariance is that of rising less falling pairs among independent values (Kendall, Rank Correlation
// Methods, section 4.4).
func scoreVariance(values []float64) float64 {
	of := func(n float64) float64 { return n * (n - 1) * (2*n + 5) / 18 }
	v := of(float64(len(values)))
	for _, tied := range ties(values) {
		v -= of(float64(tied))
	}
	return v
}
