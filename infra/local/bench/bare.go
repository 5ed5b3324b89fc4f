package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// bare holds what was stored of a round, and writes it again with the SDK alone.
type bare struct {
	table     *aztables.Client
	blobs     *azblob.Client
	container string
	entities  map[string][][]byte // by partition
	parquet   map[string]samples
	documents map[string][]byte
}

// samples is one Parquet file, unpacked.
type samples struct {
	schema *parquet.Schema
	rows   []parquet.Row
}

func (b *bench) readBack(ctx context.Context, environment string, w workload) (*bare, error) {
	service, err := aztables.NewServiceClientFromConnectionString(b.server.Account().ConnectionString, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the tables: %w", err)
	}
	out := &bare{container: "bare-" + environment, entities: map[string][][]byte{}, parquet: map[string]samples{}, documents: w.documents}
	if out.blobs, err = azblob.NewClientFromConnectionString(b.server.Account().ConnectionString, nil); err != nil {
		return nil, fmt.Errorf("opening the blobs: %w", err)
	}
	runs := service.NewClient("runs" + environment + w.slot.Format("200601"))
	format := aztables.MetadataFormatFull // with the types, so that what is written again is the same
	pages := runs.NewListEntitiesPager(&aztables.ListEntitiesOptions{Format: &format})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the rows back: %w", err)
		}
		for _, raw := range page.Entities {
			partition, clean, err := withoutMetadata(raw)
			if err != nil {
				return nil, err
			}
			out.entities[partition] = append(out.entities[partition], clean)
		}
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

func withoutMetadata(raw []byte) (partition string, clean []byte, err error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", nil, fmt.Errorf("reading a row back: %w", err)
	}
	for _, k := range []string{"odata.metadata", "odata.type", "odata.id", "odata.etag", "odata.editLink", "Timestamp", "Timestamp@odata.type"} {
		delete(m, k)
	}
	partition, _ = m["PartitionKey"].(string)
	clean, err = json.Marshal(m)
	return partition, clean, err
}

func (b *bare) readSamples(ctx context.Context, container string) error {
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
			f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
			if err != nil {
				return fmt.Errorf("reading the samples back: %w", err)
			}
			reader := parquet.NewReader(f)
			rows := make([]parquet.Row, f.NumRows())
			if _, err := reader.ReadRows(rows); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("reading the samples back: %w", err)
			}
			for i := range rows { // they lie in the reader's own buffers
				rows[i] = rows[i].Clone()
			}
			b.parquet[*item.Name] = samples{f.Schema(), rows}
		}
	}
	return nil
}

// writeRows is the bare batch loop: batches of 100 within a partition, one after the other.
func (b *bare) writeRows(ctx context.Context) error {
	for _, entities := range b.entities {
		for len(entities) > 0 {
			n := min(len(entities), 100)
			actions := make([]aztables.TransactionAction, n)
			for i, e := range entities[:n] {
				actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: e}
			}
			if _, err := b.table.SubmitTransaction(ctx, actions, nil); err != nil {
				return fmt.Errorf("writing rows: %w", err)
			}
			entities = entities[n:]
		}
	}
	return nil
}

func (s samples) encode() ([]byte, error) {
	var out bytes.Buffer
	w := parquet.NewWriter(&out, s.schema, parquet.Compression(&zstd.Codec{}))
	if _, err := w.WriteRows(s.rows); err != nil {
		return nil, fmt.Errorf("writing samples: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("writing samples: %w", err)
	}
	return out.Bytes(), nil
}

// encodeSamples is the bare Parquet writer, into memory.
func (b *bare) encodeSamples(context.Context) error {
	for _, s := range b.parquet {
		if _, err := s.encode(); err != nil {
			return err
		}
	}
	return nil
}

// writeRowsAndBlobs writes what has to be stored at the least: rows, documents and samples.
func (b *bare) writeRowsAndBlobs(ctx context.Context) error {
	for name, body := range b.documents {
		if _, err := b.blobs.UploadBuffer(ctx, b.container, name, body, nil); err != nil {
			return fmt.Errorf("writing documents: %w", err)
		}
	}
	for name, s := range b.parquet {
		body, err := s.encode()
		if err != nil {
			return err
		}
		if _, err := b.blobs.UploadBuffer(ctx, b.container, name, body, nil); err != nil {
			return fmt.Errorf("writing samples: %w", err)
		}
	}
	return b.writeRows(ctx)
}
