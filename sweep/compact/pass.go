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

// atOnce is how many requests wait for storage at the same time.
const atOnce = 8

// pass is one look at a day. The lake's files are listed before the raw ones are, and each is replaced only
// if it is still the one that was listed: so of two passes the one that saw fewer raw files cannot
// write over the other's.
type pass struct {
	*Compactor
	job
	apply bool
	stop  time.Time

	lake map[string]*lakeFile // by probe
	raw  map[string]rawFile   // by ID

	written, same, deleted, cleared, left int
	rows, freed                           int64
	told                                  []Change
}

// lakeFile is a stored file of the lake, or with an empty ETag one that is not there yet.
type lakeFile struct {
	archive.LakeBlob
	rows   int64
	inputs []archive.LakeInput
}

// rawFile is a raw file, and the probe of its runs; empty where it has none.
type rawFile struct {
	archive.LakeBlob
	probe string
	known bool // the lake's file of its probe holds it
}

func (p *pass) run(ctx context.Context) (err error) {
	if p.lake, err = p.readLake(ctx); err != nil {
		return err
	}
	if err := p.readRaw(ctx); err != nil {
		return err
	}
	if p.compact {
		done, err := p.files(ctx)
		if err != nil {
			return err
		}
		if !done {
			p.left++
			return nil
		}
		if p.apply {
			if err := p.finish(ctx); err != nil {
				return err
			}
		}
	}
	if p.prune {
		return p.pruneRaw(ctx)
	}
	return nil
}

// readLake lists the lake's files and reads their footers.
func (p *pass) readLake(ctx context.Context) (map[string]*lakeFile, error) {
	blobs, err := p.Lake.LakeSamples(ctx, p.SourceDay)
	if err != nil {
		return nil, err
	}
	out := map[string]*lakeFile{}
	for _, b := range blobs {
		f, err := archive.OpenLakeSamples(archive.LakeReader(ctx, b, archive.FooterBytes, p.Lake.ReadRange), b.Size)
		if err != nil {
			return nil, fmt.Errorf("reading the footer of %q: %w", b.Name, err)
		}
		out[b.Label] = &lakeFile{b, f.Rows, f.Inputs}
	}
	return out, nil
}

// readRaw lists the raw files, and reads the footers of those that the lake does not hold as they are.
func (p *pass) readRaw(ctx context.Context) error {
	blobs, err := p.Lake.RawSamples(ctx, p.SourceDay)
	if err != nil {
		return err
	}
	type held struct{ md5, probe string }
	holds := map[string]held{}
	for probe, f := range p.lake {
		for _, in := range f.inputs {
			holds[in.ID] = held{in.MD5, probe}
		}
	}
	files := make([]rawFile, len(blobs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, b := range blobs {
		g.Go(func() (err error) {
			if b.MD5 == "" {
				if b.MD5, err = p.sumOf(ctx, b); err != nil {
					return err
				}
			}
			files[i] = rawFile{LakeBlob: b}
			if h, ok := holds[b.Label]; ok && h.md5 == b.MD5 {
				files[i].probe, files[i].known = h.probe, true
				return nil
			}
			f, err := archive.OpenRawSamples(archive.LakeReader(ctx, b, archive.FooterBytes, p.Lake.ReadRange), b.Size)
			if err == nil {
				files[i].probe, err = f.Probe()
			}
			if err != nil {
				return fmt.Errorf("reading the footer of %q (sweep replay makes it again from its document): %w", b.Name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	p.raw = make(map[string]rawFile, len(files))
	for _, f := range files {
		p.raw[f.Label] = f
	}
	return nil
}

// files writes the lake's files whose inputs have changed; done is false when the time was over before.
func (p *pass) files(ctx context.Context) (done bool, err error) {
	changed := map[string]bool{}
	for _, f := range p.raw {
		if f.probe != "" {
			changed[f.probe] = changed[f.probe] || !f.known
		}
	}
	for probe := range p.lake {
		changed[probe] = changed[probe] || false
	}
	for i, probe := range slices.Sorted(maps.Keys(changed)) {
		if !changed[probe] {
			p.same++
			continue
		}
		if i > 0 && !p.stop.IsZero() && time.Now().After(p.stop) {
			return false, nil
		}
		if err := p.file(ctx, probe); err != nil {
			return false, fmt.Errorf("probe %q: %w", probe, err)
		}
	}
	return true, nil
}

// finish brings the status up to date and takes the mark away.
func (p *pass) finish(ctx context.Context) error {
	if err := p.refresh(ctx); err != nil {
		return err
	}
	if p.mark == nil {
		return nil
	}
	if err := p.Marks.ClearDay(ctx, *p.mark); err != nil {
		return err
	}
	p.cleared++
	return nil
}
