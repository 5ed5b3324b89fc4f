package ingest

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// What documents may take of memory while they are handled, by all Ingesters that share a
// Budget: about 256 MiB, however much is sent at once. Where one that was made to take much follows
// another, the garbage of the first makes it 384 MiB at the worst. A document that finds no room waits.
const (
	// bodiesBudget is for bodies as they were sent: one of the largest, or some hundred of the usual.
	bodiesBudget = 64 << 20
	// openedBudget is for what is made of them.
	openedBudget = 192 << 20
)

// What a document takes at its peak, as measured (see the tests), garbage included, of which there
// may be as much as there is of anything else: its body; its text while it is read; and what is made of its samples, columns, rows of Parquet and
// their pages. A sample has no less than 14 bytes of text, and a document no more than 100,000 of
// them, so that the second part has a limit.
const (
	costOfBody    = 2  // a byte
	costOfText    = 2  // a byte
	costOfSamples = 48 // a byte of text
	mostOfSamples = 64 << 20
)

// What a foreign document takes at its peak, its text with it. JSON becomes a list of entries, eight
// bytes a byte of text at the worst and limited (jsontext.MaxValues), and then findings, explanations and
// rows, of a limited number; XML that is kept as JSON a tree (convert.XMLToJSON) and what is written of it.
const (
	costOfForeign  = 5  // a byte of text
	costOfFindings = 64 // a byte of text
	mostOfFindings = 72 << 20
	costOfTree     = 64 // a byte of text
	mostOfTree     = 160 << 20
)

// Budget bounds the memory of the documents that are handled at once.
type Budget struct {
	// A document takes its part of bodies first and keeps it while it waits for its part of
	// opened, and never the other way round: so nobody waits in a circle.
	bodies, opened *semaphore.Weighted
}

// NewBudget makes a Budget. A process needs one, for all its Ingesters.
func NewBudget() *Budget {
	return &Budget{bodies: semaphore.NewWeighted(bodiesBudget), opened: semaphore.NewWeighted(openedBudget)}
}

// body waits for room for an item's body. Of what is too large only the beginning is read.
func (b *Budget) body(ctx context.Context, it inbox.Item) (release func(), err error) {
	return acquire(ctx, b.bodies, costOfBody*min(max(it.Size, 0), wire.MaxDocumentBytes))
}

// open waits for room for what is made of a text.
func (b *Budget) open(ctx context.Context, text int64) (release func(), err error) {
	return acquire(ctx, b.opened, min(costOfText*text+min(costOfSamples*text, mostOfSamples), openedBudget))
}

// openForeign waits for room for what is made of a foreign document's text. tree says that it may be
// kept as JSON.
func (b *Budget) openForeign(ctx context.Context, text int64, tree bool) (release func(), err error) {
	n := costOfForeign*text + min(costOfFindings*text, mostOfFindings)
	if tree {
		n = max(n, costOfText*text+min(costOfTree*text, mostOfTree))
	}
	return acquire(ctx, b.opened, min(n, openedBudget))
}

func acquire(ctx context.Context, of *semaphore.Weighted, n int64) (release func(), err error) {
	if err := of.Acquire(ctx, n); err != nil {
		return nil, fmt.Errorf("waiting for %d bytes of memory: %w", n, err)
	}
	return func() { of.Release(n) }, nil
}
