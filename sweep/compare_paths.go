package main

import (
	"bytes"
	"fmt"

	"isochrone/sweep/answers"
)

// pathsView turns the differences of two paths into the formats.
type pathsView struct {
	comparison
	found *answers.PathDifferences
}

// pathRecord is what one pair says of two paths, or all of a probe's pairs together: they have no
// source and target. Figures without a unit in their name are in the unit that the record names. Nil
// is absent.
type pathRecord struct {
	Environment string   `json:"environment"`
	Probe       string   `json:"probe"`
	Kind        string   `json:"kind"`
	Statistic   string   `json:"statistic"`
	Unit        string   `json:"unit"`
	PathA       string   `json:"path_a"`
	PathB       string   `json:"path_b"`
	Source      *string  `json:"source"`
	Target      *string  `json:"target"`
	Slots       int      `json:"slots"`
	OnlyA       int      `json:"slots_only_a"`
	OnlyB       int      `json:"slots_only_b"`
	MedianA     *float64 `json:"median_a"`
	MedianB     *float64 `json:"median_b"`
	Difference  *float64 `json:"difference"`
	Low         *float64 `json:"difference_low"`
	High        *float64 `json:"difference_high"`

	pathA
	pathB
}

// pathA and pathB are the paths' own figures. Of all pairs together there are none.
type (
	pathA struct {
		RunsA    *int     `json:"runs_a"`
		FailedA  *int     `json:"failed_a"`
		SamplesA *int     `json:"samples_a"`
		MinAUS   *float64 `json:"min_a_us"`
		MeanAUS  *float64 `json:"mean_a_us"`
		P50AUS   *float64 `json:"p50_a_us"`
		P50ALow  *float64 `json:"p50_low_a_us"`
		P50AHigh *float64 `json:"p50_high_a_us"`
		MaxAUS   *float64 `json:"max_a_us"`
	}
	pathB struct {
		RunsB    *int     `json:"runs_b"`
		FailedB  *int     `json:"failed_b"`
		SamplesB *int     `json:"samples_b"`
		MinBUS   *float64 `json:"min_b_us"`
		MeanBUS  *float64 `json:"mean_b_us"`
		P50BUS   *float64 `json:"p50_b_us"`
		P50BLow  *float64 `json:"p50_low_b_us"`
		P50BHigh *float64 `json:"p50_high_b_us"`
		MaxBUS   *float64 `json:"max_b_us"`
	}
)

func pathBOf(f *answers.PathFigures) pathB {
	return pathB{&f.Runs, &f.Failed, &f.Samples, f.MinUS, f.MeanUS, f.P50US, f.P50LowUS, f.P50HighUS, f.MaxUS}
}

func pathAOf(f *answers.PathFigures) pathA {
	return pathA{&f.Runs, &f.Failed, &f.Samples, f.MinUS, f.MeanUS, f.P50US, f.P50LowUS, f.P50HighUS, f.MaxUS}
}

func (v pathsView) answer() answer {
	records, simulated := []pathRecord{}, v.simulated()
	for i := range v.found.Probes {
		p := &v.found.Probes[i]
		for j := range p.Pairs {
			d := &p.Pairs[j]
			r := v.record(p, d)
			r.Source, r.Target = &d.Source, &d.Target
			r.pathA, r.pathB = pathAOf(&d.A), pathBOf(&d.B)
			records = append(records, r)
		}
		records = append(records, v.record(p, &p.All))
	}
	object := struct {
		Environment string       `json:"environment"`
		Simulated   bool         `json:"simulated"`
		Differences []pathRecord `json:"differences"`
	}{v.environment, simulated, records}
	return answer{object: object, records: records, text: v.text, drawing: v.draw, simulated: simulated}
}

// simulated says whether a model made up one of the runs.
func (v pathsView) simulated() bool {
	for i := range v.found.Probes {
		for j := range v.found.Probes[i].Pairs {
			if d := &v.found.Probes[i].Pairs[j]; d.A.Simulated || d.B.Simulated {
				return true
			}
		}
	}
	return false
}

func (v pathsView) record(p *answers.ProbeDifference, d *answers.PairDifference) pathRecord {
	r := pathRecord{Environment: v.environment, Probe: p.Probe, Kind: string(p.Kind), Statistic: string(p.Statistic), Unit: unitOf(p.Statistic).name,
		PathA: v.found.A, PathB: v.found.B, Slots: d.Slots, OnlyA: d.OnlyA, OnlyB: d.OnlyB, MedianA: d.MedianA, MedianB: d.MedianB}
	r.Difference, r.Low, r.High = parts(d.Difference)
	return r
}

func (v pathsView) text(w *bytes.Buffer, st style) {
	if len(v.found.Probes) == 0 {
		fmt.Fprintf(w, "no pair was measured over both %s and %s: %s\n", v.a, v.b, v.period())
		return
	}
	for i := range v.found.Probes {
		if i > 0 {
			w.WriteByte('\n')
		}
		v.probe(w, st, &v.found.Probes[i])
	}
	fmt.Fprintf(w, "\ndifference: %s - %s in the same slot, the median of the means of all two (Hodges-Lehmann); from, to: its interval at 95 %% (Wilcoxon's signed ranks)\n", v.a, v.b)
}

func (v pathsView) probe(w *bytes.Buffer, st style, p *answers.ProbeDifference) {
	u := unitOf(p.Statistic)
	fmt.Fprintf(w, "%s in %s of probe %s, path %s less path %s, %s\n", describeCompared(p.Statistic), u.heading, p.Probe, v.a, v.b, v.period())
	t := &table{columns: []column{left("source"), left("target"), number("slots"), number(v.a + " " + u.heading), number(v.b + " " + u.heading),
		number("difference " + u.heading), number("from"), number("to")}}
	least := -1
	line := func(source, target string, d *answers.PairDifference) {
		t.add(append([]string{source, target, count(d.Slots), u.show(d.MedianA), u.show(d.MedianB)}, u.estimate(d.Difference)...)...)
		if d.Difference == nil || d.Difference.Low == nil {
			least = max(least, d.Slots)
		}
	}
	onlyA, onlyB := p.All.OnlyA, p.All.OnlyB
	for i := range p.Pairs {
		line(p.Pairs[i].Source, p.Pairs[i].Target, &p.Pairs[i])
	}
	if len(p.Pairs) > 1 {
		line("all", "", &p.All)
	}
	t.render(w, st)
	fmt.Fprintf(w, "\nn = %s measured over both paths; left out: %s over %s alone, %s over %s alone\n", plural(p.All.Slots, "slot", "slots"), count(onlyA), v.a, count(onlyB), v.b)
	if least >= 0 {
		fmt.Fprintf(w, "%s: %s, and nothing can be told at 95 %% from fewer than 6\n", wordFew, plural(least, "slot", "slots"))
	}
	v.own(w, st, p)
}

// own is the second table: what the samples of each path say by themselves.
func (v pathsView) own(w *bytes.Buffer, st style, p *answers.ProbeDifference) {
	if !p.Kind.HasSamples() {
		return
	}
	w.WriteString("\neach path's own round trips\n")
	t := &table{columns: []column{left("source"), left("target"), left("path"), number("runs"), number("failed"), number("n"), number("mean ms"), number("min ms"), number("max ms"),
		number("p50 ms"), number("from"), number("to")}}
	for i := range p.Pairs {
		d := &p.Pairs[i]
		for _, side := range []struct {
			path string
			f    *answers.PathFigures
		}{{v.a, &d.A}, {v.b, &d.B}} {
			f := side.f
			t.add(d.Source, d.Target, side.path, count(f.Runs), count(f.Failed), count(f.Samples), milliseconds(f.MeanUS), milliseconds(f.MinUS), milliseconds(f.MaxUS),
				milliseconds(f.P50US), milliseconds(f.P50LowUS), milliseconds(f.P50HighUS))
		}
	}
	t.render(w, st)
}
