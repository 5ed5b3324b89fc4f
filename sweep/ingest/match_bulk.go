package ingest

import (
	"fmt"
	"time"

	"isochrone/prober/wire"
)

// budgetSlack is what a run may have moved beyond its byte budget. Both ends meter each octet before
// it is sent or read, so there is nothing to forgive but the octets of frames, which not everybody
// counts alike.
func budgetSlack(budget int64) int64 { return budget/100 + 64<<10 }

// plannedSamples is how many samples a run of the spec has at most.
func plannedSamples(s wire.Spec) int {
	switch {
	case !s.Kind.IsBulk():
		return s.Count
	case !s.Kind.HasSamples():
		return 0
	case s.Bulk.Loops > 0:
		return s.Bulk.Loops * s.Bulk.Users
	}
	return wire.MaxSamples // its users go on for a time
}

// matchBulk holds what a bulk run came to against its plan. A run that moved more than its budget
// allows did not do what it was told, whatever else it says.
func matchBulk(b *wire.BulkResult, s wire.Spec) error {
	if b == nil {
		return nil
	}
	most := s.Bulk.MaxBytes + budgetSlack(s.Bulk.MaxBytes)
	flows, levels := int64(0), int64(0)
	for i := range b.Flows {
		flows += b.Flows[i].Bytes + b.Flows[i].RampBytes
		if err := matchFlow(&b.Flows[i], s); err != nil {
			return fmt.Errorf("bulk.flows[%d]: %w", i, err)
		}
	}
	for i := range b.Levels {
		levels += b.Levels[i].Bytes
		if n := b.Levels[i].Outstanding; n > s.Bulk.Outstanding {
			return fmt.Errorf("bulk.levels[%d]: %d requests outstanding; planned are %d at most", i, n, s.Bulk.Outstanding)
		}
	}
	for _, moved := range []struct {
		what string
		n    int64
	}{{"bytes", b.Bytes}, {"bytes of all flows", flows}, {"bytes of all levels", levels}} {
		if moved.n > most {
			return fmt.Errorf("bulk: %d %s were moved; its byte budget is %d", moved.n, moved.what, s.Bulk.MaxBytes)
		}
	}
	if b.Stream != nil && b.Stream.Messages > s.Bulk.Messages {
		return fmt.Errorf("bulk.stream: %d messages were taken; planned are %d", b.Stream.Messages, s.Bulk.Messages)
	}
	if b.Load != nil && b.Load.Users > s.Bulk.Users {
		return fmt.Errorf("bulk.load: %d users; planned are %d", b.Load.Users, s.Bulk.Users)
	}
	return nil
}

func matchFlow(f *wire.Flow, s wire.Spec) error {
	span := int64(s.Span() + windowSlack)
	switch {
	case s.Bulk.Direction != wire.DirectionBoth && f.Direction != s.Bulk.Direction:
		return fmt.Errorf("direction %q; planned is %q", f.Direction, s.Bulk.Direction)
	case s.Bulk.Streams > 0 && f.Streams > s.Bulk.Streams:
		return fmt.Errorf("%d streams; planned are %d", f.Streams, s.Bulk.Streams)
	case f.CountedNS+f.RampNS > span:
		return fmt.Errorf("it lasted %s; a run lasts %s", time.Duration(f.CountedNS+f.RampNS), s.Span())
	}
	return nil
}
