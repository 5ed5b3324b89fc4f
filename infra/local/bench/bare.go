package main

import (
	"context"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"

	"isochrone/infra/local/bare"
)

// written holds what was stored of a round, and writes it again with the SDK alone.
type written struct {
	table     *aztables.Client
	blobs     *azblob.Client
	container string
	rows      bare.Rows
	parquet   map[string]bare.Samples
	documents map[string][]byte
}

func (b *bench) readBack(ctx context.Context, environment string, w workload) (*written, error) {
	service, err := aztables.NewServiceClientFromConnectionString(b.server.Account().ConnectionString, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the tables: %w", err)
	}
	out := &written{container: "bare-" + environment, parquet: map[string]bare.Samples{}, documents: w.documents}
	if out.blobs, err = azblob.NewClientFromConnectionString(b.server.Account().ConnectionString, nil); err != nil {
		return nil, fmt.Errorf("opening the blobs: %w", err)
	}
	if out.rows, err = bare.ReadRows(ctx, service.NewClient("runs"+environment+w.slot.Format("200601"))); err != nil {
		return nil, err
	}
	if err := out.readSamples(ctx, "raw-"+environment); err != nil {
		return nil, err
	}
	out.table = service.NewClient("bare" + environment)
	if _, err := out.table.CreateTable(ctx, nil); err != nil {
		return nil, fmt.Errorf("making a table: %w", err)
	}
	if _, err := out.blobs.CreateContainer(ctx, out.container, nil); err != nil {
		return nil, fmt.Errorf("making a container: %w", err)
	}
	return out, nil
}

func (b *written) readSamples(ctx context.Context, container string) error {
	prefix := "samples/"
	pages := b.blobs.NewListBlobsFlatPager(container, &azblob.ListBlobsFlatOptions{Prefix: &prefix})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading the samples back: %w", err)
		}
		for _, item := range page.Segment.BlobItems {
			got, err := b.blobs.DownloadStream(ctx, container, *item.Name, nil)
			if err != nil {
				return fmt.Errorf("reading the samples back: %w", err)
			}
			body, err := io.ReadAll(got.Body)
			_ = got.Body.Close()
			if err != nil {
				return fmt.Errorf("reading the samples back: %w", err)
			}
			if b.parquet[*item.Name], err = bare.ReadSamples(body); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeRows is the bare batch loop.
func (b *written) writeRows(ctx context.Context) error { return b.rows.Write(ctx, b.table) }

// encodeSamples is the bare Parquet writer, into memory.
func (b *written) encodeSamples(context.Context) error {
	for _, s := range b.parquet {
		if _, err := s.Encode(); err != nil {
			return err
		}
	}
	return nil
}

// writeRowsAndBlobs writes what has to be stored at the least: rows, documents and samples.
func (b *written) writeRowsAndBlobs(ctx context.Context) error {
	for name, body := range b.documents {
		if _, err := b.blobs.UploadBuffer(ctx, b.container, name, body, nil); err != nil {
			return fmt.Errorf("writing documents: %w", err)
		}
	}
	for name, s := range b.parquet {
		body, err := s.Encode()
		if err != nil {
			return err
		}
		if _, err := b.blobs.UploadBuffer(ctx, b.container, name, body, nil); err != nil {
			return fmt.Errorf("writing samples: %w", err)
		}
	}
	return b.writeRows(ctx)
}
