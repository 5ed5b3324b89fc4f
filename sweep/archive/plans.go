package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"isochrone/prober/wire"
)

// planName is the name of a sweep's plan. No prober's name begins with an underscore.
func planName(slot time.Time) string { return "_sweeps/" + wire.SlotName(slot) + ".json" }

func checkSlot(slot time.Time) error {
	if !slot.Equal(wire.Slot(slot)) || slot.Year() < 2000 || slot.Year() > 9999 {
		return fmt.Errorf("%w: slot %s: want a whole minute of the years 2000 to 9999", ErrRefused, slot.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// CreatePlan stores a sweep's plan, once. created is false when another plan is stored for the
// slot; it is true when this one is, whoever stored it: the answer to the first try may be lost.
func (s *Store) CreatePlan(ctx context.Context, slot time.Time, body []byte) (created bool, err error) {
	if err := checkSlot(slot); err != nil {
		return false, fmt.Errorf("creating a plan: %w", err)
	}
	if err := s.ownBody(body); err != nil {
		return false, fmt.Errorf("creating plan %q: %w", wire.SlotName(slot), err)
	}
	o, err := s.create(ctx, wire.AssignmentsContainer(s.environment), planName(slot), typeJSON, body, maxPlanBytes)
	return o == Stored || o == Same, err
}

// ReadPlan reads a sweep's plan.
func (s *Store) ReadPlan(ctx context.Context, slot time.Time) (body []byte, found bool, err error) {
	if err := checkSlot(slot); err != nil {
		return nil, false, fmt.Errorf("reading a plan: %w", err)
	}
	body, _, found, err = s.get(ctx, wire.AssignmentsContainer(s.environment), planName(slot), maxPlanBytes)
	return body, found, err
}

// ownBody refuses a JSON body that says that it belongs to another environment.
func (s *Store) ownBody(body []byte) error {
	var claim struct{ Environment string }
	if json.Unmarshal(body, &claim) == nil && claim.Environment != "" && claim.Environment != s.environment {
		return fmt.Errorf("%w: it belongs to environment %q, this store to %q", ErrRefused, claim.Environment, s.environment)
	}
	return nil // whoever reads it checks the rest
}
