package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// hours stores hours that rollup would have made. Every hundredth has no row.
func (s *seeder) hours(ctx context.Context, first time.Time, f []string) error {
	is := wire.Series{Environment: s.environment, Source: f[2], Target: f[3], Path: f[4], Probe: f[5]}
	var us [3]float64
	for i, text := range []string{f[7], f[8], f[10]} {
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		us[i] = float64(d) / float64(time.Microsecond)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var changes []tables.HourChange
	for i := range whole(f[6]) {
		at := first.Add(time.Duration(i) * time.Hour)
		base := us[0] + 20*rnd.NormFloat64()
		if i >= whole(f[9]) {
			base += us[2]
		}
		h, err := madeHour(is, at, base, us[1])
		if err != nil {
			return err
		}
		if len(f) > 11 {
			h.Simulated = h.Runs
		}
		if i%100 != 99 {
			changes = append(changes, tables.HourChange{Put: h})
		}
	}
	return s.tables.WriteHours(ctx, changes)
}

// madeHour has 600 round trips from base on. At 15:00 UTC the median is rhythm above that of 03:00; the least one is
// the same at all times.
func madeHour(is wire.Series, at time.Time, base, rhythm float64) (*tables.Hour, error) {
	tail := 200 + rhythm*(1-math.Cos(2*math.Pi*float64(at.Hour()-3)/24)) // of the largest: the median is half of it
	samples := make([]int64, 600)
	for i := range samples {
		samples[i] = int64(1000 * (base + tail*float64(i)/600))
	}
	text, _, err := wire.EncodeHistogram(samples)
	if err != nil {
		return nil, err
	}
	quantile := func(p float64) *float64 {
		us := float64(samples[int(math.Ceil(p*600))-1]) / 1000
		return &us
	}
	n, lost := 600, 0
	low, mean, ratio, high := float64(samples[0])/1000, base+tail/2, 0.0, 0.0064
	return &tables.Hour{Series: is, Begin: at, Kind: wire.KindTCP, Inputs: "0a", Runs: 6, First: at, Last: at.Add(50 * time.Minute),
		Counts: tables.HourCounts{Sent: &n, Received: &n, Lost: &lost}, Histogram: text, Loss: tables.Loss{Sent: &n, Ratio: &ratio, Low: &ratio, High: &high},
		RTT: tables.RTTs{MinUS: &low, MeanUS: &mean, P50US: quantile(0.5), P90US: quantile(0.9), P95US: quantile(0.95), MaxUS: quantile(1)}}, nil
}
