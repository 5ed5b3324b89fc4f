package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
)

// The bars of one pair's year: no row group that holds no row of it, and quantiles as near to the exact ones as
// the histograms promise.
const (
	lakeForeignBar  = 0
	lakeQuantileBar = 0.1 // %
)

// lake writes a year of lake files of one source, as the compactor does, and asks them for one pair: what is read of
// them, in how many requests, and what that costs us.
func (b *bench) lake(ctx context.Context) error {
	return b.withEmulator(ctx, func(server *azurite.Server, dir string) error { return b.lakeOn(ctx, server, dir) })
}

func (b *bench) lakeOn(ctx context.Context, server *azurite.Server, dir string) error {
	blobs, err := archive.Open(server.Account(), "bench")
	if err != nil {
		return err
	}
	if err := blobs.Ensure(ctx); err != nil {
		return err
	}
	begin := time.Now()
	exact, err := writeLakeYear(ctx, blobs, dir)
	if err != nil {
		return err
	}
	b.say("a year of %d files, %d rows a day, made in %.0f s", lakeDays, lakeTargets*len(compactPaths)*lakeSlots*lakeCount, time.Since(begin).Seconds())
	if err := b.lakePairs(ctx, blobs); err != nil {
		return err
	}
	return b.lakeYear(ctx, blobs, exact)
}

// lakePair is the pair that is asked for.
var lakePair = answers.SeriesQuery{Source: compactSource, Target: prober(lakeTargets / 3), Path: compactPaths[1], Probe: lakeProbe,
	Since: lakeFirst, Until: lakeFirst.AddDate(0, 0, lakeDays)}

// lakeYear reads the pair's year as sweep trend --lake does.
func (b *bench) lakeYear(ctx context.Context, blobs *archive.Store, exact []float64) error {
	var lake *answers.LakeHours
	var got *answers.Trend
	var heap, far float64
	err := b.cost("lake_pair_year", nil, func() (err error) {
		runtime.GC()
		peak, stop := heapPeak()
		defer func() { heap = max(heap, float64(peak.Load())/1e6) }()
		defer stop()
		lake = &answers.LakeHours{From: blobs}
		got, err = answers.ReadTrend(ctx, lake, nil, lakePair, lakePair.Until)
		return err
	})
	if err != nil {
		return err
	}
	if n := len(exact); got.Quantiles.N != n || got.Rests.Samples != n || got.Rests.Runs != lakeDays*lakeSlots {
		return fmt.Errorf("one pair's year of the lake: %d round trips of %d runs in the quantiles of %d: want %d of %d", got.Rests.Samples, got.Rests.Runs, got.Quantiles.N, n, lakeDays*lakeSlots)
	}
	for p, us := range map[float64]*float64{0.5: got.Quantiles.P50US, 0.9: got.Quantiles.P90US, 0.95: got.Quantiles.P95US, 0.99: got.Quantiles.P99US} {
		if us == nil {
			return fmt.Errorf("one pair's year of the lake: no quantile at %g", p)
		}
		want := quantile(exact, p) / 1000
		far = max(far, 100*math.Abs(*us-want)/want)
	}
	r := lake.Read
	b.say("one pair of %d: %d files, %d of %d bytes, %d of %d row groups, %d requests, %d round trips", lakeTargets*len(compactPaths), r.Files, r.Read, r.Size, r.Groups, r.Of, r.Requests, len(exact))
	b.figure("lake_pair_year_files", float64(r.Files), "count", nil)
	b.figure("lake_pair_year_bytes_of_files", float64(r.Size)/1e6, "MB", nil)
	b.figure("lake_pair_year_bytes_read", float64(r.Read)/1e6, "MB", nil)
	b.figure("lake_pair_year_part", float64(r.Read)/float64(r.Size), "ratio", nil)
	b.figure("lake_pair_year_row_groups_of_files", float64(r.Of), "count", nil)
	b.figure("lake_pair_year_row_groups_read", float64(r.Groups), "count", nil)
	b.figure("lake_pair_year_foreign_row_groups", float64(r.Foreign), "count", atMost(lakeForeignBar))
	b.figure("lake_pair_year_requests", float64(r.Requests), "count", nil)
	b.figure("lake_pair_year_heap", heap, "MB", nil)
	b.figure("lake_pair_year_quantiles_off", far, "%", atMost(lakeQuantileBar))
	return nil
}

// lakePairs asks one file for each of its pairs: a target whose paths lie on both sides of an end of a row group has
// both looked at, for the footer has the ends of each column alone.
func (b *bench) lakePairs(ctx context.Context, blobs *archive.Store) error {
	files, err := blobs.LakeFiles(ctx, compactSource, lakeProbe, lakeFirst, lakeFirst.AddDate(0, 0, 1))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("%d lake files of the first day: want 1", len(files))
	}
	groups, foreign := 0, 0
	var read int64
	for target := range lakeTargets {
		for _, path := range compactPaths {
			t, err := blobs.ReadTrips(ctx, files[0], prober(target), path)
			if err != nil {
				return err
			}
			if want := lakeSlots * lakeCount; len(t.Slots) != want {
				return fmt.Errorf("%d samples of %q over %q: want %d", len(t.Slots), prober(target), path, want)
			}
			groups, foreign, read = groups+t.Groups, foreign+t.Foreign, read+t.Read
		}
	}
	pairs := lakeTargets * len(compactPaths)
	b.say("each of the %d pairs of one file: %d row groups, of %d of them target and path alone because they held no row of the pair; %d bytes a pair of %d", pairs, groups, foreign, read/int64(pairs), files[0].Size)
	return nil
}

// heapPeak looks at the heap until it is stopped.
func heapPeak() (peak *atomic.Uint64, stop func()) {
	peak = &atomic.Uint64{}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return peak, func() {
		close(end)
		<-ended
	}
}
