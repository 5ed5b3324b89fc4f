package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/sweep/answers"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/tables"
)

// historyLakeSlots are what the emulator takes in reasonable time: a file of 472,000 rows a probe.
const historyLakeSlots = 4

// historyLake compacts the first slots of a source's day and asks the lake for one pair of 118: how many bytes of the
// file are read for it.
func (b *bench) historyLake(ctx context.Context, server *azurite.Server, marks *tables.Store) error {
	blobs, err := archive.Open(server.Account(), "bench")
	if err != nil {
		return err
	}
	if err := blobs.Ensure(ctx); err != nil {
		return err
	}
	err = assignmentsOf("bench", historyLakeSlots, func(a assignment) error {
		_, _, err := blobs.PutSamples(ctx, compactSource, a.slot, a.id, a.results)
		return err
	})
	if err = errors.Join(err, marks.MarkDay(ctx, compactSource, compactDate.Day)); err != nil {
		return err
	}
	c := compact.Compactor{Lake: blobs, Marks: marks, Now: func() time.Time { return compactDate.Day.Add(25 * time.Hour) }, Log: slog.New(slog.DiscardHandler)}
	if _, err := c.Run(ctx, compact.Scope{Apply: true}); err != nil {
		return err
	}
	q := answers.SeriesQuery{Source: compactSource, Target: prober(compactTargets / 2), Path: compactPaths[1], Probe: compactProbes[1], Since: compactDate.Day, Until: compactDate.Day.AddDate(0, 0, 1)}
	lake := &answers.LakeHours{From: blobs}
	begin := time.Now()
	t, err := answers.ReadTrend(ctx, lake, nil, q, q.Until)
	if err != nil {
		return err
	}
	if want := historyLakeSlots * compactCount; t.Rests.Samples > want || t.Rests.Samples < want*99/100 {
		return fmt.Errorf("one pair of the lake: %d samples of %d", t.Rests.Samples, want)
	}
	r := lake.Read
	b.say("one pair of 118 from the lake: %d of %d bytes, %d of %d row groups, in %.0f ms", r.Read, r.Size, r.Groups, r.Of, float64(time.Since(begin))/1e6)
	b.figure("history_lake_pair_row_groups", float64(r.Groups), "groups", atMost(2))
	b.figure("history_lake_pair_bytes", 100*float64(r.Read)/float64(r.Size), "%", nil)
	return nil
}
