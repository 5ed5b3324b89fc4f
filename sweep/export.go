package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
)

const formatParquet = "parquet"

// exporting is one invocation of export.
type exporting struct {
	*session
	query                    answers.ExportQuery
	grain, since, until, out string
	format                   string
}

func newExport(s *session) *cobra.Command {
	x := &exporting{session: s}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write runs, hours or days to a file: CSV, JSON or Parquet",
		Long: `export writes what is stored, a row a run, an hour or a day (UTC) of a series, with the columns and units that
docs/formats.md describes: by source, target, path and probe, and newest first within a series. Rows
are written while they are read, so that a year takes no more memory than a day. Until all are there the
file has another name.

The quantiles of an hour come from the merged histograms of its runs, and those of a day from the merged
histograms of its hours; where one is missing they are absent. The columns of the histograms
themselves are left out: --histograms adds them. A day's median throughput is there only where no hour had
more than one run: a median of medians is none.

csv has an empty field where a value is absent, json null: it is one array with a row a line. parquet has
nullable columns, packed with zstd, and times to the microsecond. Standard error says how many rows there
are, what they rest on, and whether some of them are simulated; in the files the column simulated or
runs_simulated_count says so. Drawings (svg) are of the questions, such as sweep trend: there is none of an export.`,
		Example: `  sweep export --grain hour --since 28d --format parquet --out hours.parquet
  sweep export --grain day --source westeurope --target eastus --since 365d --format csv --out days.csv
  sweep export --grain run --probe tcp-64 --since 24h --format json | jq '.[].rtt_p50_us'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := x.complete(s.env.now().UTC()); err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			return x.run(ctx)
		},
	}
	flags := cmd.Flags()
	choiceFlag(cmd, &x.grain, "grain", string(answers.GrainHour), words(answers.Grains()), "a row for each: "+strings.Join(words(answers.Grains()), ", "))
	flags.StringVar(&x.query.Source, "source", "", "only from this prober")
	flags.StringVar(&x.query.Target, "target", "", "only to this prober or endpoint")
	flags.StringVar(&x.query.Path, "path", "", "only over this path")
	flags.StringVar(&x.query.Probe, "probe", "", "only of this probe; those of foreign documents begin with ext.")
	flags.StringVar(&x.since, "since", "28d", "how far back: a duration such as 24h, 28d, or a time")
	flags.StringVar(&x.until, "until", "", "before this time (default: now)")
	flags.BoolVar(&x.query.Histograms, "histograms", false, "with the columns of the histograms")
	flags.StringVar(&x.out, "out", "", "the file to write (default: standard output)")
	choiceFlag(cmd, &x.format, "format", formatCSV, []string{formatCSV, formatJSON, formatParquet}, "what to write: csv, json or parquet")
	completeFlag(cmd, "source", localProbers)
	completeFlag(cmd, "target", localTargets)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "since", "until")
	return cmd
}

func (x *exporting) complete(now time.Time) (err error) {
	q := &x.query
	q.Grain = answers.Grain(x.grain)
	if err := checkNames(q.Source, q.Target, q.Path, q.Probe); err != nil {
		return err
	}
	if q.Since, q.Until, err = times(x.since, x.until, now); err != nil {
		return err
	}
	if q.Grain == answers.GrainDay {
		q.Since = q.Since.Truncate(24 * time.Hour)
		if end := q.Until.Truncate(24 * time.Hour); !end.Equal(q.Until) {
			q.Until = end.Add(24 * time.Hour)
		}
	}
	if _, terminal := x.terminal(); terminal && x.out == "" && x.format == formatParquet {
		return usage("give --out FILE, or redirect standard output", "parquet is nothing for a terminal")
	}
	return nil
}

func (x *exporting) run(ctx context.Context) error {
	st, err := x.open()
	if err != nil {
		return err
	}
	need := []service{rows}
	if x.query.Source == "" && x.query.Grain != answers.GrainRun {
		need = append(need, blobs)
	}
	if err := x.reach(ctx, st, need...); err != nil {
		return err
	}
	var sources []string
	if len(need) > 1 {
		c, err := answers.ReadConfig(ctx, st.archive, st.environment)
		if err != nil {
			return unreachable(err)
		}
		sources = sourcesOf(c)
	}
	e := answers.ReadExport(ctx, st.tables, sources, x.query)
	n, err := x.write(e)
	if err != nil {
		return err
	}
	made := ""
	if e.Rests.Simulated {
		made = "; SIMULATED: some of them were made up by a model"
	}
	of := plural(e.Rests.Runs, "run", "runs") + ", " + plural(e.Rests.Samples, "sample", "samples")
	x.warn("%s, of %s%s", plural(n, "row", "rows"), of, made)
	return nil
}

// write writes the rows to --out, or to standard output.
func (x *exporting) write(e *answers.Export) (n int, err error) {
	if x.out == "" {
		n, err = writeRecords(x.stdout, x.format, e)
		return n, exportFault(err)
	}
	f, err := os.CreateTemp(filepath.Dir(x.out), "."+filepath.Base(x.out)+".*")
	if err != nil {
		return 0, usage("", "--out: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()           // it may be closed
			_ = os.Remove(f.Name()) // half of an answer is none
		}
	}()
	if n, err = writeRecords(f, x.format, e); err != nil {
		return n, exportFault(err)
	}
	if err = errors.Join(f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), x.out)
	}
	if err != nil {
		return n, usage("", "--out: %w", err)
	}
	return n, nil
}

// errWriting is in the chain of the errors of whoever takes the rows.
var errWriting = errors.New("writing the answer")

func exportFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errWriting):
		return &problem{code: exitUnreachable, err: err}
	}
	return unreachable(err)
}

// faultyWriter marks the errors of a writer as that.
type faultyWriter struct{ to io.Writer }

func (w faultyWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", errWriting, err)
	}
	return n, err
}

// recordText is a value as csv has it.
func recordText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return csvText(x)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
