package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"golang.org/x/sync/errgroup"

	"isochrone/infra/local/simulated"
	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

// offerDocument is a document of so many runs that began at a second. The same seed gives the same.
func offerDocument(begin time.Time, runs int, seed uint64) ([]byte, error) {
	spec := wire.Spec{Kind: wire.KindTCP, Count: offerSamples, Warmup: 1, Interval: 20 * time.Millisecond, Timeout: time.Second, RequestBytes: 64, ResponseBytes: 16}
	random := rand.New(rand.NewPCG(seed, 2))
	d := wire.Document{Version: wire.DocumentVersion, Environment: "offer", Slot: wire.Slot(begin), Source: "region-00", Probe: "offered", Attempt: "00000001",
		Provenance: wire.Provenance{ProberVersion: "bench"}}
	d.Assignment = wire.AssignmentID(d.Environment, d.Slot, d.Source, d.Probe, 0)
	for i := range runs {
		run, err := simulated.Run(d.Source, wire.AssignedRun{Target: prober(i/2 + 1), Path: []string{"public", "peering"}[i%2], Address: "192.0.2.1:7700"}, spec, begin, random)
		if err != nil {
			return nil, err
		}
		d.Runs = append(d.Runs, run)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("making a document: %w", err)
	}
	return simulated.Encode(&d)
}

// bareOffer writes what a round stored once more, with the SDK alone: a blob a document, and its rows
// in a batch.
type bareOffer struct {
	service *aztables.ServiceClient
	blobs   *azblob.Client
	round   int
	bodies  [][]byte
	batches [][]aztables.TransactionAction // one a document
}

func newBareOffer(ctx context.Context, s *stack.Stack, round int, bodies [][]byte) (*bareOffer, error) {
	account := s.Account().ConnectionString
	service, err := aztables.NewServiceClientFromConnectionString(account, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the tables: %w", err)
	}
	out := &bareOffer{service: service, bodies: bodies, round: round}
	converter := ingest.Ingester{Environment: s.Environment(), Now: time.Now}
	for i, body := range bodies {
		c, err := converter.Convert(ctx, body, ingest.Parameters{})
		if err != nil {
			return nil, err
		}
		batch := make([]aztables.TransactionAction, len(c.Results))
		for j := range c.Results {
			c.Results[j].Document = fmt.Sprintf("raw-%s/foreign/date=%s/%064d.gz", s.Environment(), time.Now().Format(time.DateOnly), i) // as long as a real one
			entity, err := tables.Encode(&c.Results[j])
			if err != nil {
				return nil, err
			}
			batch[j] = aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: entity}
		}
		out.batches = append(out.batches, batch)
	}
	if out.blobs, err = azblob.NewClientFromConnectionString(account, nil); err != nil {
		return nil, fmt.Errorf("opening the blobs: %w", err)
	}
	return out, nil
}

// write stores every document and its rows, so many at once, in a table and a container of their own,
// which are deleted afterwards: the emulator writes all its tables as one text again and again, and ends
// when that has more than 512 MB.
func (o *bareOffer) write(ctx context.Context, workers int) (took time.Duration, err error) {
	table, container := o.service.NewClient(fmt.Sprintf("bareoffer%dx%d", o.round, workers)), fmt.Sprintf("bare-offer-%d-%d", o.round, workers)
	if _, err := o.blobs.CreateContainer(ctx, container, nil); err != nil {
		return 0, fmt.Errorf("making a container: %w", err)
	}
	if _, err := table.CreateTable(ctx, nil); err != nil {
		return 0, fmt.Errorf("making a table: %w", err)
	}
	defer func() {
		_, noTable := table.Delete(ctx, nil)
		_, noContainer := o.blobs.DeleteContainer(ctx, container, nil)
		err = errors.Join(err, noTable, noContainer)
	}()
	work, writing := errgroup.WithContext(ctx)
	work.SetLimit(workers)
	began := time.Now()
	for i := range o.bodies {
		work.Go(func() error {
			if _, err := o.blobs.UploadBuffer(writing, container, fmt.Sprintf("%d-%06d.json.gz", o.round, i), o.bodies[i], nil); err != nil {
				return fmt.Errorf("writing a document: %w", err)
			}
			if _, err := table.SubmitTransaction(writing, o.batches[i], nil); err != nil {
				return fmt.Errorf("writing rows: %w", err)
			}
			return nil
		})
	}
	err = work.Wait()
	return time.Since(began), err
}

// countOffered counts the rows that are stored, and the documents in the archive.
func countOffered(ctx context.Context, s *stack.Stack) (rows, documents int, err error) {
	service, err := aztables.NewServiceClientFromConnectionString(s.Account().ConnectionString, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("opening the tables: %w", err)
	}
	all := service.NewListTablesPager(nil)
	for all.More() {
		page, err := all.NextPage(ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("listing the tables: %w", err)
		}
		for _, t := range page.Tables {
			if !strings.HasPrefix(*t.Name, "runsoffer") {
				continue
			}
			pages := service.NewClient(*t.Name).NewListEntitiesPager(&aztables.ListEntitiesOptions{Select: to.Ptr("RowKey")})
			for pages.More() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return 0, 0, fmt.Errorf("counting the rows: %w", err)
				}
				rows += len(page.Entities)
			}
		}
	}
	for _, err := range s.Archive.Blobs(ctx, archive.Foreign, time.Time{}) {
		if err != nil {
			return 0, 0, err
		}
		documents++
	}
	return rows, documents, nil
}
