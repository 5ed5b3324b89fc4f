package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan/relay"
	"isochrone/prober/wire"
	"isochrone/sweep/convert"
	"isochrone/sweep/tables"
)

// Results are what an experiment's sweeps left, in the stack that still runs.
type Results struct {
	Stack *stack.Stack
	runs  []run
	rows  []tables.Row
}

// run is a run as its prober told it.
type run struct {
	wire.Run
	source, probe, machine string
}

// collect reads the documents of a sweep.
func (r *Results) collect(ctx context.Context, slot time.Time) error {
	read := map[string]bool{}
	for row, err := range r.Stack.Tables.Runs(ctx, tables.RunQuery{Since: slot, Until: slot.Add(time.Minute)}) {
		if err != nil {
			return fmt.Errorf("reading the rows of slot %s: %w", wire.SlotName(slot), err)
		}
		r.rows = append(r.rows, row)
		if row.Document == "" || read[row.Document] {
			continue
		}
		read[row.Document] = true
		body, found, err := r.Stack.Archive.ReadDocument(ctx, row.Document)
		if err != nil || !found {
			return fmt.Errorf("reading the document of run %s: found %t: %w", row.Series, found, err)
		}
		d, err := convert.Document(body)
		if err != nil {
			return fmt.Errorf("reading the document of run %s: %w", row.Series, err)
		}
		for _, x := range d.Runs {
			r.runs = append(r.runs, run{Run: x, source: d.Source, probe: d.Probe, machine: d.Provenance.VMSize})
		}
	}
	slices.SortStableFunc(r.runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.probe, b.probe), cmp.Compare(a.source, b.source), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	return nil
}

// reason says why a run gave no result.
func (r *Results) reason(s wire.Series) string {
	for _, row := range r.rows {
		if row.Series == s {
			return fmt.Sprintf(": %s (%s)", row.Failure, row.Detail)
		}
	}
	return ""
}

// find finds a run that succeeded.
func (r *Results) find(probe, source, path string) (run, bool) {
	for _, x := range r.runs {
		if x.probe == probe && x.source == source && x.Path == path && x.Failure == "" {
			return x, true
		}
	}
	return run{}, false
}

// applied is what the network delayed packets there and back at the median, in ms.
func (r *Results) applied(ctx context.Context, from, to, path string) (float64, error) {
	sum := 0.0
	for _, q := range []relay.Query{{From: from, To: to, Path: path}, {From: to, To: from, Path: path}} {
		links, err := r.Stack.WAN.Reports().Links(ctx, q)
		if err != nil {
			return 0, err
		}
		if len(links.Links) != 1 {
			return 0, fmt.Errorf("asking for the link from %q to %q over %q: there are %d", q.From, q.To, path, len(links.Links))
		}
		sum += ms(links.Links[0].Delays.P50)
	}
	return sum, nil
}

// ms is nanoseconds in milliseconds.
func ms(ns int64) float64 { return float64(ns) / 1e6 }
