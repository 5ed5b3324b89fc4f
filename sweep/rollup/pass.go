package rollup

import (
	"context"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// chunk is how many changes are gathered before they are written: four batches, which are written at
// once.
const chunk = 400

// pass is one computation of a window. What is stored is read before the runs are, and each row is changed
// only if it is still the one that was read: so of two passes the one that read older runs cannot
// write over the other's.
type pass struct {
	*Roller
	window
	builder *hourBuilder
	stored  map[string]tables.Stamp
	changes []tables.HourChange
	levels  []tables.Level // of the hours that were computed, and of those that are gone

	wrote                                    map[int64]bool // hours of which something was written, by their Unix time
	runs, written, removed, same, unreadable int
}

// run computes the hours of the window and writes those that differ.
func (p *pass) run(ctx context.Context) error {
	if err := p.read(ctx); err != nil {
		return err
	}
	wanted := p.wanted()
	var series wire.Series
	var hour time.Time
	open := false
	for r, err := range p.Hours.HourRuns(ctx, p.source, p.since, p.until) {
		if err != nil {
			return err
		}
		begin := r.Slot.UTC().Truncate(time.Hour)
		if !wanted(begin) {
			continue
		}
		p.runs++
		if !open || r.Series != series || !begin.Equal(hour) {
			if err := p.close(ctx, open); err != nil {
				return err
			}
			series, hour, open = r.Series, begin, true
			p.builder.reset(series, hour)
		}
		p.builder.add(&r)
	}
	if err := p.close(ctx, open); err != nil {
		return err
	}
	if err := p.remove(ctx, wanted); err != nil {
		return err
	}
	return p.write(ctx)
}

// read reads what is stored.
func (p *pass) read(ctx context.Context) error {
	stamps, err := p.Hours.HourStamps(ctx, p.source, p.since, p.until)
	if err != nil {
		return err
	}
	p.stored = make(map[string]tables.Stamp, len(stamps))
	for _, s := range stamps {
		p.stored[s.Row] = s
	}
	return nil
}

// wanted says which hours are to be computed.
func (p *pass) wanted() func(time.Time) bool {
	if p.all {
		return func(time.Time) bool { return true }
	}
	marked := map[int64]bool{}
	for _, m := range p.marks {
		marked[m.Begin.Unix()] = true
	}
	return func(hour time.Time) bool { return marked[hour.Unix()] }
}

// close ends the hour that the builder is at.
func (p *pass) close(ctx context.Context, open bool) error {
	if !open {
		return nil
	}
	h, err := p.builder.hour()
	p.unreadable += p.builder.unreadable
	if err != nil {
		return err
	}
	row, err := tables.HourRow(h.Series, h.Begin)
	if err != nil {
		return err
	}
	if p.Watcher != nil {
		p.levels = append(p.levels, tables.Level{Series: h.Series, Kind: h.Kind, Begin: h.Begin, P50US: h.RTT.P50US, MinUS: h.RTT.MinUS, Simulated: h.Simulated > 0})
	}
	was := p.stored[row]
	delete(p.stored, row)
	if was.ETag != "" && was.Inputs == h.Inputs {
		p.same++
		return nil
	}
	p.changes = append(p.changes, tables.HourChange{Put: h, Begin: h.Begin, Was: was})
	if len(p.changes) < chunk {
		return nil
	}
	return p.write(ctx)
}

// remove deletes the stored hours that have no run any more.
func (p *pass) remove(ctx context.Context, wanted func(time.Time) bool) error {
	for row, was := range p.stored {
		hour, err := tables.HourOfRow(row)
		if err != nil {
			return err
		}
		if !wanted(hour) {
			continue
		}
		p.changes = append(p.changes, tables.HourChange{Source: p.source, Begin: hour, Was: was})
		if p.Watcher != nil {
			series, err := tables.SeriesOfRow(p.source, row)
			if err != nil {
				return err
			}
			p.levels = append(p.levels, tables.Level{Series: series, Begin: hour})
		}
		if len(p.changes) >= chunk {
			if err := p.write(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes what was gathered.
func (p *pass) write(ctx context.Context) error {
	if len(p.changes) == 0 {
		return nil
	}
	for _, c := range p.changes { // before, for what fails may have been written
		p.wrote[c.Begin.Unix()] = true
	}
	if err := p.Hours.WriteHours(ctx, p.changes); err != nil {
		return fmt.Errorf("writing %d hours: %w", len(p.changes), err)
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
