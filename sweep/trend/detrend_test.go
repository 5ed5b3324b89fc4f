package trend_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// Four weeks, and from the third Wednesday noon on all is 20 higher. Whoever does not detrend sees Wednesday
// afternoon to Sunday above Monday; who does sees what was there: Fridays at 17.
func TestAStepInMidWeekPaintsNoWeekday(t *testing.T) {
	monday := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	step := monday.AddDate(0, 0, 2*7+2).Add(12 * time.Hour)
	rnd := rand.New(rand.NewPCG(23, 24))
	points := hourly(monday, 4*7*24, func(at time.Time, _ int) float64 {
		v := 40 + rnd.Float64()
		if !at.Before(step) {
			v += 20
		}
		if at.Weekday() == time.Friday && at.Hour() == 17 {
			v += 5
		}
		return v
	})
	hottest := func(week [7][24]trend.Spread) (day, hour int, apart float64) {
		low, high := math.Inf(1), math.Inf(-1)
		for d := range week {
			for h, s := range week[d] {
				if s.N != 4 {
					t.Fatalf("day %d hour %d has %d values", d, h, s.N)
				}
				if s.Median > high {
					day, hour, high = d, h, s.Median
				}
				if d != 4 || h != 17 {
					low = min(low, s.Median)
				}
			}
		}
		return day, hour, high - low
	}
	week := trend.ByWeekHour(trend.Detrend(points, []time.Time{step}), time.UTC)
	if day, hour, apart := hottest(week); day != 4 || hour != 17 || apart < 4 || apart > 6 {
		t.Errorf("detrended, the hottest is day %d hour %d, %g above the coolest", day, hour, apart)
	}
	week[4][17] = week[4][18]
	if _, _, apart := hottest(week); apart > 1 {
		t.Errorf("detrended, the rest of the week lies %g apart", apart)
	}
	if _, _, apart := hottest(trend.ByWeekHour(points, time.UTC)); apart < 9 {
		t.Errorf("not detrended, the step does not show (%g): the test proves nothing", apart)
	}
}

// What is taken away is the median of each segment: the segments' medians are 0, and a level added to a
// whole segment changes nothing.
func TestDetrendingForgetsLevels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(25, 26))
	points := hourly(newYear, 300, func(time.Time, int) float64 { return rnd.NormFloat64() })
	changes := []time.Time{newYear.Add(-time.Hour), newYear.Add(100*time.Hour + time.Minute), newYear.Add(200 * time.Hour), newYear.Add(900 * time.Hour)}
	raised := make([]trend.Point, len(points))
	for i, p := range points {
		level := 3.0
		switch {
		case i >= 200:
			level = 512
		case i > 100:
			level = 64
		}
		raised[i] = trend.Point{Time: p.Time, Value: p.Value + level}
	}
	a, b := trend.Detrend(points, changes), trend.Detrend(raised, changes)
	for i := range points {
		if math.Abs(a[i].Value-b[i].Value) > 1e-9 || !a[i].Time.Equal(points[i].Time) {
			t.Fatalf("hour %d: %v and %v", i, a[i], b[i])
		}
	}
	for _, s := range [][2]int{{0, 101}, {101, 200}, {200, 300}} {
		var values []float64
		for _, p := range a[s[0]:s[1]] {
			values = append(values, p.Value)
		}
		if m, _ := trend.Median(values); math.Abs(m.Value) > 1e-12 {
			t.Errorf("the median of %v is %g", s, m.Value)
		}
	}
	points[7].Value = math.NaN()
	if got := trend.Detrend(points, changes); len(got) != 299 || !got[7].Time.Equal(points[8].Time) {
		t.Errorf("%d points remain of 299", len(got))
	}
	if got := trend.Detrend(nil, changes); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
