package convert

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

var identity = Identity{Environment: "dev", Source: "westeurope", Probe: "tcp-64", Slot: slot,
	Assignment: wire.AssignmentID("dev", slot, "westeurope", "tcp-64", 0), Attempt: "0123abcd", DocumentBlob: "raw-dev/documents/x.json.gz"}

func TestResultsOfJSONAndXMLAreIdentical(t *testing.T) {
	fromJSON, err := Document(golden(t, "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	fromXML, err := Document(golden(t, "v1.xml"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Results(fromJSON, identity)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Results(fromXML, identity)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-json +xml):\n%s", diff)
	}
}

func TestResultsComputeFiguresFromTheSamples(t *testing.T) {
	d := sample()
	results, err := Results(d, identity)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 {
		t.Fatalf("got %d results, want 2", len(results))
	}
	first := results[0]
	whole, excess, err := wire.Histograms(wire.Column{20_100_000, 20_400_000, 23_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if first.Run.RTTHistogram != whole || first.Run.ExcessHistogram != excess {
		t.Error("the histograms are not those of the samples")
	}
	if d.Runs[0].RTTHistogram != "AAAA" {
		t.Error("the document was changed")
	}
	if m := first.Summary.Min; m == nil || *m != 20_100_000 {
		t.Errorf("minimum %v, want 20100000", m)
	}
	if l := first.Summary.LossRatio; l == nil || *l != 0.25 {
		t.Errorf("loss %v, want 0.25", l)
	}
	if diff := cmp.Diff(map[wire.Failure]int{wire.FailureTimeout: 1, wire.FailureCanceled: 1}, first.Summary.Failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	second := results[1]
	if second.Run.Failure != wire.FailureTargetDown || second.Run.RTTHistogram != "" || !cmp.Equal(second.Summary, summary.Summary{}) {
		t.Errorf("a run without samples has figures: %+v", second)
	}
}

func TestResultsTakeTheIdentityAndNotTheDocument(t *testing.T) {
	d := sample()
	d.Environment, d.Source, d.Probe, d.Assignment, d.Attempt, d.Part = "prod", "eastus", "other", "f", "f", 7
	d.Slot = d.Slot.Add(time.Hour)
	results, err := Results(d, identity)
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	want := wire.Series{Environment: "dev", Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"}
	if r.Series != want || !r.Slot.Equal(slot) || r.Assignment != identity.Assignment || r.Attempt != "0123abcd" || r.Part != 0 ||
		r.Document != identity.DocumentBlob || r.Tool != "" {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(d.Provenance, r.Provenance); diff != "" {
		t.Errorf("provenance (-want +got):\n%s", diff)
	}
}

func TestResultsWithoutASlotBeginWhenTheRunBegan(t *testing.T) {
	results, err := Results(sample(), Identity{Environment: "dev", Source: "westeurope", Probe: "ext.tcp-64", Tool: "isochrone"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Time{slot.Add(30 * time.Second), slot.Add(30 * time.Second)} { // start, planned start
		if !results[i].Slot.Equal(want) || results[i].Tool != "isochrone" {
			t.Errorf("results[%d]: slot %s, tool %q; want %s", i, results[i].Slot, results[i].Tool, want)
		}
	}
}

func TestResultsRefuseAnIdentityThatNamesNoSeries(t *testing.T) {
	bad := identity
	bad.Source = "West Europe"
	if results, err := Results(sample(), bad); err == nil {
		t.Errorf("got %d results for a source that cannot be", len(results))
	}
}
