package archive

import (
	"context"
	"fmt"
	"time"

	"isochrone/sweep/result"
)

// PutSamples stores the samples of an assignment's results as Parquet, once, and returns the
// blob's name, container in front, and its number of rows: a row a planned sample. Results of
// another environment or source are refused.
//
// Samples follow from the document, which is stored once. So when the blob exists it stays,
// though a later version of the encoder may have written other bytes.
func (s *Store) PutSamples(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error) {
	blobName, err := s.lakeName("samples", samplesFolder, source, slot, assignment, rs)
	if err != nil {
		return "", 0, err
	}
	body, rows, err := EncodeSamples(rs)
	if err != nil {
		return "", 0, err
	}
	if name, err = s.putLake(ctx, "samples", blobName, body); err != nil {
		return "", 0, err
	}
	return name, rows, nil
}

// lakeName is the name of what a lake's folder holds of an assignment's results.
func (s *Store) lakeName(what, folder, source string, slot time.Time, assignment string, rs []result.Result) (string, error) {
	blobName, err := assignmentName(folder, source, slot, assignment, ".parquet")
	if err != nil {
		return "", fmt.Errorf("storing %s: %w", what, err)
	}
	for i := range rs {
		if series := rs[i].Series; series.Environment != s.environment || series.Source != source {
			return "", fmt.Errorf("storing the %s of %s: %w: the blob is for source %q of environment %q", what, series, ErrRefused, source, s.environment)
		}
	}
	return blobName, nil
}

// putLake stores a Parquet file once, and gives its name, container in front.
func (s *Store) putLake(ctx context.Context, what, blobName string, body []byte) (name string, err error) {
	if len(body) > maxSamplesBytes {
		return "", fmt.Errorf("storing %s: %w: %w: %d bytes: want at most %d", what, ErrRefused, ErrTooLarge, len(body), maxSamplesBytes)
	}
	if err := s.createNamed(ctx, s.rawContainer(), blobName, typeParquet, body); err != nil {
		return "", err
	}
	return s.rawContainer() + "/" + blobName, nil
}

// ReadSamples reads samples by the name that PutSamples gave them.
func (s *Store) ReadSamples(ctx context.Context, name string) (rows []Sample, found bool, err error) {
	blobName, err := s.rawName(name, samplesFolder)
	if err != nil {
		return nil, false, fmt.Errorf("reading samples: %w", err)
	}
	body, _, found, err := s.get(ctx, s.rawContainer(), blobName, maxSamplesBytes)
	if err != nil || !found {
		return nil, false, err
	}
	if rows, err = DecodeSamples(body); err != nil {
		return nil, false, fmt.Errorf("blob %q: %w", name, err)
	}
	return rows, true, nil
}
