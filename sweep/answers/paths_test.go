package answers

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/config"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// over is a row of a tcp run whose n round trips are spread around p50, in ms, a thousandth of it
// apart; base is the median of the figures that are compared.
func over(source, path string, slots int, p50 float64, n int) tables.Row {
	run := wire.Run{Target: "eastus", Path: path, Kind: wire.KindTCP, Counts: wire.Counts{Sent: n, Received: n}}
	for i := range n {
		s := &run.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, 0), append(s.SentNS, 0)
		s.RTTNS, s.Failure = append(s.RTTNS, int64(p50*1e6+float64(i+1-(n+1)/2)*p50*1e3)), append(s.Failure, "")
	}
	run.RTTHistogram, _, _ = wire.Histograms(run.Samples.RTTNS)
	return tables.RowOf(&result.Result{Series: series(source, "eastus", path, "tcp-64"), Slot: slot.Add(time.Duration(slots) * 10 * time.Minute), Run: run,
		Summary: summary.Of(&run, &wire.Provenance{})})
}

// newestFirst puts rows in the store's order.
func newestFirst(rows ...tables.Row) []tables.Row {
	slices.SortStableFunc(rows, func(a, b tables.Row) int {
		if a.Series != b.Series {
			if a.Series.String() < b.Series.String() {
				return -1
			}
			return 1
		}
		return b.Slot.Compare(a.Slot)
	})
	return rows
}

func near(got *float64, want, within float64) bool {
	return got != nil && math.Abs(*got-want) <= within
}

func TestPathsAreComparedSlotBySlot(t *testing.T) {
	var rows []tables.Row
	for i := range 8 { // by the hour both paths change by 3 ms, and stay 0.2 ms apart, give or take
		hour, noise := 3*float64(i%4), 0.01*float64(i-4)
		rows = append(rows, over("westeurope", "public", i, 21.5+hour+noise, 101), over("westeurope", "peering", i, 21.3+hour, 101))
	}
	rows = append(rows, over("westeurope", "public", 9, 500, 101), over("westeurope", "peering", -1, 500, 101)) // slots of one path alone
	failed := tables.Row{Series: series("westeurope", "eastus", "peering", "tcp-64"), Slot: slot.Add(100 * time.Minute), Kind: wire.KindTCP, Failure: wire.FailureTimeout}
	rows = append(rows, failed, over("northeurope", "public", 0, 30, 101), over("northeurope", "peering", 0, 28, 101), over("brazilsouth", "public", 0, 90, 101))
	from := &store{runs: newestFirst(rows...)}
	got, err := ReadPathDifferences(t.Context(), from, PathQuery{A: "public", B: "peering"})
	if err != nil || len(got.Probes) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	p := got.Probes[0]
	if p.Probe != "tcp-64" || p.Statistic != P50 || len(p.Pairs) != 2 || p.Pairs[0].Source != "northeurope" {
		t.Fatalf("%+v", p)
	}
	w := p.Pairs[1]
	if w.Slots != 8 || w.OnlyA != 1 || w.OnlyB != 1 || math.Abs(w.Difference.Value-195) > 1e-6 || !near(w.Difference.Low, 170, 1e-6) || !near(w.Difference.High, 220, 1e-6) || !w.Difference.Difference() {
		t.Errorf("difference %+v of %+v", w.Difference, w)
	}
	if !near(w.MedianB, 21_300+4_500, 1e-6) || w.B.Failed != 1 || w.B.Runs != 10 || w.B.Samples != 9*101 {
		t.Errorf("peering: median %v, %+v", *w.MedianB, w.B)
	}
	if n := p.Pairs[0]; n.Slots != 1 || n.Difference.Value != 2_000 || n.Difference.Low != nil {
		t.Errorf("one slot: %+v", n.Difference)
	}
	// Both pairs of slot 0 are one observation, 1.08 ms; the others are westeurope's, 0.17 to 0.23 ms.
	if d := p.All.Difference; p.All.Slots != 8 || p.All.OnlyA != 1 || d == nil || math.Abs(d.Value-205) > 1e-6 || !near(p.All.MedianB, (24_650+27_300)/2, 1e-6) {
		t.Errorf("all: %+v, difference %+v", p.All, d)
	}
}

// One run's own figures are exact; of several they come from all samples together.
func TestAPathsOwnFigures(t *testing.T) {
	one := over("westeurope", "public", 0, 20, 1_001)
	rows := newestFirst(one, over("westeurope", "vpn", 0, 20, 1_001), over("westeurope", "vpn", 1, 40, 1_003))
	got, err := ReadPathDifferences(t.Context(), &store{runs: rows}, PathQuery{A: "public", B: "vpn", Probe: "tcp-64", Statistic: Min})
	if err != nil || len(got.Probes) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	a, b := got.Probes[0].Pairs[0].A, got.Probes[0].Pairs[0].B
	if a.Samples != 1_001 || !near(a.MinUS, 10_000, 1e-6) || !near(a.MaxUS, 30_000, 1e-6) || !near(a.MeanUS, 20_000, 1e-6) || !near(a.P50US, 20_000, 1e-6) || *a.P50LowUS != *one.P50Range.LowUS {
		t.Errorf("one run: %+v", a)
	}
	// 1,001 values from 10 to 30 ms and 1,003 from 19.96 to 60 ms: half of all lie below the place where
	// (x − 10)/0.02 + (x − 19.96)/0.04 = 1,002, which is 26.66 ms.
	if b.Samples != 2_004 || !near(b.MinUS, 10_000, 1e-6) || !near(b.MaxUS, 60_040, 1) || !near(b.P50US, 26_660, 40) || !(*b.P50LowUS < *b.P50US && *b.P50US < *b.P50HighUS) {
		t.Errorf("two runs: %v %v %v", *b.P50US, *b.MinUS, *b.MaxUS)
	}
}

func TestThroughputIsWhatBulkRunsAreComparedBy(t *testing.T) {
	var rows []tables.Row
	for i := range 6 {
		for path, bps := range map[string]float64{"public": 190e6, "vpn": 100e6 + float64(i)} {
			rows = append(rows, tables.Row{Series: series("westeurope", "eastus", path, "bulk"), Slot: slot.Add(time.Duration(i) * time.Hour), Kind: wire.KindThroughput,
				Bulk: tables.Bulk{Throughput: tables.Throughput{UpBPS: new(bps)}}})
		}
	}
	got, err := ReadPathDifferences(t.Context(), &store{runs: newestFirst(rows...)}, PathQuery{A: "vpn", B: "public"})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Probes[0]
	if p.Statistic != Throughput || p.Pairs[0].Difference.Value != -90e6+2.5 || *p.Pairs[0].Difference.High != -90e6+5 || p.Pairs[0].A.P50US != nil {
		t.Errorf("%+v of %+v", p.Pairs[0].Difference, p)
	}
}

func TestGroupsAreHeldAgainstTheBase(t *testing.T) {
	var rows []tables.Row
	for i := range 10 {
		for size, p50 := range map[string]float64{"Standard_B1s": 22, "Standard_D2s_v5": 20, "": 50} {
			r := over("westeurope", "public", i, p50+0.1*float64(i), 20)
			r.Provenance.VMSize = size
			rows = append(rows, r)
		}
	}
	rows[0].Failure, rows[0].P50US = wire.FailureTimeout, nil
	failed := rows[0].Provenance.VMSize
	from := &store{runs: rows}
	got, err := ReadGroups(t.Context(), from, nil, GroupQuery{By: ByVMSize})
	if err != nil || len(got.Groups) != 3 || got.Base != "Standard_B1s" || got.Statistic != P50 {
		t.Fatalf("%+v, %v", got, err)
	}
	names := []string{"Standard_B1s", "Standard_D2s_v5", Unknown}
	for i, g := range got.Groups {
		if g.Name != names[i] || g.Runs != 10 || (g.Failed == 1) != (failed == g.Name || failed == "" && g.Name == Unknown) {
			t.Errorf("group %+v", g)
		}
	}
	if b := got.Groups[0]; b.Shift != nil || math.Abs(b.Median.Value-22_450) > 60 {
		t.Errorf("base %+v", b)
	}
	if d := got.Groups[1]; d.Shift == nil || math.Abs(d.Shift.Value+2_000) > 60 || !d.Shift.Difference() {
		t.Errorf("shift %+v", d.Shift)
	}
	var none *NoGroupError
	if _, err := ReadGroups(t.Context(), from, nil, GroupQuery{By: ByVMSize, Base: "Standard_X"}); !errors.As(err, &none) || len(none.Groups) != 3 {
		t.Errorf("a base that is no group: %v", err)
	}
	c := &config.Config{Probers: []config.Prober{{ID: "westeurope", Region: "westeurope"}}}
	if got, err := ReadGroups(t.Context(), from, c, GroupQuery{By: ByRegion, Statistic: Min}); err != nil || len(got.Groups) != 1 || got.Groups[0].Name != "westeurope" || got.Groups[0].Runs != 30 {
		t.Errorf("by region: %+v, %v", got, err)
	}
	if got, err := ReadGroups(t.Context(), &store{}, c, GroupQuery{By: ByPath}); err != nil || len(got.Groups) != 0 {
		t.Errorf("without runs: %+v, %v", got, err)
	}
	mixed := append(rows, tables.Row{Series: series("westeurope", "eastus", "public", "bulk"), Slot: slot, Kind: wire.KindThroughput})
	if _, err := ReadGroups(t.Context(), &store{runs: mixed}, c, GroupQuery{By: ByProbe}); err == nil {
		t.Error("throughput was compared with round trips")
	}
}
