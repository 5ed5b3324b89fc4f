package archive

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"isochrone/sweep/result"
)

// rebuildTries is how often a file is written over when others write it at the same time.
const rebuildTries = 3

// RebuildSamples holds the samples of an assignment's results against the Parquet file that is stored,
// byte for byte, and says how it differs. With write it puts the right one in its place, if it
// still is the one that was compared.
func (s *Store) RebuildSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (name string, c result.Change, err error) {
	blobName, err := s.lakeName("samples", samplesFolder, source, slot, assignment, rs)
	if err != nil {
		return "", 0, err
	}
	body, _, err := EncodeSamples(rs)
	if err != nil {
		return "", 0, err
	}
	return s.rebuild(ctx, blobName, typeParquet, body, maxSamplesBytes, write)
}

// RebuildIntervals is RebuildSamples of intervals and levels. Results without any have no file, and
// one that is stored goes.
func (s *Store) RebuildIntervals(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result, write bool) (name string, c result.Change, err error) {
	blobName, err := s.lakeName("intervals", intervalsFolder, source, slot, assignment, rs)
	if err != nil {
		return "", 0, err
	}
	body, rows, err := EncodeIntervals(rs)
	if err != nil {
		return "", 0, err
	}
	if rows == 0 {
		body = nil
	}
	return s.rebuild(ctx, blobName, typeParquet, body, maxSamplesBytes, write)
}

// RebuildJSON is RebuildSamples of what unknown XML is as JSON; document is the XML's name.
func (s *Store) RebuildJSON(ctx context.Context, document string, body []byte, write bool) (name string, c result.Change, err error) {
	blobName, err := s.rawName(document, foreignFolder)
	if err != nil {
		return "", 0, fmt.Errorf("rebuilding XML as JSON: %w", err)
	}
	stem, _, _ := strings.Cut(path.Base(blobName), ".")
	return s.rebuild(ctx, path.Dir(blobName)+"/"+stem+"."+xmlAsJSON, typeBytes, body, maxDocumentBytes, write)
}

// rebuild compares a blob of the raw container with the bytes that it ought to have, nil for no blob
// at all, and with write brings it there.
func (s *Store) rebuild(ctx context.Context, blobName, contentType string, body []byte, limit int64, write bool) (name string, c result.Change, err error) {
	name = s.rawContainer() + "/" + blobName
	if int64(len(body)) > limit {
		return name, 0, fmt.Errorf("rebuilding %q: %w: %w: %d bytes: want at most %d", name, ErrRefused, ErrTooLarge, len(body), limit)
	}
	for range rebuildTries {
		stored, etag, found, err := s.get(ctx, s.rawContainer(), blobName, limit)
		if err != nil {
			return name, 0, err
		}
		cond := absent()
		switch {
		case !found && body == nil, found && body != nil && bytes.Equal(stored, body):
			// After a write of our own whose answer was lost c says what it did.
			return name, c, nil
		case !found:
			c = result.Added
		case body == nil:
			c, cond = result.Removed, unchanged(etag)
		default:
			c, cond = result.Changed, unchanged(etag)
		}
		if !write {
			return name, c, nil
		}
		err = s.replace(ctx, blobName, contentType, body, cond)
		if err == nil {
			return name, c, nil
		}
		if !lost(err) && status(err) != http.StatusNotFound {
			return name, 0, fmt.Errorf("rebuilding %q: %w", name, brief(err))
		}
	}
	return name, 0, fmt.Errorf("rebuilding %q: %w, %d times", name, result.ErrChanged, rebuildTries)
}

func (s *Store) replace(ctx context.Context, blobName, contentType string, body []byte, cond blob.ModifiedAccessConditions) error {
	if body == nil {
		_, err := s.container(s.rawContainer()).NewBlobClient(blobName).Delete(ctx, &blob.DeleteOptions{
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &cond}})
		return err
	}
	_, err := s.put(ctx, s.rawContainer(), blobName, contentType, body, nil, cond)
	return err
}
