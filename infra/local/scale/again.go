package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/infra/local/bare"
	"isochrone/infra/local/simulated"
	"isochrone/sweep/archive"
)

// bareTimes is what a bare loop takes, one request after the other.
type bareTimes struct {
	blobs  time.Duration // documents, and samples packed and written
	rows   time.Duration // the rows of the runs
	others time.Duration // the other rows that ingesting writes: newest runs, list of series, ledger, marks
}

// least is to write what must be stored; all is to write the same rows and blobs.
func (b bareTimes) least() time.Duration { return b.blobs + b.rows }
func (b bareTimes) all() time.Duration   { return b.blobs + b.rows + b.others }

// again writes what the app stored of the sweep's documents once more, into an emulator of its own and
// through a proxy as the app does. What is to be written is read before the clock runs.
func (s *scale) again(ctx context.Context, r *rig, deliveries []simulated.Delivery) (out bareTimes, err error) {
	server, err := s.emulator(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	through, err := newProxy(server)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, through.stop()) }()
	to, err := azblob.NewClientFromConnectionString(through.account.ConnectionString, nil)
	if err != nil {
		return out, fmt.Errorf("opening the blobs: %w", err)
	}
	const container = "bare"
	if _, err := to.CreateContainer(ctx, container, nil); err != nil {
		return out, fmt.Errorf("making a container: %w", err)
	}
	began := time.Now()
	for _, d := range deliveries {
		if _, err := to.UploadBuffer(ctx, container, d.Name, d.Body, nil); err != nil {
			return out, fmt.Errorf("writing documents: %w", err)
		}
	}
	out.blobs = time.Since(began)
	took, err := r.samplesAgain(ctx, to, container)
	if err != nil {
		return out, err
	}
	out.blobs += took
	if out.rows, err = r.rowsAgain(ctx, through, "runs"); err != nil {
		return out, err
	}
	for _, kind := range []string{"latest", "series", "sweeps", "dirty"} {
		took, err := r.rowsAgain(ctx, through, kind)
		if err != nil {
			return out, err
		}
		out.others += took
	}
	return out, nil
}

// samplesAgain packs and writes the sample files.
func (r *rig) samplesAgain(ctx context.Context, to *azblob.Client, container string) (took time.Duration, err error) {
	from, err := azblob.NewClientFromConnectionString(r.server.Account().ConnectionString, nil)
	if err != nil {
		return 0, fmt.Errorf("opening the blobs: %w", err)
	}
	raw := "raw-" + environment
	for b, err := range r.blobs.Blobs(ctx, archive.Samples, time.Time{}) {
		if err != nil {
			return 0, err
		}
		name := b.Name[len(raw)+1:]
		got, err := from.DownloadStream(ctx, raw, name, nil)
		if err != nil {
			return 0, fmt.Errorf("reading the samples back: %w", err)
		}
		body, err := io.ReadAll(got.Body)
		if err = errors.Join(err, got.Body.Close()); err != nil {
			return 0, fmt.Errorf("reading the samples back: %w", err)
		}
		samples, err := bare.ReadSamples(body)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		packed, err := samples.Encode()
		if err != nil {
			return 0, err
		}
		if _, err := to.UploadBuffer(ctx, container, name, packed, nil); err != nil {
			return 0, fmt.Errorf("writing samples: %w", err)
		}
		took += time.Since(began)
	}
	return took, nil
}

// rowsAgain writes the rows of a kind of table.
func (r *rig) rowsAgain(ctx context.Context, through *proxy, kind string) (time.Duration, error) {
	rows, err := r.table(ctx, kind)
	if err != nil {
		return 0, err
	}
	service, err := aztables.NewServiceClientFromConnectionString(through.account.ConnectionString, nil)
	if err != nil {
		return 0, fmt.Errorf("opening the tables: %w", err)
	}
	table := service.NewClient("bare" + kind)
	if _, err := table.CreateTable(ctx, nil); err != nil {
		return 0, fmt.Errorf("making a table: %w", err)
	}
	began := time.Now()
	err = rows.Write(ctx, table)
	return time.Since(began), err
}
