package compact

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/sweep/archive"
)

// pruneRaw deletes the raw files that the lake has been seen to hold, by reading both. A file that the lake does not hold, which
// only somebody who takes marks away can bring about, has its day marked.
func (p *pass) pruneRaw(ctx context.Context) (err error) {
	// As it is now, the lake's files first: what is replaced from here on is made of these, and of raw
	// files that are there.
	if p.lake, err = p.readLake(ctx); err != nil {
		return err
	}
	if err := p.readRaw(ctx); err != nil {
		return err
	}
	var gone []rawFile
	missing := false
	for _, id := range slices.Sorted(maps.Keys(p.raw)) {
		f := p.raw[id]
		switch {
		case f.known:
			gone = append(gone, f)
		case f.probe != "": // without a run there is nothing to hold, and nothing to gain
			missing = true
		}
	}
	if missing && !p.compact {
		p.left++
		if p.apply {
			if err := p.Marks.MarkDay(ctx, p.Source, p.Day); err != nil {
				return err
			}
		}
		return nil // together with the rest, when the lake holds all
	}
	if len(gone) == 0 {
		return nil
	}
	var bytes int64
	for _, f := range gone {
		bytes += f.Size
	}
	change := Change{SourceDay: p.SourceDay, Inputs: len(gone)}
	if !p.apply {
		p.deleted, p.freed, p.told = p.deleted+len(gone), p.freed+bytes, append(p.told, change)
		return nil
	}
	if !p.stop.IsZero() && time.Now().After(p.stop) {
		p.left++
		return nil
	}
	if err := p.holds(ctx, gone); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, f := range gone {
		g.Go(func() error { return p.Lake.DeleteRaw(ctx, f.LakeBlob) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	p.deleted, p.freed, p.told = p.deleted+len(gone), p.freed+bytes, append(p.told, change)
	return nil
}

// notDeleted ends the error of what does not agree.
const notDeleted = "nothing of the day is deleted; sweep replay makes raw files again from the documents, and when the lake file is deleted sweep compact --backfill --apply makes it again from those"

// holds reads the lake's files and the raw ones whole: each raw file comes to what it came to when it was
// taken in, and the lake's rows to what all of them come to together.
func (p *pass) holds(ctx context.Context, gone []rawFile) error {
	for _, probe := range slices.Sorted(maps.Keys(p.lake)) {
		b := p.lake[probe]
		f, err := archive.OpenLakeSamples(archive.LakeReader(ctx, b.LakeBlob, archive.WindowBytes, p.Lake.ReadRange), b.Size)
		if err != nil {
			return fmt.Errorf("verifying %q: %w", b.Name, err)
		}
		sum, err := f.Sum()
		if err != nil {
			return fmt.Errorf("verifying %q: %w", b.Name, err)
		}
		var want archive.SampleSum
		for _, in := range b.inputs {
			want = want.Plus(in.SampleSum)
		}
		if sum != want || sum.Rows != f.Rows {
			return fmt.Errorf("verifying %q: its rows come to %+v: those of its raw files came to %+v; %s", b.Name, sum, want, notDeleted)
		}
	}
	return p.each(ctx, gone, func(b rawFile, f *archive.SampleFile) error {
		sum, err := f.Sum()
		if err != nil {
			return err
		}
		for _, in := range p.lake[b.probe].inputs {
			if in.ID == b.Label && in.MD5 == b.MD5 && in.SampleSum == sum {
				return nil
			}
		}
		return fmt.Errorf("its rows come to %+v, and to something else in %q; %s", sum, p.lake[b.probe].Name, notDeleted)
	})
}
