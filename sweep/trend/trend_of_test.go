package trend_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// resembling is a series of which each value resembles the one before by phi, with a daily rhythm and a
// rise over all of it.
func resembling(rnd *rand.Rand, hours int, phi, rhythm, rise float64) []trend.Point {
	last := 0.0
	for range 200 {
		last = phi*last + rnd.NormFloat64()
	}
	return hourly(newYear, hours, func(_ time.Time, i int) float64 {
		last = phi*last + rnd.NormFloat64()
		return 80 + last + rhythm*math.Sin(2*math.Pi*float64(i)/24) + rise*float64(i)/float64(hours)
	})
}

// Gilbert, Statistical Methods for Environmental Pollution Monitoring (1987), page 212: 22 values of which
// the test of Mann and Kendall has z = 3.1, among them ties.
func TestMannKendallOfGilbert(t *testing.T) {
	values := []float64{20, 20, 20, 20, 15, 20, 20, 30, 27, 26, 23, 35, 25, 28, 70, 26, 24, 34, 32, 23, 50, 30}
	points := hourly(newYear, len(values), func(_ time.Time, i int) float64 { return values[i] })
	got, ok := trend.TrendOf(points)
	if !ok || got.Inflation != 1 {
		t.Fatalf("%+v, %t", got, ok)
	}
	if z := math.Sqrt2 * math.Erfcinv(got.P); math.Abs(z-3.1) > 0.05 {
		t.Errorf("z is %.3f, published is 3.1", z)
	}
}

func TestALineHasItsSlope(t *testing.T) {
	for _, perDay := range []float64{-3, 0.125, 0} {
		points := hourly(newYear, 24*20, func(_ time.Time, i int) float64 { return 80 + perDay*float64(i)/24 })
		got, ok := trend.TrendOf(points)
		if !ok || math.Abs(got.Slope.Value-perDay) > 1e-9 || got.N != 480 || got.Slope.N != 480 {
			t.Errorf("%g a day: %+v", perDay, got)
		}
		switch {
		case perDay == 0 && (got.P != 1 || got.Tau != 0 || got.Slope.Low != nil):
			t.Errorf("values that are all the same: %+v", got)
		case perDay != 0 && (got.P > 1e-9 || got.Tau != math.Copysign(1, perDay) || !got.Slope.Difference()):
			t.Errorf("%g a day: %+v", perDay, got)
		}
	}
}

// A fifth of wild values moves the slope hardly, gaps do not.
func TestATrendStandsOutliersAndGaps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(41, 42))
	points := hourly(newYear, 24*60, func(_ time.Time, i int) float64 { return 80 + 0.5*float64(i)/24 + rnd.NormFloat64() })
	for i := range points {
		if rnd.IntN(5) == 0 {
			points[i].Value = 1000 * rnd.Float64()
		}
	}
	points = slices.Delete(points, 300, 700)
	got, _ := trend.TrendOf(points)
	if math.Abs(got.Slope.Value-0.5) > 0.05 || got.P > 1e-6 || !got.Slope.Difference() {
		t.Errorf("%+v", got)
	}
}

// Of values in another unit the slope is in that unit, of values upside down it is the other way round, of
// later ones it is the same; P is always the same.
func TestATrendKnowsNoUnit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(43, 44))
	points := resembling(rnd, 700, 0.7, 2, 3)
	base, _ := trend.TrendOf(points)
	for what, c := range map[string]struct{ factor, level float64 }{"in another unit": {1000, 7}, "upside down": {-1, 0}} {
		changed := make([]trend.Point, len(points))
		for i, p := range points {
			changed[i] = trend.Point{Time: p.Time.AddDate(0, 0, 30), Value: c.factor*p.Value + c.level}
		}
		got, _ := trend.TrendOf(changed)
		low, high := c.factor**base.Slope.Low, c.factor**base.Slope.High
		if math.Abs(got.P-base.P) > 1e-9 || math.Abs(got.Slope.Value-c.factor*base.Slope.Value) > 1e-6 ||
			math.Abs(*got.Slope.Low-min(low, high)) > 1e-3*math.Abs(low) || math.Abs(*got.Slope.High-max(low, high)) > 1e-3*math.Abs(high) {
			t.Errorf("%s: %+v [%g %g], was %+v [%g %g]", what, got, *got.Slope.Low, *got.Slope.High, base, *base.Slope.Low, *base.Slope.High)
		}
	}
}

func TestATrendNeedsTenPoints(t *testing.T) {
	points := hourly(newYear, 12, func(_ time.Time, i int) float64 { return float64(i) })
	if _, ok := trend.TrendOf(points[:9]); ok {
		t.Error("nine points have a trend")
	}
	if _, ok := trend.TrendOf(nil); ok {
		t.Error("nothing has a trend")
	}
	points[3].Value, points[4].Value, points[5].Time = math.NaN(), math.Inf(1), points[6].Time
	if got, ok := trend.TrendOf(points); ok {
		t.Errorf("nine points, two that are none and one of a time that is there: %+v", got)
	}
	if got, ok := trend.TrendOf(points[:2:2]); ok {
		t.Errorf("two points: %+v", got)
	}
}

// Series that have no trend: plain Mann–Kendall finds one in most; corrected, in about as many as it should,
// while a trend that is there is found.
func TestHoursThatResembleEachOtherMakeNoTrend(t *testing.T) {
	rnd := rand.New(rand.NewPCG(45, 46))
	const rounds, hours = 120, 4 * 7 * 24
	for _, c := range []struct {
		phi, rhythm   float64
		plain, mostly float64 // the part that plain Mann–Kendall flags at least, and ours at most
	}{{0, 0, 0, 0.08}, {0, 3, 0, 0.08}, {0.5, 0, 0.15, 0.10}, {0.9, 0, 0.5, 0.13}, {0.9, 5, 0.2, 0.10}} {
		plain, ours, found := 0, 0, 0
		for range rounds {
			got, _ := trend.TrendOf(resembling(rnd, hours, c.phi, c.rhythm, 0))
			if got.P < 0.05 {
				ours++
			}
			z := math.Abs(got.Tau) * math.Sqrt(9*hours*(hours-1)/(2*(2*hours+5.0)))
			if z > 1.96 {
				plain++
			}
			if (got.P < 0.05) != got.Slope.Difference() && math.Abs(got.P-0.05) > 0.005 {
				t.Errorf("P is %g, the interval %g to %g", got.P, *got.Slope.Low, *got.Slope.High)
			}
			if got, _ := trend.TrendOf(resembling(rnd, hours, c.phi, c.rhythm, 8)); got.P < 0.05 && got.Slope.Value > 0 {
				found++
			}
		}
		of := func(n int) float64 { return float64(n) / rounds }
		if of(plain) < c.plain || of(ours) > c.mostly || of(found) < 0.9 {
			t.Errorf("%+v: plain flags %.3f, ours %.3f, and %.3f of those that rise", c, of(plain), of(ours), of(found))
		}
	}
}
