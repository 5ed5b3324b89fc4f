package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/answers"
	"isochrone/sweep/tables"
)

func newRuns(s *session) *cobra.Command {
	var q tables.RunQuery
	var since, format string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of series, newest first",
		Long: `runs lists the runs that fit, newest slot first: one row each, those that failed as well.
Without --source, --target, --path and --probe it lists those of every series. n is how many
samples came back, of bulk kinds that have none of requests or messages. --since is a duration before now, or a time. When nothing fits, standard error
says whether the configuration knows the names that were asked for.

A "~" marks a run that is degraded: the measurement's own noise may be in its figures. json and csv
say why, and hold every column of the rows, histograms apart: percentiles with the ends of their
95 % interval, and what only some kinds have, such as the delays of each direction (udp), the
phases of a request (http) or the rates of each direction (throughput). A value that is absent is null in
json, empty in csv and "-" in a table. In csv, a text that a spreadsheet would take for a
formula has an apostrophe in front.`,
		Example: `  sweep runs --source westeurope --target eastus
  sweep runs --probe tcp-64 --since 7d --limit 0 --format csv > runs.csv
  sweep runs --source brazilsouth --since 2026-11-30T10:00:00Z`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := s.env.now().UTC()
			if err := completeQuery(&q, since, now); err != nil {
				return err
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if err := s.reach(ctx, st, rows); err != nil {
				return err
			}
			found, err := answers.ReadRuns(ctx, st.tables, q)
			if err != nil {
				return unreachable(err)
			}
			if found.Total == 0 {
				defer s.hintEmpty(ctx, st, q, since) // after the answer
			}
			return s.print(format, runsView{query: q, environment: st.environment, runs: found}.answer())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Source, "source", "", "only from this prober")
	flags.StringVar(&q.Target, "target", "", "only to this prober or endpoint")
	flags.StringVar(&q.Path, "path", "", "only over this path")
	flags.StringVar(&q.Probe, "probe", "", "only of this probe; those of foreign documents begin with ext.")
	flags.StringVar(&since, "since", "24h", "how far back: a duration such as 90m, 24h, 7d, or a time")
	flags.IntVar(&q.Limit, "limit", 50, "the most runs to show; 0 shows all")
	completeFlag(cmd, "source", localProbers)
	completeFlag(cmd, "target", localTargets)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "since", "limit")
	formatFlag(cmd, &format)
	return cmd
}

// completeQuery checks what the flags say and fills in the times. Names become parts of keys, so
// nothing but a name may get there.
func completeQuery(q *tables.RunQuery, since string, now time.Time) (err error) {
	for _, f := range []struct{ flag, name string }{{"source", q.Source}, {"target", q.Target}, {"path", q.Path},
		{"probe", strings.TrimPrefix(q.Probe, wire.ForeignPrefix)}} {
		if f.name == "" {
			continue
		}
		if err := wire.ValidateName(f.flag, f.name); err != nil {
			return usage("", "--%s: %w", f.flag, err)
		}
	}
	if q.Limit < 0 {
		return usage("", "--limit %d: want 0 or more", q.Limit)
	}
	if q.Since, err = parseSince(since, now); err != nil {
		return usage("", "--since %w", err)
	}
	q.Until = now.Add(10 * time.Minute) // a slot may lie a little ahead of this machine's clock
	return nil
}

// runsView turns runs into the three formats.
type runsView struct {
	query       tables.RunQuery
	environment string
	runs        *answers.Runs
}

type runsObject struct {
	Environment string      `json:"environment"`
	Simulated   bool        `json:"simulated"` // a model made up one of the runs
	Since       time.Time   `json:"since"`
	N           int         `json:"n"`
	Total       int         `json:"total"`
	Runs        []runRecord `json:"runs"`
}

func (v runsView) answer() answer {
	records := []runRecord{}
	simulated := false
	for i := range v.runs.Rows {
		records = append(records, runRecordOf(&v.runs.Rows[i]))
		simulated = simulated || v.runs.Rows[i].Simulated
	}
	return answer{
		object:  runsObject{v.environment, simulated, v.query.Since.UTC(), len(records), v.runs.Total, records},
		records: records, simulated: simulated,
		text: func(w *bytes.Buffer, st style) { v.text(w, st, records) },
	}
}

func (v runsView) text(w *bytes.Buffer, st style, records []runRecord) {
	fmt.Fprintf(w, "runs of environment %s since %s%s\n", v.environment, stamp(v.query.Since), v.filters())
	if len(records) > 0 {
		runTable(records, v.query).render(w, st)
		describeDegraded(w, records)
	}
	fmt.Fprintf(w, "\nn = %s of %s; times are UTC, %s is absent\n", count(len(records)), plural(v.runs.Total, "run", "runs"), absent)
	if len(records) < v.runs.Total {
		fmt.Fprintf(w, "older ones are left out: raise --limit\n")
	}
}

// filters says what was asked for; the table leaves these columns out.
func (v runsView) filters() string {
	var b strings.Builder
	for _, f := range []struct{ word, name string }{{"from", v.query.Source}, {"to", v.query.Target}, {"over path", v.query.Path}, {"of probe", v.query.Probe}} {
		if f.name != "" {
			fmt.Fprintf(&b, ", %s %s", f.word, f.name)
		}
	}
	return b.String()
}

// runTable lists runs. A column that the question has fixed to one value is left out.
func runTable(records []runRecord, fixed tables.RunQuery) *table {
	text := func(get func(*runRecord) string) func(*runRecord) cell {
		return func(r *runRecord) cell { return cell{text: get(r)} }
	}
	fields := []runField{{left("slot"), text(func(r *runRecord) string { return stamp(r.Slot) })}}
	for _, name := range []struct {
		fixed, title string
		get          func(*runRecord) string
	}{
		{fixed.Source, "source", func(r *runRecord) string { return r.Source }},
		{fixed.Target, "target", func(r *runRecord) string { return r.Target }},
		{fixed.Path, "path", func(r *runRecord) string { return r.Path }},
		{fixed.Probe, "probe", func(r *runRecord) string { return r.Probe }},
	} {
		if name.fixed == "" {
			fields = append(fields, runField{left(name.title), text(name.get)})
		}
	}
	if slices.ContainsFunc(records, func(r runRecord) bool { return r.Degraded != nil }) {
		fields = append(fields, runField{left(markDegraded), degradedCell})
	}
	ms := func(get func(*runRecord) *float64) func(*runRecord) cell {
		return text(func(r *runRecord) string { return milliseconds(get(r)) })
	}
	fields = append(fields,
		runField{number("n"), text(func(r *runRecord) string { return optionalCount(r.Received) })},
		runField{number("sent"), text(func(r *runRecord) string { return optionalCount(r.Sent) })})
	if slices.ContainsFunc(records, func(r runRecord) bool { return wire.Kind(r.Kind).HasSamples() }) {
		fields = append(fields,
			runField{number("loss %"), text(func(r *runRecord) string { return percent(r.LossRatio) })},
			runField{number("min ms"), ms(func(r *runRecord) *float64 { return r.MinUS })},
			runField{number("p50 ms"), ms(func(r *runRecord) *float64 { return r.P50US })},
			runField{number("p90 ms"), ms(func(r *runRecord) *float64 { return r.P90US })},
			runField{number("p99 ms"), ms(func(r *runRecord) *float64 { return r.P99US })},
			runField{number("max ms"), ms(func(r *runRecord) *float64 { return r.MaxUS })})
	}
	fields = append(append(fields, bulkColumns(records)...), runField{left("failure"), failureCell})
	t := &table{}
	for _, f := range fields {
		t.columns = append(t.columns, f.column)
	}
	for i := range records {
		row := make([]cell, len(fields))
		for j, f := range fields {
			row[j] = f.value(&records[i])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func degradedCell(r *runRecord) cell {
	if r.Degraded == nil {
		return cell{}
	}
	return cell{markDegraded, alarm}
}

// describeDegraded says of the marked runs why they are, each reason with its number of runs.
func describeDegraded(w *bytes.Buffer, records []runRecord) {
	runs := map[string]int{}
	for i := range records {
		if why := records[i].Degraded; why != nil {
			for _, r := range strings.Split(*why, ",") {
				runs[r]++
			}
		}
	}
	if len(runs) == 0 {
		return
	}
	var why []string
	for _, r := range slices.Sorted(maps.Keys(runs)) {
		why = append(why, fmt.Sprintf("%s in %s", reasonMeaning(summary.Reason(visible(r))), plural(runs[r], "run", "runs")))
	}
	fmt.Fprintf(w, "\n%s degraded, the measurement's own noise may be in the figures: %s\n", markDegraded, strings.Join(why, ", "))
}

func optionalCount(n *int) string {
	if n == nil {
		return absent
	}
	return count(*n)
}

// failureCell is why a run failed, in the prober's words where it has any.
func failureCell(r *runRecord) cell {
	switch {
	case r.Failure == nil:
		return cell{}
	case r.Detail == nil:
		return cell{*r.Failure, alarm}
	}
	return cell{*r.Failure + ": " + *r.Detail, alarm}
}
