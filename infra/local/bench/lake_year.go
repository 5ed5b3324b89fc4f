package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/result"
)

// A source's year, small enough to be made in minutes and with files of more than one row group.
const (
	lakeDays    = 365
	lakeTargets = 30
	lakeSlots   = 8 // a day
	lakeCount   = 150
	lakeProbe   = "icmp-64"
)

// lakeFirst is the first day of the year.
var lakeFirst = time.Date(2025, 11, 30, 0, 0, 0, 0, time.UTC)

// writeLakeYear writes a lake file a day by the merge that the compactor uses, and gives the round trips, in
// nanoseconds, of the pair that will be asked for.
func writeLakeYear(ctx context.Context, blobs *archive.Store, dir string) (exact []float64, err error) {
	ofDay := make([][]float64, lakeDays)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i := range lakeDays {
		g.Go(func() (err error) {
			ofDay[i], err = writeLakeDay(ctx, blobs, dir, lakeFirst.AddDate(0, 0, i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("making a year of the lake: %w", err)
	}
	for _, day := range ofDay {
		exact = append(exact, day...)
	}
	return exact, nil
}

func writeLakeDay(ctx context.Context, blobs *archive.Store, dir string, day time.Time) (exact []float64, err error) {
	m := archive.NewSampleMerge(lakeProbe, dir)
	defer func() { err = errors.Join(err, m.Close()) }()
	for i := range lakeSlots {
		slot := day.Add(time.Duration(i) * 24 * time.Hour / lakeSlots)
		id := wire.AssignmentID("bench", slot, compactSource, lakeProbe, 0)
		results := lakeRuns(slot, id)
		body, _, err := archive.EncodeSamples(results)
		if err != nil {
			return nil, err
		}
		f, err := archive.OpenRawSamples(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return nil, err
		}
		sum := md5.Sum(body)
		if err := m.Add(slot.Format("1504")+"_"+id, hex.EncodeToString(sum[:]), f); err != nil {
			return nil, err
		}
		for _, r := range results {
			if r.Series.Target != lakePair.Target || r.Series.Path != lakePair.Path {
				continue
			}
			for _, rtt := range r.Run.Samples.RTTNS {
				if rtt != wire.Null {
					exact = append(exact, float64(rtt))
				}
			}
		}
	}
	return exact, blobs.WriteLake(ctx, archive.SourceDay{Source: compactSource, Day: day}, lakeProbe, "", m.Write)
}

// lakeRuns are the runs of a slot to all targets over all paths.
func lakeRuns(slot time.Time, id string) (out []result.Result) {
	random := rand.New(rand.NewPCG(uint64(slot.Unix()), 7))
	for target := range lakeTargets {
		for path, name := range compactPaths {
			start := slot.Add(30*time.Second + time.Duration(random.Int64N(1e6)))
			base := 5e6 + 6e6*float64(target) + 1e6*float64(path) + 2e6*random.Float64()
			run := wire.Run{Target: prober(target), Path: name, Kind: wire.KindICMP, PlannedStart: start, Start: &start}
			s := &run.Samples
			for i := range int64(lakeCount) {
				due := i * int64(20*time.Millisecond)
				rtt, failure := int64(base*(1+0.02*random.ExpFloat64())), wire.Failure("")
				if random.IntN(1000) == 0 {
					rtt, failure = wire.Null, wire.FailureTimeout
				}
				s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, i), append(s.DueNS, due), append(s.SentNS, due+random.Int64N(100_000))
				s.RTTNS, s.Failure = append(s.RTTNS, rtt), append(s.Failure, failure)
			}
			out = append(out, result.Result{Series: wire.Series{Environment: "bench", Source: compactSource, Target: run.Target, Path: name, Probe: lakeProbe},
				Slot: slot, Assignment: id, Run: run})
		}
	}
	return out
}
