package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ledger"
	"isochrone/sweep/plan"
	"isochrone/sweep/tables"
)

// verdict is what storage holds in the end, held against what was to be there. Each count of something
// wrong comes with the first cases.
type verdict struct {
	slots, planned, rows, documents, samples, hours int // what there is
	expired, missed, conflicts, foreign, early      int
	lakeFiles, pruned                               int // pruned: documents whose samples are in the lake alone

	wrong map[string]int
	cases []string
}

// The names of what may be wrong, a closed list: all are printed, also those that are not.
const (
	wrongSchedule   = "schedule_differences"
	wrongUnrecorded = "slots_unrecorded"
	wrongLedger     = "ledger_differences"
	wrongRows       = "planned_less_rows"
	wrongExtra      = "rows_not_planned"
	wrongDocuments  = "documents_lost"
	wrongSamples    = "samples_lost"
	wrongCounts     = "row_count_differences"
	wrongQuarantine = "quarantined_wrongly"
	wrongPlanted    = "garbage_not_quarantined"
	wrongDropped    = "spool_dropped"
	wrongHours      = "hour_differences"
	wrongLake       = "lake_less_raw"
	wrongForeign    = "foreign_differences"
)

var wrongs = []string{wrongSchedule, wrongUnrecorded, wrongLedger, wrongRows, wrongExtra, wrongDocuments, wrongSamples, wrongCounts,
	wrongQuarantine, wrongPlanted, wrongDropped, wrongHours, wrongLake, wrongForeign}

const maxCases = 20

func (v *verdict) bad(what string, n int, format string, args ...any) {
	v.wrong[what] += n
	if len(v.cases) < maxCases {
		v.cases = append(v.cases, what+": "+fmt.Sprintf(format, args...))
	}
}

// runKey names a run.
type runKey struct {
	series wire.Series
	slot   int64
}

// check reads all of storage.
func (m *month) check(ctx context.Context) (*verdict, error) {
	v := &verdict{wrong: map[string]int{}}
	rows, foreign := map[runKey]tables.Row{}, map[runKey]tables.Row{}
	for r, err := range m.rows.Runs(ctx, tables.RunQuery{Since: m.start.AddDate(0, 0, -1), Until: m.end.AddDate(0, 0, 8)}) {
		if err != nil {
			return nil, err
		}
		if r.Tool != "" {
			foreign[runKey{r.Series, r.Slot.Unix()}] = r
		} else {
			rows[runKey{r.Series, r.Slot.Unix()}] = r
		}
	}
	v.rows = len(rows)
	plans, err := m.checkSweeps(ctx, v, rows)
	if err != nil {
		return nil, err
	}
	raw, err := m.checkRaw(ctx, v, rows)
	if err != nil {
		return nil, err
	}
	if err := m.checkEntries(ctx, v, plans, raw, rows); err != nil {
		return nil, err
	}
	if err := m.checkJournals(ctx, v, raw); err != nil {
		return nil, err
	}
	if err := m.checkForeign(ctx, v, foreign); err != nil {
		return nil, err
	}
	for who, n := range m.tally.dropped {
		if n > 0 {
			v.bad(wrongDropped, n, "%s", who)
		}
	}
	return v, m.checkHours(ctx, v)
}

// due says which probes are due at a slot by the clocks of their places, without asking the program that is
// tested.
func due(slot time.Time) (names []string, err error) {
	names = []string{hourlyProbe}
	for _, z := range zonedProbes {
		place, err := time.LoadLocation(z.zone)
		if err != nil {
			return nil, err
		}
		if local := slot.In(place); local.Minute() == 0 && slices.Contains(z.hours, local.Hour()) {
			names = append(names, z.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// checkSweeps holds each slot's ledger and plan against its due probes, and the planned runs against the rows.
func (m *month) checkSweeps(ctx context.Context, v *verdict, rows map[runKey]tables.Row) (map[int64]*plan.Plan, error) {
	plans := map[int64]*plan.Plan{}
	wanted := map[runKey]bool{}
	for slot := m.start; slot.Before(m.end); slot = slot.Add(time.Hour) {
		v.slots++
		name := slot.Format(time.RFC3339)
		header, _, _, err := m.rows.Sweep(ctx, slot)
		if err != nil {
			return nil, err
		}
		body, planned, err := m.blobs.ReadPlan(ctx, slot)
		if err != nil {
			return nil, err
		}
		switch {
		case header.State == "":
			v.bad(wrongUnrecorded, 1, "%s has no header in the ledger; planned: %t", name, planned)
		case planned && header.State != ledger.Complete, !planned && header.State != ledger.Missed:
			v.bad(wrongLedger, 1, "%s is %s; planned: %t", name, header.State, planned)
		case header.State == ledger.Missed:
			v.missed++
		}
		if !planned {
			continue
		}
		p, err := plan.Read(body, m.environment, slot)
		if err != nil {
			return nil, err
		}
		plans[slot.Unix()] = p
		if err := m.checkDue(v, p, slot); err != nil {
			return nil, err
		}
		for i := range p.Assignments {
			a := &p.Assignments[i]
			for j := range a.Runs {
				wanted[runKey{p.Series(a, &a.Runs[j]), slot.Unix()}] = true
			}
		}
	}
	v.planned = len(wanted)
	for k := range wanted {
		if _, there := rows[k]; !there {
			v.bad(wrongRows, 1, "%v at %s has no row", k.series, time.Unix(k.slot, 0).UTC().Format(time.RFC3339))
		}
	}
	for k := range rows {
		if !wanted[k] {
			v.bad(wrongExtra, 1, "%v at %s", k.series, time.Unix(k.slot, 0).UTC().Format(time.RFC3339))
		}
	}
	return plans, nil
}

// checkDue holds a plan against the probes that are due: each has an assignment of every prober, with a run to each
// other.
func (m *month) checkDue(v *verdict, p *plan.Plan, slot time.Time) error {
	names, err := due(slot)
	if err != nil {
		return err
	}
	n := m.options.probers
	got := map[string]int{}
	for i := range p.Assignments {
		got[p.Assignments[i].Probe] += len(p.Assignments[i].Runs)
	}
	for _, name := range names {
		if got[name] != n*(n-1) {
			v.bad(wrongSchedule, 1, "%s has %d runs of %s, want %d", slot.Format(time.RFC3339), got[name], name, n*(n-1))
		}
		delete(got, name)
	}
	for name := range got {
		v.bad(wrongSchedule, 1, "%s has runs of %s, which is not due", slot.Format(time.RFC3339), name)
	}
	return nil
}

// checkEntries holds each assignment's entry in the ledger against its document and its rows.
func (m *month) checkEntries(ctx context.Context, v *verdict, plans map[int64]*plan.Plan, raw map[string]stored, rows map[runKey]tables.Row) error {
	for _, p := range plans {
		_, entries, _, err := m.rows.Sweep(ctx, p.Slot)
		if err != nil {
			return err
		}
		states := map[string]ledger.State{}
		for _, e := range entries {
			states[e.Assignment] = e.State
		}
		for i := range p.Assignments {
			a := &p.Assignments[i]
			document, received := raw[a.ID]
			want := ledger.Expired
			if received {
				want = ledger.Received
			}
			if got := states[a.ID]; got != want || len(entries) != len(p.Assignments) {
				v.bad(wrongLedger, 1, "assignment %s of %s is %q, want %q; %d of %d entries", a.ID, wire.SlotName(p.Slot), got, want, len(entries), len(p.Assignments))
			}
			for j := range a.Runs {
				r, there := rows[runKey{p.Series(a, &a.Runs[j]), p.Slot.Unix()}]
				if there && (r.Failure == wire.FailureExpired) == received || there && r.Document != document.name {
					v.bad(wrongRows, 1, "%v at %s has failure %q and document %q, and the document is %q", r.Series, wire.SlotName(p.Slot), r.Failure, r.Document, document.name)
				}
				if there && r.Failure == wire.FailureExpired {
					v.expired++
				}
			}
		}
	}
	return nil
}

// decode reads a prober's document, without the program that is tested.
func decode(body []byte) (*wire.Document, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	var d wire.Document
	err = json.NewDecoder(z).Decode(&d)
	_, rest := io.Copy(io.Discard, z)
	return &d, errors.Join(err, rest, z.Close())
}
