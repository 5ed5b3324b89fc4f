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
	blobName, err := assignmentName(samplesFolder, source, slot, assignment, ".parquet")
	if err != nil {
		return "", 0, fmt.Errorf("storing samples: %w", err)
	}
	for i := range rs {
		if series := rs[i].Series; series.Environment != s.environment || series.Source != source {
			return "", 0, fmt.Errorf("storing the samples of %s: %w: the blob is for source %q of environment %q", series, ErrRefused, source, s.environment)
		}
	}
	body, rows, err := EncodeSamples(rs)
	if err != nil {
		return "", 0, err
	}
	if len(body) > maxSamplesBytes {
		return "", 0, fmt.Errorf("storing samples: %w: %w: %d bytes: want at most %d", ErrRefused, ErrTooLarge, len(body), maxSamplesBytes)
	}
	if err := s.createNamed(ctx, s.rawContainer(), blobName, typeParquet, body); err != nil {
		return "", 0, err
	}
	return s.rawContainer() + "/" + blobName, rows, nil
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
