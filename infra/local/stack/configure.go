package stack

import (
	"context"
	"fmt"

	"isochrone/sweep/config"
)

// Configure pushes another configuration, which the next sweep uses. It must have the probers that
// the stack was started with: no other is started.
func (s *Stack) Configure(ctx context.Context, body []byte) error {
	c, err := config.Parse(body)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if err := s.Archive.PutConfig(ctx, body); err != nil {
		return err
	}
	s.Config, s.o.Config = c, body
	return nil
}
