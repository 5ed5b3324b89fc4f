package tables

import (
	"fmt"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// Row is one run as it is stored. Nil pointers and empty texts are columns that the row does
// not have. Times are UTC, to 100 ns.
type Row struct {
	Series wire.Series
	Slot   time.Time
	Kind   wire.Kind

	// Failure is empty exactly when at least one sample was received.
	Failure wire.Failure
	Detail  string // a text for people
	Address string // host:port measured; of icmp the host alone

	Assignment string // empty for foreign documents
	Attempt    string
	Part       int
	Document   string // the blob that holds the document, container in front
	Tool       string // what made a foreign document; empty for our own

	PlannedStart time.Time
	Start, End   *time.Time
	LatenessUS   *float64 // Start − PlannedStart

	// Counts are all zero, and not stored, for a run that expired: nobody knows them.
	Counts wire.Counts
	// Counted says which of them a foreign document tells; nil: all.
	Counted *result.Counted
	// Failures counts the samples by failure code; a code without samples is not in it.
	Failures map[wire.Failure]int

	MinUS, MeanUS, P50US, P90US, P95US, P99US, P999US, MaxUS *float64
	StddevUS, JitterUS, PDVUS                                *float64
	LossRatio, LossLow, LossHigh                             *float64
	// P50Range to P999Range are the quantiles' intervals at 95 %.
	P50Range, P90Range, P95Range, P99Range, P999Range Range

	Noise  Noise
	OneWay OneWay
	HTTP   HTTP
	Bulk   Bulk

	// RTTHistogram and ExcessHistogram are HdrHistograms V2, compressed, in base64, values in
	// nanoseconds (see wire.NewHistogram).
	RTTHistogram, ExcessHistogram string

	TCPInfo    *wire.TCPInfo
	Provenance wire.Provenance
	// Simulated is Provenance.Simulated: nothing was measured, a model made the figures up.
	Simulated bool
}

// RowOf is a result in the shape of its row. Nanoseconds become microseconds here and nowhere
// else.
func RowOf(r *result.Result) Row {
	run, sum := &r.Run, &r.Summary
	row := Row{
		Series: r.Series, Slot: r.Slot, Kind: run.Kind, Failure: run.Failure, Detail: run.Detail, Address: run.Address,
		Assignment: r.Assignment, Attempt: r.Attempt, Part: r.Part, Document: r.Document, Tool: r.Tool,
		PlannedStart: run.PlannedStart, Start: run.Start, End: run.End,
		Counts: run.Counts, Counted: r.Counted, Failures: sum.Failures,
		MinUS: us(sum.Min), MeanUS: us(sum.Mean), P50US: us(sum.P50.Value), P90US: us(sum.P90.Value), P95US: us(sum.P95.Value),
		P99US: us(sum.P99.Value), P999US: us(sum.P999.Value), MaxUS: us(sum.Max), StddevUS: us(sum.Stddev), JitterUS: us(sum.Jitter), PDVUS: us(sum.PDV),
		LossRatio: sum.LossRatio, LossLow: sum.LossLow, LossHigh: sum.LossHigh,
		P50Range: rangeOf(sum.P50), P90Range: rangeOf(sum.P90), P95Range: rangeOf(sum.P95), P99Range: rangeOf(sum.P99), P999Range: rangeOf(sum.P999),
		Noise: noiseOf(run, &sum.Noise), OneWay: oneWayOf(sum.OneWay), HTTP: httpOf(sum.HTTP), Bulk: bulkOf(sum.Bulk),
		RTTHistogram: run.RTTHistogram, ExcessHistogram: run.ExcessHistogram,
		TCPInfo: run.TCPInfo, Provenance: r.Provenance, Simulated: r.Provenance.Simulated,
	}
	if r.Counted != nil {
		row.foreign()
	}
	if run.Start != nil && r.Counted == nil { // nobody planned a foreign run
		late := float64(run.Start.Sub(run.PlannedStart)) / 1000
		row.LatenessUS = &late
	}
	return row
}

// Values are the columns that a row has, by name: strings, ints, float64s, times and true, in the units of Columns.
func Values(r *Row) map[string]any {
	out := map[string]any{}
	for i := range rowFields {
		if v := rowFields[i].get(r); v != nil {
			out[rowFields[i].Name] = v
		}
	}
	return out
}

// foreign leaves out what another tool does not say, where the types of our own runs have no null for it.
func (r *Row) foreign() {
	r.Bulk.BudgetReached = nil // nobody gave it a budget
	if m := r.Bulk.MovedBytes; m != nil && *m == 0 {
		r.Bulk.MovedBytes = nil
	}
}

func us(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	v := *ns / 1000
	return &v
}

// checkResult refuses a result of another environment, and one whose blob is of another.
func (s *Store) checkResult(r *result.Result) error {
	if err := s.own(r.Series.Environment); err != nil {
		return fmt.Errorf("result of %s: %w", r.Series, err)
	}
	if container := "raw-" + s.environment + "/"; r.Document != "" && !strings.HasPrefix(r.Document, container) {
		return fmt.Errorf("result of %s: %w: its document %q lies outside %q", r.Series, ErrRefused, r.Document, container)
	}
	return nil
}
