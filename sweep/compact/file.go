package compact

import (
	"bytes"
	"context"
	"crypto/md5" // #nosec G501 -- what storage keeps of each blob; it finds damage, and keeps nobody out
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"isochrone/sweep/archive"
)

// wholeBytes is up to how large a raw file is read at once, and ahead how many are on their way: most are
// small, and storage takes longer to answer than they take to merge.
const (
	wholeBytes = 8 << 20
	ahead      = 4
)

// file writes the lake file of a probe: the rows of its raw files, and of those that are gone the rows that
// it holds itself.
func (p *pass) file(ctx context.Context, probe string) (err error) {
	old := p.lake[probe]
	if old == nil {
		old = &lakeFile{}
	}
	var raw []rawFile
	for _, f := range p.raw {
		if f.probe == probe {
			raw = append(raw, f)
		}
	}
	slices.SortFunc(raw, func(a, b rawFile) int { return strings.Compare(a.Label, b.Label) })
	var kept []archive.LakeInput
	for _, in := range old.inputs {
		if _, there := p.raw[in.ID]; !there {
			kept = append(kept, in)
		}
	}
	change := Change{SourceDay: p.SourceDay, Probe: probe, New: old.ETag == "", Inputs: len(raw), Kept: len(kept)}
	if !p.apply {
		p.written++
		p.told = append(p.told, change)
		return nil
	}
	m := archive.NewSampleMerge(probe, p.Folder)
	defer func() { err = errors.Join(err, m.Close()) }()
	err = p.each(ctx, raw, func(b rawFile, f *archive.SampleFile) error { return m.Add(b.Label, b.MD5, f) })
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		f, err := archive.OpenLakeSamples(archive.LakeReader(ctx, old.LakeBlob, archive.WindowBytes, p.Lake.ReadRange), old.Size)
		if err != nil {
			return fmt.Errorf("reading %q: %w", old.Name, err)
		}
		if err := m.Keep(f, kept); err != nil {
			return fmt.Errorf("reading %q: %w", old.Name, err)
		}
	}
	if err := p.Lake.WriteLake(ctx, p.SourceDay, probe, old.ETag, m.Write); err != nil {
		return err
	}
	if err := p.verify(ctx, probe, m); err != nil {
		return err
	}
	p.written++
	p.rows += m.Sum().Rows
	change.Rows = m.Sum().Rows
	p.told = append(p.told, change)
	return nil
}

// verify reads back what a file that was written says of itself.
func (p *pass) verify(ctx context.Context, probe string, m *archive.SampleMerge) error {
	lake, err := p.readLake(ctx)
	if err != nil {
		return err
	}
	is := lake[probe]
	if is == nil || is.rows != m.Sum().Rows || !slices.Equal(is.inputs, m.Inputs()) {
		return fmt.Errorf("%w: the lake file is not the one that was written", archive.ErrChanged)
	}
	return nil
}

// each opens raw files one after the other, those to come being read in the meantime.
func (p *pass) each(ctx context.Context, raw []rawFile, take func(rawFile, *archive.SampleFile) error) error {
	type read struct {
		body []byte
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	reads := make([]chan read, len(raw))
	begin := func(i int) {
		if i >= len(raw) || raw[i].Size > wholeBytes {
			return
		}
		reads[i] = make(chan read, 1)
		wait.Go(func() {
			body, err := p.Lake.ReadRange(ctx, raw[i].LakeBlob, 0, raw[i].Size)
			reads[i] <- read{body, err}
		})
	}
	for i := range ahead {
		begin(i)
	}
	for i, b := range raw {
		begin(i + ahead)
		from := archive.LakeReader(ctx, b.LakeBlob, archive.WindowBytes, p.Lake.ReadRange)
		if reads[i] != nil {
			got := <-reads[i]
			if got.err != nil {
				return got.err
			}
			if sum := md5.Sum(got.body); hex.EncodeToString(sum[:]) != b.MD5 { // #nosec G401 -- as storage has it
				return fmt.Errorf("reading %q: its MD5 is %x: storage says %s", b.Name, sum, b.MD5)
			}
			from = bytes.NewReader(got.body)
		}
		f, err := archive.OpenRawSamples(from, b.Size)
		if err == nil {
			err = take(b, f)
		}
		if err != nil {
			return fmt.Errorf("reading %q (sweep replay makes it again from its document): %w", b.Name, err)
		}
	}
	return nil
}

// sumOf is the MD5 of a file of which storage does not tell it.
func (p *pass) sumOf(ctx context.Context, b archive.LakeBlob) (string, error) {
	h := md5.New() // #nosec G401 -- as storage has it
	for at := int64(0); at < b.Size; at += archive.WindowBytes {
		part, err := p.Lake.ReadRange(ctx, b, at, min(archive.WindowBytes, b.Size-at))
		if err != nil {
			return "", err
		}
		h.Write(part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
