package convert

import (
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
)

// Identity is what the app knows of a document without asking the document: where it lay and
// what was planned. Results takes these from here and never from the document's own text.
type Identity struct {
	Environment string
	Source      string // prober id
	Probe       string // ext.… for a foreign document
	// Slot is the sweep's. The zero Slot gives each run the second at which it began, which is
	// what foreign documents have.
	Slot         time.Time
	Assignment   string // empty for a foreign document
	Attempt      string // empty for a foreign document
	Part         int
	DocumentBlob string // the blob that holds the document, container included
	Tool         string // what made a foreign document; empty for our own
}

// Results turns a validated document into results, one a run, in the document's order. Figures
// and histograms are computed from the samples; what the document says of them is not looked
// at. An error means that the identity cannot name a series.
//
// The results share the document's columns: neither may be changed afterwards.
func Results(d *wire.Document, identity Identity) ([]result.Result, error) {
	out := make([]result.Result, 0, len(d.Runs))
	for i := range d.Runs {
		run := d.Runs[i]
		series := wire.Series{Environment: identity.Environment, Source: identity.Source,
			Target: run.Target, Path: run.Path, Probe: identity.Probe}
		if err := series.Validate(); err != nil {
			return nil, fmt.Errorf("naming the series of run %d %q: %w", i, series, err)
		}
		var err error
		if run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS); err != nil {
			return nil, fmt.Errorf("computing the histograms of run %d %q: %w", i, series, err)
		}
		out = append(out, result.Result{
			Series: series, Slot: slotOf(identity, &run), Assignment: identity.Assignment, Attempt: identity.Attempt,
			Part: identity.Part, Provenance: d.Provenance, Run: run, Summary: summary.Of(&run, &d.Provenance),
			Document: identity.DocumentBlob, Tool: identity.Tool,
		})
	}
	return out, nil
}

func slotOf(identity Identity, run *wire.Run) time.Time {
	switch {
	case !identity.Slot.IsZero():
		return identity.Slot.UTC()
	case run.Start != nil:
		return run.Start.UTC().Truncate(time.Second)
	}
	return run.PlannedStart.UTC().Truncate(time.Second)
}
