package main

import (
	"context"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// alert stores an alert, and its claim where it lasts.
func (s *seeder) alert(ctx context.Context, since time.Time, f []string) error {
	a := tables.Alert{Since: since, Kind: tables.AlertKind(f[2]), Subject: f[3], Message: text(f[6:])}
	var err error
	if a.Raised, err = time.Parse("2006-01-02T15:04", f[4]); err != nil {
		return err
	}
	if _, err := s.tables.PutAlert(ctx, a); err != nil {
		return err
	}
	if f[5] == "-" {
		_, err := s.tables.Claim(ctx, nil, tables.Claim{Alert: a, State: tables.ClaimOpen, Owner: "seed", At: a.Raised})
		return err
	}
	if a.Ended, err = time.Parse("2006-01-02T15:04", f[5]); err != nil {
		return err
	}
	a.EndMessage = "as usual again"
	return s.tables.EndAlert(ctx, a)
}

// levels stores what the app keeps of a series: 28 days of hours at P50 up to the last, of which three are above it.
func (s *seeder) levels(ctx context.Context, last time.Time, f []string) error {
	p50, err := time.ParseDuration(f[6])
	if err != nil {
		return err
	}
	above, err := time.ParseDuration(f[7])
	if err != nil {
		return err
	}
	l := tables.NewSeriesLevels(wire.Series{Environment: s.environment, Source: f[2], Target: f[3], Path: f[4], Probe: f[5]}, wire.KindTCP)
	for h := 28*24 + 2; h >= 0; h-- {
		us := float64(p50.Microseconds())
		if h < 3 {
			us += float64(above.Microseconds())
		}
		l.Put(tables.Level{Begin: last.Add(-time.Duration(h) * time.Hour), P50US: &us, MinUS: &us})
	}
	l.Read = last
	return s.tables.WriteLevels(ctx, []*tables.SeriesLevels{l})
}
