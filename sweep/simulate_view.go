package main

import (
	"bytes"
	"fmt"
	"time"

	"isochrone/sweep/compact"
	"isochrone/sweep/rollup"
	"isochrone/sweep/simulate"
)

// filled is what became of a fill.
type filled struct {
	c                            *simulating
	report                       simulate.Report
	rolled                       rollup.Report
	compacted                    compact.Report
	filling, rolling, compacting time.Duration
	finished                     bool
}

type filledObject struct {
	Environment string    `json:"environment"`
	Simulated   bool      `json:"simulated"`
	Seed        uint64    `json:"seed"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
	EveryS      float64   `json:"every_s"`
	Finished    bool      `json:"finished"`
	simulate.Report
	HoursWritten    int     `json:"hours_written"`
	ProfilesWritten int     `json:"profiles_written"`
	LakeFiles       int     `json:"lake_files_written"`
	RawDeleted      int     `json:"raw_deleted"`
	FillS           float64 `json:"fill_s"`
	RollupS         float64 `json:"rollup_s"`
	CompactS        float64 `json:"compact_s"`
}

func (f *filled) answer() answer {
	m := f.c.model
	o := filledObject{m.Environment, true, m.Seed, m.Since, m.Until, f.c.every.Seconds(), f.finished, f.report, f.rolled.Written, f.rolled.ProfilesWritten,
		f.compacted.Written, f.compacted.Deleted, f.filling.Seconds(), f.rolling.Seconds(), f.compacting.Seconds()}
	return answer{object: o, records: []filledObject{o}, text: func(w *bytes.Buffer, _ style) { f.text(w, &o) }}
}

func (f *filled) text(w *bytes.Buffer, o *filledObject) {
	fmt.Fprintf(w, "simulated history of environment %s from %s to %s, seed %d\n", o.Environment, stamp(o.Since), stamp(o.Until), o.Seed)
	fmt.Fprintf(w, "n = %s: %s, %s (%s expired) of %s samples, in %.0f s\n", plural(o.Filled, "sweep", "sweeps"), plural(o.Documents, "document", "documents"),
		plural(o.Rows, "row", "rows"), count(o.Expired), count(o.Samples), o.FillS)
	if !f.c.noRollup {
		fmt.Fprintf(w, "then %s and %s, in %.0f s\n", plural(o.HoursWritten, "hour", "hours"), plural(o.ProfilesWritten, "profile", "profiles"), o.RollupS)
	}
	if !f.c.noCompact {
		fmt.Fprintf(w, "then %s, in %.0f s; %s of them deleted\n", plural(o.LakeFiles, "lake file", "lake files"), o.CompactS, plural(o.RawDeleted, "raw file", "raw files"))
	}
	if o.Had > 0 {
		fmt.Fprintf(w, "%s there before\n", plural(o.Had, "sweep was", "sweeps were"))
	}
	if o.Left > 0 {
		fmt.Fprintf(w, "%s another plan, and what is there stays: measured, or of another seed, time or configuration\n", plural(o.Left, "slot has", "slots have"))
	}
	if !o.Finished {
		fmt.Fprintf(w, "it ended early: made again with --until %s it does the rest\n", stamp(o.Until))
	}
}

// truthAnswer is what a model puts in.
func truthAnswer(t *simulate.Truth) answer {
	return answer{object: t, records: t.Pairs, text: func(w *bytes.Buffer, st style) { truthText(w, st, t) }}
}

func truthText(w *bytes.Buffer, st style, t *simulate.Truth) {
	fmt.Fprintf(w, "simulated history of environment %s from %s to %s, seed %d\n", t.Environment, stamp(t.Since), stamp(t.Until), t.Seed)
	of := &table{columns: []column{left("source"), left("target"), left("path"), number("floor ms"), left("from"), number("median ms"), number("amplitude ms"), left("peak"),
		number("loss %"), number("busy loss %")}}
	for _, p := range t.Pairs {
		peak := fmt.Sprintf("%02.0f:00 %s", p.PeakHour, p.Zone)
		of.add(p.Source, p.Target, p.Path, milliseconds(&p.FloorUS), p.From, milliseconds(&p.MedianUS), milliseconds(&p.AmplitudeUS), peak, decimal(&p.LossRatio, 100, 3), decimal(&p.BusyLossRatio, 100, 3))
	}
	of.render(w, st)
	fmt.Fprintln(w)
	for _, s := range t.Steps {
		fmt.Fprintf(w, "%s  from %s to %s over %s the floor rises by %s ms: another route\n", stamp(s.At), s.Source, s.Target, s.Path, milliseconds(&s.DeltaUS))
	}
	for _, c := range t.Congestions {
		fmt.Fprintf(w, "%s  from %s to %s over %s a queue stays: the median rises by %s ms, the smallest does not\n", stamp(c.At), c.Source, c.Target, c.Path, milliseconds(&c.MedianUS))
	}
	for _, o := range t.Outages {
		fmt.Fprintf(w, "%s  %s is away until %s\n", stamp(o.Since), o.Prober, stamp(o.Until))
	}
	for _, c := range t.Clocks {
		fmt.Fprintf(w, "%s  the clocks of %s change by %+d min\n", stamp(c.At), c.Zone, (c.OffsetAfterS-c.OffsetBeforeS)/60)
	}
	for _, n := range t.NotSimulated {
		fmt.Fprintf(w, "left out: probe %s, for %s\n", n.Probe, n.Why)
	}
	fmt.Fprintf(w, "n = %s; at weekends %s of the amplitude is left\n", plural(len(t.Pairs), "pair", "pairs"), percent(&t.Pairs[0].WeekendRatio)+" %")
}
