package trend_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/sweep/trend"
)

// What one pair's history of a year of hours costs, figure by figure.
func BenchmarkYear(b *testing.B) {
	rnd := rand.New(rand.NewPCG(81, 82))
	p50 := resembling(rnd, 8760, 0.9, 3, 2)
	in, err := time.LoadLocation("Europe/Amsterdam")
	if err != nil {
		b.Fatal(err)
	}
	changes := []time.Time{p50[3000].Time, p50[6000].Time}
	for name, run := range map[string]func(){
		"baseline":   func() { trend.Excess(p50, trend.Baseline(p50, changes, trend.BaselineWindow)) },
		"hours":      func() { trend.ByHour(p50, in) },
		"week":       func() { trend.ByWeekHour(trend.Detrend(p50, changes), in) },
		"diurnal":    func() { _, _ = trend.DiurnalOf(p50) },
		"trend":      func() { trend.TrendOf(p50) },
		"deviations": func() { trend.Deviations(p50, 0.5) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}
