package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The bars, at the size that the architecture names as its design point.
const (
	barProbers     = 60
	barDispatch    = 10 * time.Second
	barMB          = 512
	barToBare      = 0.7
	pathsAndProbes = 6 // of a pair
)

// size is the rounds of one number of probers; figures are medians of theirs.
type size struct {
	probers int
	rounds  []round
	*round  // one of them, for what is the same in all: the last
}

func (s *scale) size(ctx context.Context, n int) (size, error) {
	z := size{probers: n}
	s.say("== %d probers, %d pairs, %d runs, %d samples a sweep", n, n*(n-1), n*(n-1)*pathsAndProbes, n*(n-1)*pathsAndProbes*s.count)
	for i := range s.rounds {
		o, err := s.round(ctx, n, uint64(i+1))
		if err != nil {
			return z, err
		}
		z.rounds = append(z.rounds, o)
		s.say("round %d: plan %.2f s, dispatch %.2f s, delivered %.2f s, ingest %.2f s (%.0f rows/s), rollup %.2f s; handler at most %.0f MB; bare loop of the same %.2f s: %.3f of it, of documents, samples and runs alone %.2f s: %.3f",
			i+1, o.plan.took.Seconds(), o.dispatch.took.Seconds(), o.deliver.took.Seconds(), o.ingest.took.Seconds(), float64(o.runs)/o.ingest.took.Seconds(), o.rollup.took.Seconds(),
			o.peak(), o.bare.all().Seconds(), o.toAll(), o.bare.least().Seconds(), o.toLeast())
	}
	z.round = &z.rounds[len(z.rounds)-1]
	return z, nil
}

// toAll and toLeast are the app's rate over that of the bare loop.
func (o *round) toAll() float64   { return o.bare.all().Seconds() / o.ingest.took.Seconds() }
func (o *round) toLeast() float64 { return o.bare.least().Seconds() / o.ingest.took.Seconds() }

// peak is the most memory of the handler, in MiB.
func (o *round) peak() float64 {
	return max(o.plan.peakMB, o.dispatch.peakMB, o.ingest.peakMB, o.idle.peakMB, o.rollup.peakMB)
}

// median is the middle value over the rounds, the upper one of two.
func (z size) median(of func(*round) float64) float64 {
	values := make([]float64, len(z.rounds))
	for i := range z.rounds {
		values[i] = of(&z.rounds[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

var stages = []struct {
	name string
	of   func(*round) *stage
}{
	{"plan", func(o *round) *stage { return &o.plan }}, {"dispatch", func(o *round) *stage { return &o.dispatch }},
	{"delivery (probers)", func(o *round) *stage { return &o.deliver }}, {"ingest", func(o *round) *stage { return &o.ingest }},
	{"ingest, idle", func(o *round) *stage { return &o.idle }}, {"rollup", func(o *round) *stage { return &o.rollup }},
}

// row prints a row of a table.
func (s *scale) row(cells ...string) { s.say("| %s |", strings.Join(cells, " | ")) }

func (s *scale) head(cells ...string) {
	s.say("")
	s.row(cells...)
	s.say("|%s", strings.Repeat("---|", len(cells)))
}

func (s *scale) tables(all []size) {
	s.stagesTable(all)
	s.growthTable(all)
	s.costTable(all)
	s.say("")
}

func (s *scale) stagesTable(all []size) {
	s.head(append([]string{"probers", "stage", "s", "processor s", "emulator's", "peak MB", "requests"}, append(kindNames[:], "MB in", "MB out")...)...)
	for _, z := range all {
		for _, g := range stages {
			last := g.of(z.round)
			cells := []string{fmt.Sprint(z.probers), g.name, fmt.Sprintf("%.2f", z.median(func(o *round) float64 { return g.of(o).took.Seconds() }))}
			switch last {
			case &z.deliver, &z.plan: // the plan's is measured with dispatch: one invocation
				cells = append(cells, "–", "–", "–")
			default:
				cells = append(cells, fmt.Sprintf("%.2f", z.median(func(o *round) float64 { return g.of(o).processor.Seconds() })),
					fmt.Sprintf("%.2f", z.median(func(o *round) float64 { return g.of(o).emulator.Seconds() })), fmt.Sprintf("%.0f", z.median(func(o *round) float64 { return g.of(o).peakMB })))
			}
			cells = append(cells, fmt.Sprint(last.requests()))
			for _, n := range last.count {
				cells = append(cells, fmt.Sprint(n))
			}
			s.row(append(cells, megabytes(float64(last.in)), megabytes(float64(last.out)))...)
		}
	}
}

func megabytes(n float64) string { return fmt.Sprintf("%.1f", n/1e6) }

func (s *scale) growthTable(all []size) {
	header := []string{"of a sweep"}
	for _, z := range all {
		header = append(header, fmt.Sprintf("%d probers", z.probers))
	}
	s.head(header...)
	for _, line := range []struct {
		name, format string
		of           func(size) float64
	}{
		{"pairs", "%.0f", func(z size) float64 { return float64(z.probers * (z.probers - 1)) }},
		{"runs", "%.0f", func(z size) float64 { return float64(z.runs) }},
		{"documents", "%.0f", func(z size) float64 { return float64(z.assignments) }},
		{"plan and dispatch, ms a document", "%.1f", func(z size) float64 { return z.planAndDispatch() * 1000 / float64(z.assignments) }},
		{"ingest, ms a document", "%.1f", func(z size) float64 { return z.ingestSeconds() * 1000 / float64(z.assignments) }},
		{"ingest, ms a run", "%.3f", func(z size) float64 { return z.ingestSeconds() * 1000 / float64(z.runs) }},
		{"ingest, ms a pair", "%.2f", func(z size) float64 { return z.ingestSeconds() * 1000 * pathsAndProbes / float64(z.runs) }},
		{"ingest's processor time, ms a run", "%.3f", func(z size) float64 {
			return z.median(func(o *round) float64 { return o.ingest.processor.Seconds() }) * 1000 / float64(z.runs)
		}},
		{"ingest's requests a document", "%.1f", func(z size) float64 { return float64(z.ingest.requests()) / float64(z.assignments) }},
		{"ingest's requests a run", "%.3f", func(z size) float64 { return float64(z.ingest.requests()) / float64(z.runs) }},
		{"rollup, ms a run", "%.3f", func(z size) float64 {
			return z.median(func(o *round) float64 { return o.rollup.took.Seconds() }) * 1000 / float64(z.runs)
		}},
		{"a run's row, bytes as the service counts", "%.0f", func(z size) float64 { return float64(z.stored.tables["runs"]) / float64(z.runs) }},
		{"a run's part of its document, bytes", "%.0f", func(z size) float64 { return float64(z.stored.blobs["raw/documents"]) / float64(z.runs) }},
		{"a run's part of its samples, bytes", "%.0f", func(z size) float64 { return float64(z.stored.blobs["raw/samples"]) / float64(z.runs) }},
		{"plan, MB", "%.2f", func(z size) float64 { return float64(z.stored.blobs["assignments/_sweeps"]) / 1e6 }},
		{"current.json, kB a prober", "%.0f", func(z size) float64 { return float64(z.stored.blobs["assignments/*"]) / 1e3 / float64(z.probers) }},
		{"added to tables, MB", "%.1f", func(z size) float64 { rows, _ := z.stored.added(); return rows / 1e6 }},
		{"added to blobs, MB", "%.1f", func(z size) float64 { _, blobs := z.stored.added(); return blobs / 1e6 }},
		{"handler, peak MB", "%.0f", func(z size) float64 { return z.median((*round).peak) }},
		{"ingest ÷ bare loop of the same rows and blobs", "%.2f", func(z size) float64 { return z.median((*round).toAll) }},
		{"ingest ÷ bare loop of runs, documents, samples alone", "%.2f", func(z size) float64 { return z.median((*round).toLeast) }},
	} {
		cells := []string{line.name}
		for _, z := range all {
			cells = append(cells, fmt.Sprintf(line.format, line.of(z)))
		}
		s.row(cells...)
	}
}

func (z size) planAndDispatch() float64 {
	return z.median(func(o *round) float64 { return (o.plan.took + o.dispatch.took).Seconds() })
}

func (z size) ingestSeconds() float64 {
	return z.median(func(o *round) float64 { return o.ingest.took.Seconds() })
}

func (s *scale) costTable(all []size) {
	s.head("USD a month, a sweep every ten minutes", "requests of the app", "requests of the probers", "rows kept a month", "blobs kept a month", "between regions", "together")
	for _, z := range all {
		c := costOf(z.probers, z.round)
		cells := []string{fmt.Sprintf("%d probers", z.probers)}
		for _, usd := range []float64{c.appRequests, c.proberRequests, c.rows, c.blobs, c.between, c.total()} {
			cells = append(cells, fmt.Sprintf("%.2f", usd))
		}
		s.row(cells...)
	}
	s.say("list prices of %s (%s), to be checked", prices.asOf, prices.region)
}

// figures prints the BENCH lines. Bars hold at the design point.
func (s *scale) figures(all []size) {
	for _, z := range all {
		at := func(name string) string { return fmt.Sprintf("scale_%d_%s", z.probers, name) }
		isBar := z.probers == barProbers
		s.figure(at("plan_and_dispatch"), z.planAndDispatch(), "s", isBar, barDispatch.Seconds(), false)
		s.figure(at("handler_peak"), z.median((*round).peak), "MB", isBar, barMB, false)
		s.figure(at("ingest_rows"), float64(z.runs)/z.ingestSeconds(), "rows/s", false, 0, true)
		s.figure(at("ingest_documents"), float64(z.assignments)/z.ingestSeconds(), "documents/s", false, 0, true)
		s.figure(at("ingest_to_bare_same"), z.median((*round).toAll), "ratio", isBar, barToBare, true)
		s.figure(at("ingest_to_bare_runs_and_blobs"), z.median((*round).toLeast), "ratio", false, 0, true)
		s.figure(at("rollup"), z.median(func(o *round) float64 { return o.rollup.took.Seconds() }), "s", false, 0, false)
		s.figure(at("requests"), float64(z.plan.requests()+z.dispatch.requests()+z.ingest.requests()), "requests", false, 0, false)
		s.figure(at("month"), costOf(z.probers, z.round).total(), "USD", false, 0, false)
		s.figure(at("lost_or_twice"), 0, "rows", true, 0, false) // or the round would have failed
	}
}

// figure prints one line: at least or at most the bar, where there is one.
func (s *scale) figure(name string, value float64, unit string, isBar bool, bar float64, least bool) {
	limit, verdict := "-", "ok"
	if isBar {
		limit = fmt.Sprintf("%.4g", bar)
		if least && !(value >= bar) || !least && !(value <= bar) {
			verdict = "short"
			s.short++
		}
	}
	s.say("BENCH %s %.4g %s %s %s", name, value, unit, limit, verdict)
}
