package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"isochrone/sweep/trend"
)

// trendBar is how much processor time, in milliseconds, all figures about a year of one pair may take: what
// a person who opens the pair's page waits for, beside reading the year.
const trendBar = 300

// trend measures the statistics of one pair over a year of hours, of which each resembles the one before.
// Finding change points is not in it.
func (b *bench) trend(ctx context.Context) error {
	p50, minima := pairYear()
	in, err := time.LoadLocation("America/New_York")
	if err != nil {
		return fmt.Errorf("loading a time zone: %w", err)
	}
	changes := []time.Time{p50[len(p50)/3].Time, p50[len(p50)/2].Time}
	var all []float64
	for i := range b.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, sum := "", 0.0
		var excess []trend.Point
		for _, f := range []struct {
			name string
			run  func()
		}{
			{"baseline", func() { excess = trend.Excess(p50, trend.Baseline(minima, changes, trend.BaselineWindow)) }},
			{"profile", func() { _, _ = trend.ByHour(p50, time.UTC), trend.ByHour(p50, in) }},
			{"week", func() { trend.ByWeekHour(trend.Detrend(excess, changes), in) }},
			{"diurnal", func() { _, err = trend.DiurnalOf(p50) }},
			{"trend", func() { trend.TrendOf(p50) }},
			{"deviation", func() { trend.Deviations(p50, 0.5) }},
			{"coverage", func() { trend.KnownHours(p50, p50[0].Time, p50[len(p50)-1].Time) }},
		} {
			ms, measureErr := timeOf(f.run)
			if measureErr != nil {
				return measureErr
			}
			line, sum = line+fmt.Sprintf(" %s %.1f,", f.name, ms), sum+ms
		}
		if err != nil {
			return fmt.Errorf("computing the diurnal score of a year: %w", err)
		}
		b.say("round %d: %d hours: ms%s all %.1f", i+1, len(p50), line, sum)
		all = append(all, sum)
	}
	b.figure("trend_pair_year_cpu", median(all), "ms", atMost(trendBar))
	return nil
}

// timeOf is how many milliseconds of this process's time something takes, its collector's included.
func timeOf(run func()) (ms float64, err error) {
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	run()
	after, err := processorTime()
	return float64(after-before) / 1e6, err
}

// pairYear is the hourly p50 and minimum of a made-up pair, in milliseconds.
func pairYear() (p50, minima []trend.Point) {
	rnd := rand.New(rand.NewPCG(1, 2))
	last := 0.0
	for i := range 365 * 24 {
		last = 0.9*last + 0.3*rnd.NormFloat64()
		at := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour)
		v := 82 + math.Abs(last) + 0.6*math.Sin(2*math.Pi*float64(i)/24)
		p50 = append(p50, trend.Point{Time: at, Value: v})
		minima = append(minima, trend.Point{Time: at, Value: v - rnd.ExpFloat64()/4})
	}
	return p50, minima
}
