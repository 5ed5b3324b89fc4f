package main

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// scratch computes hours as if none were stored, and keeps them instead of storing them.
type scratch struct {
	*tables.Store
	mu    sync.Mutex
	hours map[string]tables.Hour
}

func hourName(h *tables.Hour) string {
	return fmt.Sprintf("%v %s", h.Series, h.Begin.UTC().Format(time.RFC3339))
}

// HourMarks are none: every hour is computed.
func (s *scratch) HourMarks(context.Context) ([]tables.HourMark, error) { return nil, nil }

// HourStamps are none: nothing is taken for unchanged.
func (s *scratch) HourStamps(context.Context, string, time.Time, time.Time) ([]tables.Stamp, error) {
	return nil, nil
}

// WriteHours keeps the hours.
func (s *scratch) WriteHours(_ context.Context, cs []tables.HourChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range cs {
		if c.Put != nil {
			s.hours[hourName(c.Put)] = *c.Put
		}
	}
	return nil
}

// KeepProfiles, ProfileStates and what follows leave the stored profiles alone.
func (s *scratch) KeepProfiles(context.Context, string) error { return nil }

// ProfileStates are none.
func (s *scratch) ProfileStates(context.Context) ([]tables.ProfileState, error) { return nil, nil }

// checkHours computes all hours again, from the rows alone, and holds them against those that are stored.
func (m *month) checkHours(ctx context.Context, v *verdict) error {
	again := &scratch{Store: m.rows, hours: map[string]tables.Hour{}}
	r := &rollup.Roller{Hours: again, Profiles: again, Now: m.clock.month, Log: slog.New(slog.DiscardHandler)}
	if _, err := r.Backfill(ctx, m.rows, rollup.Scope{}, nil); err != nil {
		return fmt.Errorf("computing the hours again: %w", err)
	}
	v.hours = len(again.hours)
	for _, region := range regions[:m.options.probers] {
		for h, err := range m.rows.Hours(ctx, tables.HourQuery{Source: region, Since: m.start.AddDate(0, 0, -1), Until: m.end.AddDate(0, 0, 1)}) {
			if err != nil {
				return err
			}
			name := hourName(&h)
			want, there := again.hours[name]
			delete(again.hours, name)
			if !there {
				v.bad(wrongHours, 1, "%s is stored, and no run belongs to it", name)
			} else if !sameHour(want, h) {
				v.bad(wrongHours, 1, "%s is stored as %+v, and comes to %+v", name, h, want)
			}
		}
	}
	for name := range again.hours {
		v.bad(wrongHours, 1, "%s is not stored", name)
	}
	return nil
}

// sameHour compares what is stored with what was computed. Storage keeps no empty maps.
func sameHour(a, b tables.Hour) bool {
	for _, h := range []*tables.Hour{&a, &b} {
		h.Begin, h.First, h.Last = h.Begin.UTC(), h.First.UTC(), h.Last.UTC()
		if len(h.Failed) == 0 {
			h.Failed = nil
		}
		if len(h.Failures) == 0 {
			h.Failures = nil
		}
	}
	return reflect.DeepEqual(a, b)
}
