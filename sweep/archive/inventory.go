package archive

import (
	"context"
	"iter"
	"path"
	"strings"
	"time"
)

// Kind is a kind of blob that the archive keeps.
type Kind int

// The kinds that Blobs lists and Count counts.
const (
	// Documents are the probers' documents.
	Documents Kind = iota + 1
	// Samples are the Parquet files of the assignments.
	Samples
	// Foreign are foreign documents; what they came with is left out.
	Foreign
	// Quarantined are the bodies in quarantine; the reasons are left out.
	Quarantined
	// Intervals are the Parquet files of the bulk assignments.
	Intervals
)

// Blob is a stored blob.
type Blob struct {
	Name    string // container in front
	Size    int64  // bytes
	Created time.Time
}

// Blobs lists the blobs of a kind, those of one day (UTC) or, when day is zero, all. Documents,
// samples and intervals come by source and then by time. It ends with the first error.
func (s *Store) Blobs(ctx context.Context, kind Kind, day time.Time) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		container, prefixes, err := s.places(ctx, kind, day)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		for _, prefix := range prefixes {
			for b, err := range s.list(ctx, container, prefix, false) {
				if err != nil {
					yield(Blob{}, err)
					return
				}
				if strings.HasSuffix(*b.Name, ".meta.json") || strings.HasSuffix(*b.Name, ".reason.json") {
					continue
				}
				item := newItem(b)
				if !yield(Blob{container + "/" + item.Name, item.Size, item.Created}, nil) {
					return
				}
			}
		}
	}
}

// places says below which prefixes a kind's blobs of a day lie. Where the source stands before
// the date, the sources are listed first, so that other days are not looked at.
func (s *Store) places(ctx context.Context, kind Kind, day time.Time) (container string, prefixes []string, err error) {
	var folder string
	switch kind {
	case Documents:
		folder = documentsFolder
	case Samples:
		folder = samplesFolder
	case Intervals:
		folder = intervalsFolder
	case Foreign:
		folder = foreignFolder
	case Quarantined:
		if day.IsZero() {
			return s.quarantineContainer(), []string{""}, nil
		}
		return s.quarantineContainer(), []string{dateFolder(day)}, nil
	}
	switch {
	case day.IsZero():
		return s.rawContainer(), []string{folder}, nil
	case kind == Foreign:
		return s.rawContainer(), []string{folder + dateFolder(day)}, nil
	}
	sources, err := s.folders(ctx, s.rawContainer(), folder)
	for i := range sources {
		sources[i] += dateFolder(day)
	}
	return s.rawContainer(), sources, err
}

// Count counts the documents, samples or intervals of a slot.
func (s *Store) Count(ctx context.Context, kind Kind, slot time.Time) (n int, err error) {
	minute := slot.UTC().Format("1504") + "_"
	for b, err := range s.Blobs(ctx, kind, slot) {
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(path.Base(b.Name), minute) {
			n++
		}
	}
	return n, nil
}
