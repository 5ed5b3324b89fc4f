package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

func is[T any](v T) *T { return &v }

var drawnSince = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func drawnHour(h int) time.Time { return drawnSince.Add(time.Duration(h) * time.Hour) }

// drawings are an answer of each command that draws, with a name in it.
func drawings(name string) map[string]answer {
	asked := comparison{a: "public", b: name, by: "vm-size", environment: "lab", sinceTime: drawnSince, untilTime: drawnHour(24)}
	between := &trend.Estimate{N: 8, Value: 195, Low: is(180.), High: is(210.)}
	pair := answers.PairDifference{Source: name, Target: "eastus", Slots: 8, OnlyA: 1, Difference: between, MedianA: is(80_200.), MedianB: is(80_005.)}
	few := answers.PairDifference{Source: "eastus", Target: name, Slots: 1, Difference: &trend.Estimate{N: 1, Value: -2000}}
	head := reply.Head{Environment: "lab", Simulated: true, RestsOn: reply.RestsOn{Runs: is(5), Hours: is(48), Samples: is(1000)}}
	return map[string]answer{
		"paths": pathsView{asked, &answers.PathDifferences{A: "public", B: name, Probes: []answers.ProbeDifference{{Probe: "tcp-64", Kind: wire.KindTCP, Statistic: answers.P50,
			Pairs: []answers.PairDifference{pair, few}, All: pair}}}}.answer(),
		"groups": groupsView{asked, &answers.Groups{By: "vm-size", Statistic: answers.Throughput, Base: "B1s", Simulated: true, Groups: []answers.Group{
			{Name: "B1s", Runs: 8, Failed: 1, Median: &trend.Estimate{N: 7, Value: 2e8, Low: is(1.9e8), High: is(2.2e8)}},
			{Name: name, Runs: 7, Median: &trend.Estimate{N: 7, Value: 5e8, Low: is(4.9e8), High: is(5.2e8)}, Shift: &trend.Estimate{N: 7, M: 7, Value: 3e8, Low: is(2.9e8), High: is(3.2e8)}},
			{Name: "none", Runs: 1, Failed: 1}}}}.answer(),
		"changes": changesView{object: &reply.Changes{Head: head, Since: drawnSince, Until: drawnHour(24), Series: 2, Changes: []reply.SeriesChange{
			{Source: name, Target: "eastus", Path: "public", Probe: "tcp-64", Change: reply.Change{T: drawnHour(13), BeforeUS: 84_000, AfterUS: 80_000, P: 1e-9, Kind: "rerouted"}},
			{Source: name, Target: "eastus", Path: "public", Probe: "tcp-64", Change: reply.Change{T: drawnHour(5), BeforeUS: 80_000, AfterUS: 84_000, Kind: "congestion"}, Simulated: true}}}}.answer(),
		"levels": {drawing: changesFileView{name, &series{times: []time.Time{drawnHour(0), drawnHour(1), drawnHour(2), drawnHour(3)}, values: []float64{20, math.NaN(), 30, 30.5}, missing: 1},
			[]changeObject{{drawnHour(2), 20, 30.25, 1e-9}}}.draw},
		"rank": rankView{&reply.Rank{Head: head, From: name, Path: "public", Since: drawnSince, Until: drawnHour(24), P95BelowUS: is(30_000.), Regions: []reply.RankedRegion{
			{Target: "northeurope", P95US: is(22_938.), P95LowUS: is(22_800.), P95HighUS: is(23_100.), BusiestHour: is(20), N: 500, Satisfies: is(true)},
			{Target: name, N: 3, WhyNot: []string{"no hour of the day has 200 round trips"}},
			{Target: "eastus", P95US: is(85_721.), P95LowUS: is(85_000.), P95HighUS: is(86_100.), BusiestHour: is(14), N: 300, Satisfies: is(false), WhyNot: []string{"p95 is over 30 ms"}}}}}.answer(),
		"recovery": recoveryView{&reply.Recovery{Head: head, Source: name, Target: "eastus", Path: "public", Probe: "tcp-64", Since: drawnSince, Until: drawnHour(24), ChangeBPS: 1.6e8, SizeBytes: 2e12, WindowS: 14400, OutageS: 1800,
			Throughput: reply.RecoveryThroughput{P50BPS: is(1e9), P50LowBPS: is(9e8), P50HighBPS: is(1.1e9), N: 24}, Seed: []reply.RecoverySeed{
				{StartHour: 0, N: 1, Seconds: is(16000.), Fits: is(false)}, {StartHour: 1, N: 2, Seconds: is(9000.), Fits: is(true)}, {StartHour: 2}},
			Findings: []reply.Finding{{Code: "few", Text: "throughput of " + name + " was measured in few hours"}}}}.answer(),
		"coverage": coverageView{environment: "lab", by: byHour, query: answers.CoverageQuery{Since: drawnSince, Until: drawnHour(3)}, coverage: &answers.Coverage{Notes: []string{"of " + name}, Rows: []answers.CoverageRow{
			{Prober: name, From: drawnHour(0), Planned: 6, Measured: 6}, {Prober: name, From: drawnHour(1), Planned: 1000, Measured: 999, Failed: 1},
			{Prober: "eastus", From: drawnHour(2), Planned: 6, Expired: 2, Missed: 4}}}}.answer(),
		"matrix": matrixView{now: drawnHour(1), matrices: []*answers.Matrix{{Environment: "lab", Path: "public", Probe: "tcp-64", Kind: wire.KindTCP, Probers: []string{name, "eastus"}, Newest: drawnSince, Oldest: drawnSince, Measured: 1, Failed: 1, Cells: []answers.Cell{
			{Source: name, Target: "eastus", State: answers.Measured, Slot: drawnSince, N: 100, Sent: 100, P50US: is(80_200.), P50Range: tables.Range{LowUS: is(80_100.), HighUS: is(80_300.)}, LossRatio: is(0.)},
			{Source: "eastus", Target: name, State: answers.Failed, Failure: wire.FailureTargetDown, Slot: drawnSince}}}}}.answer(),
	}
}

func TestDrawingsAreTheGoldenOnes(t *testing.T) {
	for kind, a := range drawings("westeurope") {
		got := a.drawing()
		golden := filepath.Join("testdata", "drawings", kind+".svg")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the drawing of %s is another (-update writes it):\n%s", kind, got)
		}
	}
}

func TestHostileNamesStayTextInDrawings(t *testing.T) {
	const hostile = "</text><script>x()</script>&\"'\x00\x1b[31m\u202e"
	const shown = "</text><script>x()</script>&\"'\uFFFD\uFFFD[31m\uFFFD"
	for kind, a := range drawings(hostile) {
		found := false
		for d := xml.NewDecoder(bytes.NewReader(a.drawing())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if token.Name.Local == "script" {
					t.Errorf("%s: a name became an element", kind)
				}
			case xml.CharData:
				found = found || strings.Contains(string(token), shown)
			}
		}
		if !found {
			t.Errorf("%s: the name is not there", kind)
		}
	}
}
