package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
)

// lakeKey names a lake file.
type lakeKey struct {
	source, day, probe string
}

// checkLake holds the lake against the documents: of each source, day and probe as many samples, with the same
// sum of round trips.
func (m *month) checkLake(ctx context.Context, v *verdict, want map[lakeKey]figures) error {
	days, err := m.blobs.LakeDays(ctx)
	if err != nil {
		return err
	}
	for _, d := range days {
		files, err := m.blobs.LakeSamples(ctx, d)
		if err != nil {
			return err
		}
		for _, f := range files {
			v.lakeFiles++
			got, err := m.lakeFigures(ctx, f)
			if err != nil {
				return err
			}
			k := lakeKey{d.Source, d.Day.UTC().Format(time.DateOnly), f.Label}
			if w := want[k]; got.samples != w.samples || got.answered != w.answered || got.rtt != w.rtt {
				v.bad(wrongLake, max(w.samples-got.samples, got.samples-w.samples, 1), "%s holds %+v, the documents %+v", f.Name, got, w)
			}
			delete(want, k)
		}
	}
	for k, w := range want {
		if w.samples > 0 {
			v.bad(wrongLake, w.samples, "there is no file of %v", k)
		}
	}
	return nil
}

func (m *month) lakeFigures(ctx context.Context, b archive.LakeBlob) (f figures, err error) {
	body, err := m.blobs.ReadRange(ctx, b, 0, b.Size)
	if err != nil {
		return f, err
	}
	rows, err := parquet.Read[archive.LakeSample](bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return f, fmt.Errorf("reading %q: %w", b.Name, err)
	}
	f.samples = len(rows)
	for i := range rows {
		if ns := rows[i].RTTNS; ns != nil {
			f.answered++
			f.rtt += *ns
		}
	}
	return f, nil
}

// prunable says whether a day's raw samples may be gone: the lake is all that holds them then.
func (m *month) prunable(day time.Time) bool {
	return m.clock.month().Sub(day) > ledger.LateLimit+2*24*time.Hour
}
