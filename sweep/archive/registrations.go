package archive

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/inbox"
)

// Registered is a prober's registration as it wrote it.
type Registered = inbox.Registered

// readsAtOnce is how many small blobs are read at the same time.
const readsAtOnce = 8

// Registrations reads the registration of every prober, by name. Nothing in them is checked but
// the name, and one prober cannot keep the others' from being read.
func (s *Store) Registrations(ctx context.Context) ([]Registered, error) {
	container := wire.ProbersContainer(s.environment)
	var probers []string
	for b, err := range s.list(ctx, container, "", false) {
		if err != nil {
			return nil, err
		}
		prober, _, _ := strings.Cut(*b.Name, "/")
		if wire.ValidateName("prober", prober) == nil && *b.Name == wire.RegistrationBlob(prober) {
			probers = append(probers, prober)
		}
	}
	read := make([]*Registered, len(probers))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i, prober := range probers {
		g.Go(func() error {
			body, _, found, err := s.get(ctx, container, wire.RegistrationBlob(prober), maxRegistrationBytes)
			if errors.Is(err, ErrTooLarge) {
				body, found, err = nil, true, nil
			}
			if found {
				read[i] = &Registered{Prober: prober, Body: body}
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make([]Registered, 0, len(read))
	for _, r := range read {
		if r != nil { // else gone since the listing
			out = append(out, *r)
		}
	}
	return out, nil
}
