package rollup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// dueProfiles computes the profiles of the sources whose profiles are of an earlier day, those of the
// earliest first: what one invocation has no time for, the next ones of the day do.
func (r *Roller) dueProfiles(ctx context.Context, t *tallier, day time.Time) error {
	states, err := r.Profiles.ProfileStates(ctx)
	if err != nil {
		return fmt.Errorf("rolling up the profiles: %w", err)
	}
	states = slices.DeleteFunc(states, func(s tables.ProfileState) bool { return !s.Day.Before(day) })
	if len(states) == 0 {
		return nil
	}
	// What is still marked would be missing from the profiles for a day.
	marks, err := r.Hours.HourMarks(ctx)
	if err != nil {
		return fmt.Errorf("rolling up the profiles: %w", err)
	}
	waits := map[string]bool{}
	for _, m := range marks {
		if m.Begin.Before(day) && !m.Begin.Before(day.AddDate(0, 0, -ProfileDays)) {
			waits[m.Source] = true
		}
	}
	slices.SortStableFunc(states, func(a, b tables.ProfileState) int { return a.Day.Compare(b.Day) })
	return r.profiles(ctx, t, day, states, waits)
}

// profiles computes the profiles of sources, a few at once.
func (r *Roller) profiles(ctx context.Context, t *tallier, day time.Time, states []tables.ProfileState, waits map[string]bool) error {
	var faults faultList
	builders := make(chan *profileBuilder, concurrency)
	for range concurrency {
		builders <- &profileBuilder{}
	}
	var g errgroup.Group
	g.SetLimit(concurrency)
	for _, s := range states {
		if waits[s.Source] || t.ending(ctx) {
			t.add(func(p *Report) { p.Waiting++ })
			continue
		}
		g.Go(func() error {
			b := <-builders
			defer func() { builders <- b }()
			if err := r.profilesOf(ctx, t, b, s, day); err != nil {
				faults.add(fmt.Errorf("rolling up the profiles of %q: %w", s.Source, err))
				t.add(func(p *Report) { p.Waiting++ })
			}
			return nil
		})
	}
	_ = g.Wait() // the faults are kept apart
	return faults.err()
}

// profilesOf computes the profiles of one source until they are stored, and notes of which day they are.
func (r *Roller) profilesOf(ctx context.Context, t *tallier, b *profileBuilder, s tables.ProfileState, day time.Time) error {
	for round := 1; ; round++ {
		p := profilePass{Roller: r, source: s.Source, day: day, builder: b}
		err := p.run(ctx)
		t.add(func(to *Report) {
			to.ProfilesWritten, to.ProfilesRemoved, to.ProfilesSame = to.ProfilesWritten+p.written, to.ProfilesRemoved+p.removed, to.ProfilesSame+p.same
			to.Unreadable += p.unreadable
		})
		if err == nil {
			if err = r.Profiles.AdvanceProfiles(ctx, s, day); err == nil {
				t.add(func(to *Report) { to.Profiled++ })
			}
			return err
		}
		if !errors.Is(err, tables.ErrChanged) || round == rounds || ctx.Err() != nil {
			return err
		}
	}
}

// profilePass is one computation of a source's profiles; as pass.
type profilePass struct {
	*Roller
	source  string
	day     time.Time
	builder *profileBuilder
	stored  map[string]tables.Stamp
	changes []tables.ProfileChange

	written, removed, same, unreadable int
}

func (p *profilePass) run(ctx context.Context) error {
	stamps, err := p.Profiles.ProfileStamps(ctx, p.source)
	if err != nil {
		return err
	}
	p.stored = make(map[string]tables.Stamp, len(stamps))
	for _, s := range stamps {
		p.stored[s.Row] = s
	}
	var series wire.Series
	open := false
	for h, err := range p.Profiles.Hours(ctx, tables.HourQuery{Source: p.source, Since: p.day.AddDate(0, 0, -ProfileDays), Until: p.day}) {
		if err != nil {
			return err
		}
		if !open || h.Series != series {
			if err := p.close(ctx, open); err != nil {
				return err
			}
			series, open = h.Series, true
			p.builder.reset(p.day)
		}
		p.builder.add(&h)
	}
	if err := p.close(ctx, open); err != nil {
		return err
	}
	for _, was := range p.stored {
		p.changes = append(p.changes, tables.ProfileChange{Source: p.source, Was: was})
	}
	return p.write(ctx)
}

// close ends the series that the builder is at.
func (p *profilePass) close(ctx context.Context, open bool) error {
	if !open {
		return nil
	}
	for _, of := range p.builder.profiles() {
		row, err := tables.ProfileRow(of.Series, of.HourOfDay)
		if err != nil {
			return err
		}
		was := p.stored[row]
		delete(p.stored, row)
		if was.ETag != "" && was.Inputs == of.Inputs {
			p.same++
			continue
		}
		p.changes = append(p.changes, tables.ProfileChange{Put: &of, Was: was})
	}
	for i := range p.builder.of {
		p.unreadable += p.builder.of[i].unreadable
	}
	if len(p.changes) < chunk {
		return nil
	}
	return p.write(ctx)
}

func (p *profilePass) write(ctx context.Context) error {
	if len(p.changes) == 0 {
		return nil
	}
	if err := p.Profiles.WriteProfiles(ctx, p.changes); err != nil {
		return fmt.Errorf("writing %d profiles: %w", len(p.changes), err)
	}
	for _, c := range p.changes {
		if c.Put == nil {
			p.removed++
		} else {
			p.written++
		}
	}
	p.changes = p.changes[:0]
	return nil
}
