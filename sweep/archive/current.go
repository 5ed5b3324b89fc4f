package archive

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"isochrone/prober/wire"
)

// ReadCurrent reads what a prober is told at present, and its ETag. Both are empty when the
// prober was never told anything.
func (s *Store) ReadCurrent(ctx context.Context, prober string) (body []byte, etag string, err error) {
	if err := wire.ValidateName("prober", prober); err != nil {
		return nil, "", fmt.Errorf("reading assignments: %w: %w", ErrRefused, err)
	}
	body, etag, _, err = s.get(ctx, wire.AssignmentsContainer(s.environment), wire.CurrentBlob(prober), maxPlanBytes)
	return body, etag, err
}

// WriteCurrent replaces what a prober is told, if it still has the ETag with which it was read;
// an empty ETag says that there must be nothing yet. written is false when somebody else changed
// it, unless to the same bytes.
func (s *Store) WriteCurrent(ctx context.Context, prober string, body []byte, etag string) (written bool, err error) {
	if err := wire.ValidateName("prober", prober); err != nil {
		return false, fmt.Errorf("writing assignments: %w: %w", ErrRefused, err)
	}
	if err := s.ownBody(body); err != nil {
		return false, fmt.Errorf("writing the assignments of %q: %w", prober, err)
	}
	if len(body) > maxPlanBytes {
		return false, fmt.Errorf("writing the assignments of %q: %w: %w: %d bytes: want at most %d", prober, ErrRefused, ErrTooLarge, len(body), maxPlanBytes)
	}
	cond := absent()
	if etag != "" {
		cond = unchanged(etag)
	}
	container, name := wire.AssignmentsContainer(s.environment), wire.CurrentBlob(prober)
	_, err = s.put(ctx, container, name, typeJSON, body, nil, cond)
	switch {
	case err == nil:
		return true, nil
	case !lost(err) && !(etag != "" && status(err) == http.StatusNotFound):
		return false, fmt.Errorf("writing blob %q: %w", container+"/"+name, brief(err))
	}
	stored, _, found, err := s.get(ctx, container, name, maxPlanBytes)
	return found && bytes.Equal(stored, body), err
}
