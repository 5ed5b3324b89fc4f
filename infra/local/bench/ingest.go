package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/infra/local/azurite"
	"isochrone/sweep/archive"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

// figures of one round, in seconds.
type figures struct{ ingest, rows, parquet, rowsAndBlobs float64 }

// ingest measures what ingesting documents costs beside bare loops that write the same, and how
// soon the handler answers.
func (b *bench) ingest(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "isochrone-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the storage emulator: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if b.server, err = azurite.Start(ctx, azurite.Options{Root: b.root, Location: dir}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.Stop()) }()

	var all []figures
	rows, samples := b.probers*(b.probers-1), b.probers*(b.probers-1)*b.count
	b.say("%d documents, %d rows, %d samples a round; storage emulator on this machine", b.probers, rows, samples)
	for i := range b.rounds + 1 {
		f, err := b.round(ctx, i)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("round %d", i)
		if i == 0 {
			name = "warm-up, not counted"
		} else {
			all = append(all, f)
		}
		b.say("%s: Ingest %.0f rows/s %.0f samples/s; bare batches %.0f rows/s; bare Parquet %.0f samples/s; bare batches and blobs %.0f rows/s", name,
			float64(rows)/f.ingest, float64(samples)/f.ingest, float64(rows)/f.rows, float64(samples)/f.parquet, float64(rows)/f.rowsAndBlobs)
	}
	if err := b.startup(ctx, dir); err != nil {
		return err
	}
	b.report("ingest_rows", float64(rows), "rows/s", all, func(f figures) float64 { return f.ingest })
	b.report("ingest_samples", float64(samples), "samples/s", all, func(f figures) float64 { return f.ingest })
	b.report("bare_batch_rows", float64(rows), "rows/s", all, func(f figures) float64 { return f.rows })
	b.report("bare_parquet_samples", float64(samples), "samples/s", all, func(f figures) float64 { return f.parquet })
	b.report("bare_batch_and_blob_rows", float64(rows), "rows/s", all, func(f figures) float64 { return f.rowsAndBlobs })
	b.report("ingest_to_bare_batch", 1, "ratio", all, func(f figures) float64 { return f.ingest / f.rows })
	b.report("ingest_to_bare_parquet", 1, "ratio", all, func(f figures) float64 { return f.ingest / f.parquet })
	b.report("ingest_to_bare_batch_and_blob", 1, "ratio", all, func(f figures) float64 { return f.ingest / f.rowsAndBlobs })
	return nil
}

// report prints amount ÷ the median of what seconds gives.
func (b *bench) report(name string, amount float64, unit string, all []figures, seconds func(figures) float64) {
	values := make([]float64, len(all))
	for i, f := range all {
		values[i] = amount / seconds(f)
	}
	b.figure(name, median(values), unit, nil)
}

// round ingests one sweep, and then writes the same again without us.
func (b *bench) round(ctx context.Context, i int) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	environment := fmt.Sprintf("b%d", i)
	slot := time.Now().UTC().Truncate(time.Minute)
	w, err := newWorkload(environment, slot, b.probers, b.count, uint64(i))
	if err != nil {
		return figures{}, err
	}
	took, err := b.drain(ctx, environment, w)
	if err != nil {
		return figures{}, err
	}
	again, err := b.readBack(ctx, environment, w)
	if err != nil {
		return figures{}, err
	}
	f := figures{ingest: took.Seconds()}
	for _, peer := range []struct {
		to  *float64
		run func(context.Context) error
	}{{&f.rows, again.writeRows}, {&f.parquet, again.encodeSamples}, {&f.rowsAndBlobs, again.writeRowsAndBlobs}} {
		began := time.Now()
		if err := peer.run(ctx); err != nil {
			return figures{}, err
		}
		*peer.to = time.Since(began).Seconds()
	}
	return f, nil
}

func (b *bench) drain(ctx context.Context, environment string, w workload) (time.Duration, error) {
	blobs, err := archive.Open(b.server.Account(), environment)
	if err != nil {
		return 0, err
	}
	rows, err := tables.Open(b.server.Account(), environment)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(blobs.Ensure(ctx), rows.Ensure(ctx, w.slot)); err != nil {
		return 0, err
	}
	if _, err := blobs.CreatePlan(ctx, w.slot, w.plan); err != nil {
		return 0, err
	}
	client, err := azblob.NewClientFromConnectionString(b.server.Account().ConnectionString, nil)
	if err != nil {
		return 0, fmt.Errorf("opening the inbox: %w", err)
	}
	for name, body := range w.documents {
		if _, err := client.UploadBuffer(ctx, "inbox-"+environment, name, body, nil); err != nil {
			return 0, fmt.Errorf("filling the inbox: %w", err)
		}
	}
	i := ingest.Ingester{Environment: environment, Inbox: blobs, Archive: blobs, Rows: rows, Ledger: rows, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	began := time.Now()
	report, err := i.Drain(ctx)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if report.Rows != w.rows || report.Samples != w.samples || report.Quarantined != 0 {
		return 0, fmt.Errorf("ingesting came to %+v; want %d rows and %d samples", report, w.rows, w.samples)
	}
	return took, nil
}
