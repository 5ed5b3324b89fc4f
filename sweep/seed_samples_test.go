package main

import (
	"context"
	"time"

	"isochrone/sweep/result"
)

// samples stores the raw samples of a run that went well, and marks its day.
func (s *seeder) samples(ctx context.Context, slot time.Time, f []string) error {
	p50, err := time.ParseDuration(f[6])
	if err != nil {
		return err
	}
	r := s.result(slot, f)
	r.Run = goodRun(f[3], f[4], slot.Add(30*time.Second), p50, whole(f[7]), whole(f[8]))
	rs := []result.Result{r}
	if _, _, err := s.archive.RebuildSamples(ctx, f[2], slot, r.Assignment, rs, true); err != nil {
		return err
	}
	return s.tables.MarkDirty(ctx, rs)
}
