package trend_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// Whatever the values and the times are, every statistic ends, and does not panic. What it says of such
// values is not judged.
func TestNoValuesAreTooExtreme(t *testing.T) {
	rnd := rand.New(rand.NewPCG(91, 92))
	pick := []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64,
		math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 1e300, 1, 82_000}
	for round := range 60 {
		some := pick[rnd.IntN(len(pick)):]
		points := hourly(newYear, 1+rnd.IntN(500), func(time.Time, int) float64 {
			if round%3 == 0 {
				return some[rnd.IntN(len(some))]
			}
			return math.Float64frombits(rnd.Uint64())
		})
		if round%4 == 1 { // of which nobody said that they come in order
			rnd.Shuffle(len(points), func(i, k int) { points[i].Time, points[k].Time = points[k].Time, points[i].Time })
		}
		if round%4 == 2 {
			for i := range points {
				points[i].Time = newYear
			}
		}
		changes := []time.Time{newYear.Add(100 * time.Hour), newYear.Add(50 * time.Hour)}
		trend.Excess(points, trend.Baseline(points, changes, trend.BaselineWindow))
		trend.ByWeekHour(trend.Detrend(points, changes), time.UTC)
		trend.Swing(trend.ByHour(points, time.UTC))
		_, _ = trend.DiurnalOf(points)
		trend.TrendOf(points)
		trend.Deviations(points, 0.5)
		trend.KnownHours(points, newYear, newYear.Add(100*time.Hour))
	}
}
