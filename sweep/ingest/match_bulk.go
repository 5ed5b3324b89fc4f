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
	flows, levels, held := int64(0), int64(0), int64(0)
	for i := range b.Flows {
		flows += b.Flows[i].Bytes + b.Flows[i].RampBytes
		err := matchFlow(&b.Flows[i], s)
		if err == nil {
			err = matchIntervals(&b.Flows[i].Intervals, s, most)
		}
		if err != nil {
			return fmt.Errorf("bulk.flows[%d]: %w", i, err)
		}
	}
	for i := range b.Levels {
		levels += b.Levels[i].Bytes
		held += b.Levels[i].CountedNS
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
	if held > longest(s) {
		return fmt.Errorf("bulk.levels: together they lasted %s; a run lasts %s", time.Duration(held), s.Span())
	}
	if b.Stream != nil {
		if err := matchIntervals(&b.Stream.Intervals, s, most); err != nil {
			return fmt.Errorf("bulk.stream: %w", err)
		}
	}
	if b.Load != nil && b.Load.Users > s.Bulk.Users {
		return fmt.Errorf("bulk.load: %d users; planned are %d", b.Load.Users, s.Bulk.Users)
	}
	return nil
}

// longest is what any part of a run of the spec may take, in nanoseconds.
func longest(s wire.Spec) int64 { return int64(s.Span() + windowSlack) }

// matchMessages refuses more messages than a stream was to send.
func matchMessages(r *wire.Run, s wire.Spec) error {
	if r.Kind != wire.KindStream {
		return nil
	}
	taken, backlog := 0, 0
	if r.Bulk != nil && r.Bulk.Stream != nil {
		taken, backlog = r.Bulk.Stream.Messages, r.Bulk.Stream.MaxBacklog
	}
	for _, counted := range []struct {
		what string
		n    int
	}{
		{"bulk.stream: %d messages were taken", taken}, {"bulk.stream: a backlog of %d messages", backlog},
		{"counts: %d messages were sent", r.Counts.Sent}, {"counts: %d messages were received", r.Counts.Received},
	} {
		if counted.n > s.Bulk.Messages {
			return fmt.Errorf(counted.what+"; planned are %d", counted.n, s.Bulk.Messages)
		}
	}
	return nil
}

// matchIntervals refuses intervals that are over after the run, which would be rows of another hour, and
// payload beyond the budget.
func matchIntervals(v *wire.Intervals, s wire.Spec, most int64) error {
	for i, at := range v.AtNS {
		if end := at + v.ForNS[i]; end > longest(s) {
			return fmt.Errorf("intervals: number %d is over after %s; a run lasts %s", i, time.Duration(end), s.Span())
		}
	}
	sum := int64(0)
	for _, n := range v.Bytes {
		if sum += max(n, 0); sum > most { // null is below zero
			return fmt.Errorf("intervals: %d bytes and more were moved; the byte budget is %d", sum, s.Bulk.MaxBytes)
		}
	}
	return nil
}

func matchFlow(f *wire.Flow, s wire.Spec) error {
	switch {
	case s.Bulk.Direction != wire.DirectionBoth && f.Direction != s.Bulk.Direction:
		return fmt.Errorf("direction %q; planned is %q", f.Direction, s.Bulk.Direction)
	case s.Bulk.Streams > 0 && f.Streams > s.Bulk.Streams:
		return fmt.Errorf("%d streams; planned are %d", f.Streams, s.Bulk.Streams)
	case f.CountedNS+f.RampNS > longest(s):
		return fmt.Errorf("it lasted %s; a run lasts %s", time.Duration(f.CountedNS+f.RampNS), s.Span())
	}
	return nil
}
