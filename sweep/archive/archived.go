package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// Archived lists the probers' documents of a day (UTC), of all sources or one, by source and then by
// time. Of a blob whose name is not that of a document nothing but name, size and creation is given.
// It ends with the first error.
func (s *Store) Archived(ctx context.Context, day time.Time, source string) iter.Seq2[inbox.Archived, error] {
	return func(yield func(inbox.Archived, error) bool) {
		sources := []string{documentsFolder + "src=" + source + "/"}
		var err error
		if source == "" {
			sources, err = s.folders(ctx, s.rawContainer(), documentsFolder)
		}
		if err != nil {
			yield(inbox.Archived{}, err)
			return
		}
		for _, folder := range sources {
			for b, err := range s.list(ctx, s.rawContainer(), folder+dateFolder(day), false) {
				if err != nil {
					yield(inbox.Archived{}, err)
					return
				}
				it := newItem(b)
				d := documentNamed(it.Name)
				d.Name, d.Size, d.Created = s.rawContainer()+"/"+it.Name, it.Size, it.Created
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// documentNamed is the inverse of assignmentName for documents; nothing if name is not of its form.
func documentNamed(name string) (d inbox.Archived) {
	parts := strings.Split(strings.TrimPrefix(name, documentsFolder), "/")
	if len(parts) != 3 {
		return d
	}
	minute, rest, _ := strings.Cut(parts[2], "_")
	source, assignment := strings.TrimPrefix(parts[0], "src="), strings.TrimSuffix(rest, ".json.gz")
	slot, err := time.Parse("date=2006-01-02 1504", parts[1]+" "+minute)
	if err != nil {
		return d
	}
	if again, err := assignmentName(documentsFolder, source, slot, assignment, ".json.gz"); err != nil || again != name {
		return d
	}
	return inbox.Archived{Source: source, Slot: slot, Assignment: assignment, Day: slot.Truncate(24 * time.Hour)}
}

// ArchivedForeign lists the foreign documents of a day (UTC) in the order in which they were stored,
// so that of two with a run in common the one that came first is first. What was made of them is left
// out.
func (s *Store) ArchivedForeign(ctx context.Context, day time.Time) ([]inbox.Archived, error) {
	day = day.UTC().Truncate(24 * time.Hour)
	var out []inbox.Archived
	for b, err := range s.Blobs(ctx, Foreign, day) {
		if err != nil {
			return nil, err
		}
		sum, ext, _ := strings.Cut(path.Base(b.Name), ".")
		if ext == xmlAsJSON {
			continue
		}
		d := inbox.Archived{Name: b.Name, Size: b.Size, Created: b.Created, Day: day}
		if checkSum("sum", sum) == nil {
			d.Sum = sum
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b inbox.Archived) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// xmlAsJSON is the extension of unknown XML as JSON, which lies beside the document.
const xmlAsJSON = "xml.json"

// ReadParameters reads what a foreign document came with, by the document's name; empty if that was
// nothing.
func (s *Store) ReadParameters(ctx context.Context, name string) (meta map[string]string, err error) {
	blobName, err := s.rawName(name, foreignFolder)
	if err != nil {
		return nil, fmt.Errorf("reading parameters: %w", err)
	}
	stem, _, _ := strings.Cut(path.Base(blobName), ".")
	blobName = path.Dir(blobName) + "/" + stem + ".meta.json"
	body, _, found, err := s.get(ctx, s.rawContainer(), blobName, maxParameterBytes)
	if err != nil || !found {
		return map[string]string{}, err
	}
	if err := json.Unmarshal(body, &meta); err != nil {
		return nil, fmt.Errorf("reading blob %q: %w: %w", s.rawContainer()+"/"+blobName, ErrRefused, err)
	}
	return meta, nil
}

// DocumentOf reads the document that is stored of an assignment.
func (s *Store) DocumentOf(ctx context.Context, source string, slot time.Time, assignment string) (body []byte, found bool, err error) {
	name, err := assignmentName(documentsFolder, source, slot, assignment, ".json.gz")
	if err != nil {
		return nil, false, fmt.Errorf("reading a document: %w", err)
	}
	body, _, found, err = s.get(ctx, s.rawContainer(), name, maxDocumentBytes)
	return body, found, err
}

// Return puts a prober's document back into the inbox, under its own name, from where it is taken as
// it was at first. inbox.ErrWaiting is in the error's chain when something lies there already.
func (s *Store) Return(ctx context.Context, name string, body []byte) (Item, error) {
	if _, err := wire.ParseInboxBlob(name); err != nil {
		return Item{}, fmt.Errorf("returning a document to the inbox: %w: %w", ErrRefused, err)
	}
	etag, err := s.put(ctx, s.inboxContainer(), name, typeGzip, body, nil, absent())
	if lost(err) {
		// Our own try whose answer was lost comes here too, and is as well off.
		return Item{}, fmt.Errorf("returning %q to the inbox: %w", name, inbox.ErrWaiting)
	}
	if err != nil {
		return Item{}, fmt.Errorf("returning %q to the inbox: %w", name, brief(err))
	}
	return Item{Name: name, ETag: string(etag), Size: int64(len(body)), Created: time.Now().UTC()}, nil
}
