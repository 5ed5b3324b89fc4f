package config

import (
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/rounds"
)

// BulkGuard is what clocks may differ by. A bulk run begins at its start or within this, and keeps as
// far from the runs before it and after it: nobody is in two runs at once by anybody's clock.
const BulkGuard = 2 * time.Second

// maxTimetable is the longest that the bulk runs of one slot may take.
const maxTimetable = 24 * time.Hour

// Round is bulk runs of one probe that begin at the same time. No prober is in two of them.
type Round struct {
	Probe *Probe
	// Start is zero when there is no time for the round.
	Start time.Time
	Pairs []Pair
}

// BulkTime is how long a bulk run takes at most, from its start: it may begin late by the guard.
func BulkTime(s wire.Spec) time.Duration { return BulkGuard + s.Span() }

// Rounds lays out the runs of a bulk probe: path by path, and the two directions of a pair apart.
// Package rounds says how many there are. An endpoint bears any number of sources at a time.
func (c *Config) Rounds(p *Probe) (out [][]Pair) {
	number := make(map[string]int, len(c.Probers)+len(c.Endpoints))
	var names []string
	for _, q := range c.Probers {
		number[q.ID] = len(names)
		names = append(names, q.ID)
	}
	for _, e := range c.Endpoints {
		number[e.Name] = len(names)
		names = append(names, e.Name)
	}
	byPath := map[string][]rounds.Pair{}
	for _, pair := range c.Pairs(p) {
		byPath[pair.Path] = append(byPath[pair.Path], rounds.Pair{Source: number[pair.Source], Target: number[pair.Target]})
	}
	layOut := rounds.Of
	if p.Spec.AsksURL() {
		layOut = rounds.ToMany
	}
	for _, path := range p.Paths {
		for _, round := range layOut(byPath[path]) {
			pairs := make([]Pair, len(round))
			for i, q := range round {
				pairs[i] = Pair{Source: names[q.Source], Target: names[q.Target], Path: path}
			}
			out = append(out, pairs)
		}
	}
	return out
}

// Timetable says when the rounds of the bulk probes that are due at a slot begin, if the slot's first runs
// may begin the lead after begin. The probes follow each other in the file's order.
//
// The slot's latency runs come first. Every later round lies, guards included, between the times
// in which runs of latency probes of this and other slots may be under way, and before the next slot with
// bulk runs.
func (c *Config) Timetable(slot, begin time.Time) (out []Round) {
	t := c.timetable(slot, begin)
	for i := range c.Probes {
		p := &c.Probes[i]
		if !p.Spec.Kind.IsBulk() || !p.Due(slot) {
			continue
		}
		for _, pairs := range c.Rounds(p) {
			out = append(out, Round{Probe: p, Start: t.next(BulkTime(p.Spec)), Pairs: pairs})
		}
	}
	return out
}

// timetable hands out times to one round after the other.
type timetable struct {
	timing  Timing
	latency []occupant
	cursor  time.Time     // nothing begins before it
	until   time.Time     // everything is over by then
	unfit   time.Duration // what takes as long finds no time any more; 0: everything has
}

// occupant is a latency probe as far as it keeps rounds away. To find out when a schedule is due next takes
// as long as all the rest, so it is asked once a slot.
type occupant struct {
	probe *Probe
	busy  time.Duration // how long after a slot its runs are over, the guard included
	slot  time.Time     // the last answer of after; zero: none
}

// after is the first slot whose runs are not over at a time. Times may only grow from call to call.
func (o *occupant) after(at time.Time) time.Time {
	if over := at.Add(-o.busy); o.slot.IsZero() || !o.slot.After(over) {
		o.slot = o.probe.Next(over)
	}
	return o.slot
}

func (c *Config) timetable(slot, begin time.Time) *timetable {
	t := &timetable{timing: c.Timing, cursor: begin.Add(c.Timing.Lead), until: begin.Add(maxTimetable)}
	for i := range c.Probes {
		p := &c.Probes[i]
		if p.Spec.Kind.IsBulk() {
			if next := p.Next(slot); !next.IsZero() && next.Add(c.Timing.Lead-BulkGuard).Before(t.until) {
				t.until = next.Add(c.Timing.Lead - BulkGuard)
			}
			continue
		}
		o := occupant{probe: p, busy: c.Timing.Lead + c.Timing.Late + p.Spec.Span() + BulkGuard}
		t.latency = append(t.latency, o)
		if end := begin.Add(o.busy); p.Due(slot) && end.After(t.cursor) {
			t.cursor = end
		}
	}
	return t
}

// next is when a round that takes a time begins; zero when there is none left for it.
func (t *timetable) next(takes time.Duration) time.Time {
	if t.unfit > 0 && takes >= t.unfit {
		return time.Time{}
	}
	start, latency, ok := t.gap(t.latency, takes, t.until)
	if !ok {
		t.unfit = takes
		return time.Time{}
	}
	t.latency = latency
	t.cursor = start.Add(takes + BulkGuard)
	return start
}

// gap is the first time from the cursor on at which none of the latency probes' runs may be under way
// for as long as a round takes. then are the latency probes, with what they have answered up to it.
func (t *timetable) gap(latency []occupant, takes time.Duration, until time.Time) (start time.Time, then []occupant, ok bool) {
	start, then = t.cursor, slices.Clone(latency)
	for moved := true; moved; {
		moved = false
		for i := range then {
			for o := &then[i]; ; {
				slot := o.after(start)
				if slot.IsZero() || !slot.Add(t.timing.Lead-BulkGuard).Before(start.Add(takes)) {
					break
				}
				start, moved = slot.Add(o.busy), true
				if start.Add(takes).After(until) {
					return time.Time{}, nil, false
				}
			}
		}
	}
	return start, then, !start.Add(takes).After(until)
}
