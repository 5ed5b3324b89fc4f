package main

import (
	"context"
	"fmt"
	"time"

	"isochrone/prober/wire"
)

// planted is what the driver itself put into the inbox.
type planted struct {
	garbage map[string]bool // by SHA-256: it must be in quarantine in the end
	again   int             // documents that were delivered before
}

// plant puts into the inbox what is no document, and once more a document that was stored already.
func (m *month) plant(ctx context.Context, now time.Time) error {
	slot := now.Add(-time.Hour)
	source := regions[m.random.IntN(m.options.probers)]
	id := wire.AssignmentID(m.environment, slot, source, "no-such-probe", 0)
	body := fmt.Appendf(nil, "this is no document; %d", m.random.Uint64())
	if m.garbage == nil {
		m.garbage = map[string]bool{}
	}
	m.garbage[sum(body)] = true
	container := wire.InboxContainer(m.environment)
	if _, err := m.inbox.UploadBuffer(ctx, container, wire.InboxBlob(source, slot, id, "00000000"), body, nil); err != nil {
		return fmt.Errorf("planting garbage: %w", err)
	}
	slot = slot.Add(-time.Duration(m.random.IntN(20)) * time.Hour)
	id = wire.AssignmentID(m.environment, slot, source, hourlyProbe, 0)
	body, found, err := m.blobs.DocumentOf(ctx, source, slot, id)
	if err != nil || !found {
		return err
	}
	d, err := decode(body)
	if err != nil {
		return err
	}
	m.again++
	if _, err := m.inbox.UploadBuffer(ctx, container, wire.InboxBlob(source, slot, id, d.Attempt), body, nil); err != nil {
		return fmt.Errorf("planting a document again: %w", err)
	}
	return nil
}
