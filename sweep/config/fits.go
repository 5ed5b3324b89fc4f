package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What fits tries. The pattern of a configuration shows in a few slots, and every sweep is held to its
// budget and its time when it is planned.
const (
	maxTriedSlots  = 200 // a week of an hourly probe
	maxTriedRounds = 4000
	// maxUnfit is how many probes without a time are reported: what is done about these changes the others'.
	maxUnfit = 5
	// planSlack is how late a sweep may be planned for its rounds still to fit.
	planSlack = time.Minute
)

const slotForm = "2006-01-02T15:04Z"

// fits reports bulk probes whose rounds find no time between latency runs or before the next bulk
// slot, and slots whose bulk runs exceed the budget. The configuration has no other fault.
//
// A probe that rotates is taken to be due at all its times: each comes on some day, and then beside any
// of the others'.
func (r *reader) fits(file section, valid *Config, entries []probeEntry) {
	every := *valid
	every.Probes = slices.Clone(valid.Probes)
	for i := range every.Probes {
		every.Probes[i].Rotate = false
	}
	c := &every
	bytes, entry := map[*Probe]int64{}, map[*Probe]*probeEntry{}
	for i := range c.Probes {
		if p := &c.Probes[i]; p.Spec.Kind.IsBulk() {
			entry[p], bytes[p] = &entries[i], int64(len(c.Pairs(p)))*p.Spec.Bulk.MaxBytes
		}
	}
	rounds := map[*Probe]int{} // laid out when they are needed: that takes long where there are many
	reported := map[*Probe]bool{}
	overspent := false
	tried := 0
	for slot, n := c.nextBulk(scheduleEpoch.Add(-time.Second)), 0; !slot.IsZero() && n < maxTriedSlots && tried < maxTriedRounds; slot, n = c.nextBulk(slot), n+1 {
		t := c.timetable(slot, slot.Add(planSlack))
		var due []*Probe
		var sum int64
		for i := range c.Probes {
			p := &c.Probes[i]
			if !p.Spec.Kind.IsBulk() || !p.Due(slot) {
				continue
			}
			due, sum = append(due, p), sum+bytes[p]
			if reported[p] || len(reported) == maxUnfit || tried >= maxTriedRounds {
				continue
			}
			if rounds[p] == 0 {
				rounds[p] = len(c.Rounds(p))
			}
			for range rounds[p] {
				tried++
				if t.next(BulkTime(p.Spec)).IsZero() {
					reported[p] = true
					r.noTime(t, entry[p], slot, rounds[p])
					break
				}
			}
		}
		if sum > c.Budget.Sweep && !overspent {
			overspent = true
			r.overspent(file, c, slot, due, sum)
		}
	}
}

// nextBulk is the first slot after t at which a bulk probe is due; zero where there is none.
func (c *Config) nextBulk(t time.Time) (first time.Time) {
	for i := range c.Probes {
		p := &c.Probes[i]
		if !p.Spec.Kind.IsBulk() {
			continue
		}
		if next := p.Next(t); !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}

// noTime says what keeps a round from finding its time.
func (r *reader) noTime(t *timetable, p *probeEntry, slot time.Time, rounds int) {
	takes := BulkTime(p.Spec)
	fault := func(format string, args ...any) {
		r.fault(p.scheduleLine, "%s.schedule %s: "+format, append([]any{p.at, quote(p.Schedule)}, args...)...)
	}
	if _, _, ok := t.gap(t.latency, takes, t.cursor.Add(maxTimetable)); ok {
		fault("its %d rounds, of up to %s each, do not fit between the slot %s and the next one with bulk runs, whose runs begin at %s; take a rarer schedule, fewer pairs, or shorter runs",
			rounds, takes, slot.Format(slotForm), t.until.Add(BulkGuard).Format(time.RFC3339))
		return
	}
	for i := range t.latency {
		if _, _, ok := t.gap(t.latency[i:i+1], takes, t.cursor.Add(maxTimetable)); !ok {
			latency := t.latency[i].probe
			fault("a run takes up to %s, and probe %s (%s) leaves no gap of %s: its runs may begin until timing.late (%s) after they are due, and take up to %s; take a shorter timing.late, a rarer schedule for it, or shorter runs",
				takes, quote(latency.Name), quote(latency.Schedule), takes, t.timing.Late, latency.Spec.Span())
			return
		}
	}
	names := make([]string, len(t.latency))
	for i := range t.latency {
		names[i] = quote(t.latency[i].probe.Name)
	}
	fault("a run takes up to %s, and the probes %s together leave no gap of %s; give them the same schedule, or take a shorter timing.late, rarer schedules, or shorter runs",
		takes, strings.Join(names, ", "), takes)
}

func (r *reader) overspent(file section, c *Config, slot time.Time, due []*Probe, sum int64) {
	var parts []string
	slices.SortStableFunc(due, func(a, b *Probe) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range due {
		runs := len(c.Pairs(p))
		parts = append(parts, fmt.Sprintf("%s by %s (%d runs of %s)", FormatBytes(int64(runs)*p.Spec.Bulk.MaxBytes), quote(p.Name), runs, FormatBytes(p.Spec.Bulk.MaxBytes)))
	}
	line := file.lineOf("budget")
	if n := file.values["budget"]; n != nil {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "sweep" {
				line = n.Content[i+1].Line
			}
		}
	}
	r.fault(line, "budget.sweep %s: the slot %s plans %s: %s; raise it, lower max_bytes, take fewer pairs, or give the probes slots of their own",
		FormatBytes(c.Budget.Sweep), slot.Format(slotForm), FormatBytes(sum), strings.Join(parts, ", "))
}
