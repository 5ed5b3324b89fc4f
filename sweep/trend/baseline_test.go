package trend_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The definition, word for word.
func TestABaselineIsTheLeastOfItsWindow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	for range 50 {
		window := time.Duration(1+rnd.IntN(40)) * time.Hour
		var points []trend.Point
		var resets []time.Time
		for i := range 300 {
			at := newYear.Add(time.Duration(i) * time.Hour)
			if rnd.IntN(10) > 0 {
				points = append(points, trend.Point{Time: at, Value: float64(rnd.IntN(50))})
			}
			if rnd.IntN(60) == 0 {
				resets = append(resets, at)
			}
		}
		got := trend.Baseline(points, resets, window)
		if len(got) != len(points) {
			t.Fatalf("%d points have %d baselines", len(points), len(got))
		}
		for i, p := range points {
			want := math.Inf(1)
			for _, q := range points[:i+1] {
				forgotten := slices.ContainsFunc(resets, func(r time.Time) bool { return q.Time.Before(r) && !r.After(p.Time) })
				if q.Time.After(p.Time.Add(-window)) && !forgotten {
					want = min(want, q.Value)
				}
			}
			if got[i].Value != want || !got[i].Time.Equal(p.Time) {
				t.Fatalf("window %s, at %s: %+v, want %g", window, p.Time, got[i], want)
			}
		}
	}
}

// After a change to a longer route the old floor is no excess.
func TestALongerRouteBeginsAnotherBaseline(t *testing.T) {
	level := func(_ time.Time, i int) float64 { return 40 + 10*float64(i/500) }
	minima := hourly(newYear, 1000, level)
	p50 := hourly(newYear, 1000, func(at time.Time, i int) float64 { return level(at, i) + 2 })
	changed := []time.Time{newYear.Add(500 * time.Hour)}
	for i, e := range trend.Excess(p50, trend.Baseline(minima, changed, trend.BaselineWindow)) {
		if e.Value != 2 {
			t.Fatalf("hour %d: excess %g, want 2", i, e.Value)
		}
	}
	without := trend.Excess(p50, trend.Baseline(minima, nil, trend.BaselineWindow))
	if without[500].Value != 12 || without[999].Value != 12 {
		t.Errorf("without the change: %g", without[500].Value)
	}
}

func TestExcessIsOfTheHoursThatHaveBoth(t *testing.T) {
	minima := hourly(newYear, 6, func(_ time.Time, i int) float64 { return []float64{5, math.NaN(), 4, 6, math.Inf(-1), 3}[i] })
	p50 := hourly(newYear.Add(time.Hour), 5, func(_ time.Time, i int) float64 { return []float64{9, 9, math.NaN(), 9, 9}[i] })
	got := trend.Excess(p50, trend.Baseline(minima, nil, trend.BaselineWindow))
	want := []trend.Point{{Time: newYear.Add(2 * time.Hour), Value: 5}, {Time: newYear.Add(5 * time.Hour), Value: 6}}
	if !slices.Equal(got, want) {
		t.Errorf("excess %v, want %v", got, want)
	}
	if got := trend.Excess(p50, nil); len(got) != 0 {
		t.Errorf("without a baseline: %v", got)
	}
	if got := trend.Baseline(nil, []time.Time{newYear}, time.Hour); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
