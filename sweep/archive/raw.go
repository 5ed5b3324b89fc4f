package archive

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// Outcome says what came of storing something that is stored once.
type Outcome = inbox.Outcome

// The outcomes of PutDocument.
const (
	Stored   = inbox.Stored   // it is new
	Same     = inbox.Same     // it was stored before, byte for byte
	Conflict = inbox.Conflict // something else is stored in its place, and stays
)

// The folders of the raw container. The source stands before the date, so that one role
// condition on the path limits a reader to a region.
const (
	documentsFolder = "documents/v=1/"
	samplesFolder   = "samples/v=1/"
	intervalsFolder = "intervals/v=1/"
	foreignFolder   = "foreign/"
)

// assignmentName is the name of what belongs to an assignment.
func assignmentName(folder, source string, slot time.Time, assignment, ending string) (string, error) {
	if err := wire.ValidateName("source", source); err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := wire.ValidateAssignmentID(assignment); err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	slot = slot.UTC()
	if slot.Year() < 2000 || slot.Year() > 9999 {
		return "", fmt.Errorf("%w: slot in the year %d: want 2000 to 9999", ErrRefused, slot.Year())
	}
	return folder + "src=" + source + "/" + dateFolder(slot) + slot.Format("1504") + "_" + assignment + ending, nil
}

func dateFolder(t time.Time) string { return "date=" + t.UTC().Format(time.DateOnly) + "/" }

// PutDocument stores an assignment's document as it came, gzipped JSON, once. The name has the
// container in front; on Conflict it is that of the document which is stored.
func (s *Store) PutDocument(ctx context.Context, source string, slot time.Time, assignment string, body []byte) (name string, o Outcome, err error) {
	blobName, err := assignmentName(documentsFolder, source, slot, assignment, ".json.gz")
	if err != nil {
		return "", 0, fmt.Errorf("storing a document: %w", err)
	}
	o, err = s.create(ctx, s.rawContainer(), blobName, typeGzip, body, maxDocumentBytes)
	if err != nil {
		return "", 0, err
	}
	return s.rawContainer() + "/" + blobName, o, nil
}

// ReadDocument reads a document, ours or foreign, by the name that PutDocument or PutForeign
// gave it.
func (s *Store) ReadDocument(ctx context.Context, name string) (body []byte, found bool, err error) {
	blobName, err := s.rawName(name, documentsFolder, foreignFolder)
	if err != nil {
		return nil, false, fmt.Errorf("reading a document: %w", err)
	}
	body, _, found, err = s.get(ctx, s.rawContainer(), blobName, maxDocumentBytes)
	return body, found, err
}

// rawName is the name within the raw container, if name is of this environment's and lies in
// one of the folders.
func (s *Store) rawName(name string, folders ...string) (string, error) {
	blobName, ours := strings.CutPrefix(name, s.rawContainer()+"/")
	if !ours || path.Clean(blobName) != blobName {
		return "", fmt.Errorf("%w: blob %q does not lie in %q", ErrRefused, name, s.rawContainer())
	}
	for _, f := range folders {
		if strings.HasPrefix(blobName, f) {
			return blobName, nil
		}
	}
	return "", fmt.Errorf("%w: blob %q lies in none of %q", ErrRefused, name, folders)
}

// PutForeign stores a foreign document byte for byte, and beside it, under <sum>.meta.json, the
// parameters it came with, if any. sum is its ForeignSum. when decides the day's folder: give the time
// at which it came, and not the present one, so that a second try finds the same place.
func (s *Store) PutForeign(ctx context.Context, when time.Time, sum string, ext string, body []byte, meta []byte) (name string, err error) {
	if err := checkSum("sum", sum); err != nil {
		return "", fmt.Errorf("storing a foreign document: %w", err)
	}
	if err := checkExtension(ext); err != nil {
		return "", fmt.Errorf("storing a foreign document: %w", err)
	}
	if len(body) > maxDocumentBytes || len(meta) > maxDocumentBytes {
		return "", fmt.Errorf("storing a foreign document: %w: %w: want at most %d bytes", ErrRefused, ErrTooLarge, maxDocumentBytes)
	}
	stem := foreignFolder + dateFolder(when) + sum
	if text := string(meta); text != "{}" && text != "null" {
		// The parameters first: no document that came with any is ever without them.
		if err := s.createNamed(ctx, s.rawContainer(), stem+".meta.json", typeJSON, meta); err != nil {
			return "", err
		}
	}
	name = stem + "." + ext
	if err := s.createNamed(ctx, s.rawContainer(), name, typeBytes, body); err != nil {
		return "", err
	}
	return s.rawContainer() + "/" + name, nil
}
