package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

// seriesAtATime is how many series a page of changes looks at: between two pages the progress is told.
const seriesAtATime = 200

// changesSince is what the flags of changes say of history.
type changesSince struct {
	query        answers.ChangesQuery
	since, until string
}

func (c *changesSince) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.query.Source, "source", "", "only from this prober")
	flags.StringVar(&c.query.Target, "target", "", "only to this prober or endpoint")
	flags.StringVar(&c.query.Path, "path", "", "only over this path")
	flags.StringVar(&c.query.Probe, "probe", "", "only of this probe; those of foreign documents begin with ext.")
	flags.StringVar(&c.since, "since", "", "of what was measured, and how far back: a duration such as 24h, 7d, or a time")
	flags.StringVar(&c.until, "until", "", "with --since: before this time (default: now)")
	completeFlag(cmd, "source", localProbers)
	completeFlag(cmd, "target", localTargets)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "since", "until")
}

// run looks for changes of all series since a time.
func (c *changesSince) run(ctx context.Context, s *session, format string) (err error) {
	now := s.env.now().UTC()
	q := &c.query
	if err := checkNames(q.Source, q.Target, q.Path, q.Probe); err != nil {
		return err
	}
	if q.Since, q.Until, err = times(c.since, c.until, now); err != nil {
		return err
	}
	st, conf, err := s.history(ctx)
	if err != nil {
		return err
	}
	progress := s.progress()
	all := &answers.ChangesPage{}
	for q.MostSeries = seriesAtATime; ; {
		page, err := answers.ReadChanges(ctx, st.tables, sourcesOf(conf), *q, now)
		if err != nil {
			progress.clear()
			return unreachable(err)
		}
		all.Join(page)
		progress.say("%s, %s", plural(all.Series, "series", "series"), plural(len(all.Changes), "change", "changes"))
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	progress.clear()
	if all.Series == 0 {
		defer s.warn("no series that fits has hours: rollup makes them once an hour, and sweep rollup at once")
	}
	return s.print(format, changesView{*q, reply.ChangesOf(st.environment, *q, all, now)}.answer())
}

// changesView turns the changes of many series into the formats.
type changesView struct {
	query  answers.ChangesQuery
	object *reply.Changes
}

// levelRecord is a change as csv has it.
type levelRecord struct {
	Source    string    `json:"source"`
	Target    string    `json:"target"`
	Path      string    `json:"path"`
	Probe     string    `json:"probe"`
	T         time.Time `json:"t"`
	BeforeUS  float64   `json:"before_us"`
	AfterUS   float64   `json:"after_us"`
	P         float64   `json:"p"`
	Kind      string    `json:"kind"`
	Simulated bool      `json:"simulated"`
}

func (v changesView) answer() answer {
	records := []levelRecord{}
	for _, c := range v.object.Changes {
		records = append(records, levelRecord{c.Source, c.Target, c.Path, c.Probe, c.T, c.BeforeUS, c.AfterUS, c.P, c.Kind, c.Simulated})
	}
	return answer{object: v.object, records: records, text: v.text, drawing: v.draw, simulated: v.object.Simulated}
}

func (v changesView) text(w *bytes.Buffer, st style) {
	o := v.object
	fmt.Fprintf(w, "changes of level, environment %s, from %s to before %s\n", o.Environment, stamp(o.Since), stamp(o.Until))
	if len(o.Changes) > 0 {
		t := &table{columns: []column{left("first hour (UTC)"), left("source"), left("target"), left("path"), left("probe"), number("before ms"), number("after ms"), number("difference ms"), number("p"), left("kind")}}
		for i := range o.Changes {
			c := &o.Changes[i]
			difference := c.AfterUS - c.BeforeUS
			t.add(stamp(c.T), c.Source, c.Target, c.Path, c.Probe, milliseconds(&c.BeforeUS), milliseconds(&c.AfterUS), signed(&difference), probability(c.P), c.Kind)
		}
		t.render(w, st)
	}
	fmt.Fprintf(w, "\nn = %s in %s, of %s and %s; looked at from 28 days before on\n", plural(len(o.Changes), "change", "changes"), plural(o.Series, "series", "series"),
		plural(*o.RestsOn.Hours, "hour", "hours"), plural(*o.RestsOn.Samples, "sample", "samples"))
	if o.SeriesTooShort > 0 {
		fmt.Fprintf(w, "%s of fewer than two days: nothing can be told of them\n", plural(o.SeriesTooShort, "series", "series"))
	}
}
