package archive

import (
	"context"
	"fmt"
	"time"

	"isochrone/sweep/result"
)

// PutIntervals stores the intervals and levels of an assignment's bulk results as Parquet, beside
// the samples and by the same rules, and returns the blob's name and its number of rows. Without
// any there is no blob, and no name.
func (s *Store) PutIntervals(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) (name string, rows int, err error) {
	blobName, err := s.lakeName("intervals", intervalsFolder, source, slot, assignment, rs)
	if err != nil {
		return "", 0, err
	}
	body, rows, err := EncodeIntervals(rs)
	if err != nil || rows == 0 {
		return "", 0, err
	}
	if name, err = s.putLake(ctx, "intervals", blobName, body); err != nil {
		return "", 0, err
	}
	return name, rows, nil
}

// ReadIntervals reads intervals by the name that PutIntervals gave them.
func (s *Store) ReadIntervals(ctx context.Context, name string) (rows []Interval, found bool, err error) {
	blobName, err := s.rawName(name, intervalsFolder)
	if err != nil {
		return nil, false, fmt.Errorf("reading intervals: %w", err)
	}
	body, _, found, err := s.get(ctx, s.rawContainer(), blobName, maxSamplesBytes)
	if err != nil || !found {
		return nil, false, err
	}
	if rows, err = DecodeIntervals(body); err != nil {
		return nil, false, fmt.Errorf("blob %q: %w", name, err)
	}
	return rows, true, nil
}
