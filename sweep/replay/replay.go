// Package replay rebuilds what was made of archived documents, after the code that makes it was
// changed: the rows, and the Parquet files of the lake.
//
// Documents are the truth, and everything else follows from them. So each is converted once more, by
// the functions that converted it when it came, and what comes of it is held against what is stored,
// column by column and byte by byte. What is equal is not touched: a replay over documents that
// nothing has changed for writes nothing.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
	"isochrone/sweep/ingest"
	"isochrone/sweep/result"
)

// Archive is where the documents lie, and what follows from them in files (archive.Store). All may be
// called at once, from several processes; a call that fails may have been carried out all the same.
type Archive interface {
	// Archived lists the probers' documents of a day, of all sources or one.
	Archived(ctx context.Context, day time.Time, source string) iter.Seq2[inbox.Archived, error]
	// ArchivedForeign lists the foreign documents of a day, in the order in which they came.
	ArchivedForeign(ctx context.Context, day time.Time) ([]inbox.Archived, error)
	ReadDocument(ctx context.Context, name string) (body []byte, found bool, err error)
	// ReadParameters reads what a foreign document came with, by the document's name; empty if that
	// was nothing.
	ReadParameters(ctx context.Context, name string) (parameters map[string]string, err error)
	// RebuildSamples, RebuildIntervals and RebuildJSON say how a stored file differs from what it ought
	// to be, and with write put the right one in its place.
	RebuildSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (name string, c result.Change, err error)
	RebuildIntervals(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (name string, c result.Change, err error)
	RebuildJSON(ctx context.Context, document string, body []byte, write bool) (name string, c result.Change, err error)
}

// Rows is where the rows lie (tables.Store). Concurrency and faults are as for Archive. An error with
// result.ErrChanged in its chain says that a row was changed by somebody else after it was compared.
type Rows interface {
	// CompareRuns says of each result how the row that is stored for it differs.
	CompareRuns(ctx context.Context, rs []result.Result) ([]result.Difference, error)
	// MendRuns writes the results that CompareRuns found to differ.
	MendRuns(ctx context.Context, rs []result.Result, ds []result.Difference) error
	// AddForeign adds the rows of one foreign document of which none is stored, all or none.
	AddForeign(ctx context.Context, rs []result.Result) error
	// ForeignRuns lists the stored rows of a foreign document from a source, and to a target over a
	// path where those are given.
	ForeignRuns(ctx context.Context, document, source, target, path string) ([]result.Difference, error)
	// RemoveRuns deletes rows as they were read.
	RemoveRuns(ctx context.Context, ds []result.Difference) error
	// LatestSlots are the slots of the newest runs.
	LatestSlots(ctx context.Context) (map[wire.Series]time.Time, error)
	// CompareLatest and MendLatest are CompareRuns and MendRuns for the newest runs; what is newer
	// than a result stays, and is the same.
	CompareLatest(ctx context.Context, rs []result.Result) ([]result.Difference, error)
	MendLatest(ctx context.Context, rs []result.Result, ds []result.Difference) error
	// MarkDirty marks the hours and days of the results for recomputation.
	MarkDirty(ctx context.Context, rs []result.Result) error
}

// Converter makes results of documents (ingest.Again). An error that is no *ingest.Refused is a fault of
// storage. leave gives back the room that results take.
type Converter interface {
	Planned(ctx context.Context, d inbox.Archived, body []byte) (c *ingest.Planned, leave func(), err error)
	Foreign(ctx context.Context, d inbox.Archived, body []byte, parameters map[string]string) (c *ingest.Converted, leave func(), err error)
}

// Replayer rebuilds. Its methods may be called at once.
type Replayer struct {
	Archive   Archive
	Rows      Rows
	Converter Converter
	// Concurrency is how many documents are in hand at once; 0 stands for DefaultConcurrency.
	Concurrency int
	// Patience is how long storage may take over one document; 0 is for ever.
	Patience time.Duration
	// Progress, if it is set, is told after each document how far the replay is. It may be called at
	// once.
	Progress func(Progress)
}

// Progress is how far a replay is.
type Progress struct {
	Day       time.Time // in hand
	Days, Of  int       // days behind it, of so many of the window
	Documents int       // of the day, that were looked at
	OfDay     int       // of so many
}

// DefaultConcurrency keeps busy while storage answers.
const DefaultConcurrency = 4

// Scope says which documents to replay.
type Scope struct {
	// From and To bound the slots: From <= slot < To. A foreign document has the day of the folder that
	// it lies in, which is that of its first run when it came; where the window holds a part of that
	// day, it is replayed if one of its runs lies in the window, as stored or as converted now.
	From, To time.Time
	// Source is the prober that measured; empty: all. A foreign document is replayed whole if one
	// of its runs is from there.
	Source string
	// Formats are those to replay, as ingest.Formats has them; none: all.
	Formats []string
}

// Run replays the documents of a scope, and says what differs. Without apply nothing is written. With
// it what differs is put right, a document after the other: a run that ends early, with an error or
// with its process, has done so for a part of them, and one that is made again does the rest.
//
// The report is good when there is an error, too, as far as the replay came.
func (r *Replayer) Run(ctx context.Context, scope Scope, apply bool) (Report, error) {
	newest, err := r.Rows.LatestSlots(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("replaying: %w", err)
	}
	u := &replay{Replayer: r, scope: scope, apply: apply, newest: newest}
	first := scope.From.UTC().Truncate(24 * time.Hour)
	u.progress.Of = int((scope.To.Sub(first) + 24*time.Hour - 1) / (24 * time.Hour))
	for day := scope.From.UTC().Truncate(24 * time.Hour); day.Before(scope.To); day = day.AddDate(0, 0, 1) {
		if err := u.day(ctx, day); err != nil {
			return u.report, err
		}
		u.progress.Days++
	}
	return u.report, nil
}

// replay is the state of one Run.
type replay struct {
	*Replayer
	scope  Scope
	apply  bool
	newest map[wire.Series]time.Time

	lock     sync.Mutex
	report   Report
	progress Progress
}

// day replays a day's documents. Those of probers have nothing to do with each other. Foreign ones
// follow each other in the order in which they came, for the first has a row that two lay claim to.
func (u *replay) day(ctx context.Context, day time.Time) error {
	planned, err := u.plannedOf(ctx, day)
	if err != nil {
		return fmt.Errorf("replaying the documents of %s: %w", day.Format(time.DateOnly), err)
	}
	foreign, err := u.Archive.ArchivedForeign(ctx, day)
	if err != nil {
		return fmt.Errorf("replaying the foreign documents of %s: %w", day.Format(time.DateOnly), err)
	}
	u.progress.Day, u.progress.Documents, u.progress.OfDay = day, 0, len(planned)+len(foreign)
	g, inHand := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(u.Concurrency, DefaultConcurrency))
	for _, d := range planned {
		if inHand.Err() != nil {
			break
		}
		g.Go(func() error { return u.one(inHand, d, u.planned) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, d := range foreign {
		if err := u.one(ctx, d, u.foreign); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// plannedOf lists the documents of probers of a day that lie in the scope.
func (u *replay) plannedOf(ctx context.Context, day time.Time) (out []inbox.Archived, err error) {
	if !u.scope.takes(result.OwnTool) {
		return nil, nil
	}
	for d, err := range u.Archive.Archived(ctx, day, u.scope.Source) {
		if err != nil {
			return nil, err
		}
		if d.Assignment == "" || u.scope.holds(d.Slot) {
			out = append(out, d)
		}
	}
	return out, nil
}

// one replays a document within its time, and names it in the error.
func (u *replay) one(ctx context.Context, d inbox.Archived, act func(context.Context, inbox.Archived) error) error {
	if u.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, u.Patience)
		defer cancel()
	}
	if err := act(ctx, d); err != nil {
		return fmt.Errorf("replaying %q: %w", d.Name, err)
	}
	if u.Progress != nil {
		u.lock.Lock()
		u.progress.Documents++
		now := u.progress
		u.lock.Unlock()
		u.Progress(now)
	}
	return nil
}
