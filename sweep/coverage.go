package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
)

// The steps of --by.
const (
	byHour = "hour"
	byDay  = "day"
)

func newCoverage(s *session) *cobra.Command {
	var q answers.CoverageQuery
	var since, until, by, format string
	var gaps bool
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "Say what became of every planned run: measured, failed, expired, missed or open",
		Long: `coverage counts, by prober that measures and hour (UTC), the runs that were planned and what became of
them. Planned is what the configuration that each sweep was pinned to makes at its slot. Of these

  measured   the row has figures
  failed     the row has a failure code
  expired    no document came in time; a late one still replaces it
  missed     nobody swept the slot: the app was not running when it was due. What was planned then
             is what the configuration of the sweep before makes
  open       the document is awaited, or the sweep is not old enough to be missed

and the second table says why, by prober: of failed runs the code, of the others what the ledger says,
whether the prober is silent, and whether its document lies in quarantine (sweep quarantine show).

Every planned run is counted once. Where the counts do not add up, or a row is there that no sweep
planned, the app has a fault: "faults" counts these runs, and the exit code is 1. Runs that are not
measured do not change it.

--since is taken back to the beginning of its hour, or of its day. The question reads a row a run; for
months raise --timeout. --prober makes it read that prober's alone.`,
		Example: `  sweep coverage
  sweep coverage --prober westeurope --since 7d --by day
  sweep coverage --since 30d --by day --gaps --timeout 10m --format csv
  sweep coverage --since 7d --by day --format svg > coverage.svg`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := s.env.now().UTC()
			q.ByDay = by == byDay
			if err := completeCoverage(&q, since, until, now); err != nil {
				return err
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			if err := s.reach(ctx, st, blobs, rows); err != nil {
				return err
			}
			found, err := answers.ReadCoverage(ctx, st.tables, st.archive, st.environment, q, now)
			if err != nil {
				return unreachable(err)
			}
			view := coverageView{environment: st.environment, now: now, query: q, by: by, gaps: gaps, coverage: found}
			if err := s.print(format, view.answer()); err != nil {
				return err
			}
			if n := view.faults(); n > 0 {
				return bad("look for errors in the app's log at that time, and report it with the rows of sweep runs and the ledger's",
					"%s not what the ledger says: a fault of the app", plural(n, "run is", "runs are"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Prober, "prober", "", "only runs that this prober makes")
	flags.StringVar(&q.Path, "path", "", "only over this path")
	flags.StringVar(&q.Probe, "probe", "", "only of this probe")
	flags.StringVar(&since, "since", "24h", "how far back: a duration such as 90m, 24h, 7d, or a time")
	flags.StringVar(&until, "until", "", "before this time (default: now)")
	choiceFlag(cmd, &by, "by", byHour, []string{byHour, byDay}, "count by: hour, day")
	flags.BoolVar(&gaps, "gaps", false, "only hours or days in which something is not measured")
	completeFlag(cmd, "prober", localProbers)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "since", "until")
	drawnFormatFlag(cmd, &format)
	return cmd
}

// completeCoverage checks what the flags say and fills in the times: a whole hour, or day, at the
// beginning, so that the first row is not a part of one.
func completeCoverage(q *answers.CoverageQuery, since, until string, now time.Time) (err error) {
	for _, f := range []struct{ flag, name string }{{"prober", q.Prober}, {"path", q.Path}, {"probe", q.Probe}} {
		if f.name == "" {
			continue
		}
		if strings.HasPrefix(f.name, wire.ForeignPrefix) {
			return usage("ask sweep runs for them", "--%s %q: nobody plans foreign documents", f.flag, f.name)
		}
		if err := wire.ValidateName(f.flag, f.name); err != nil {
			return usage("", "--%s: %w", f.flag, err)
		}
	}
	if q.Since, err = parseSince(since, now); err != nil {
		return usage("", "--since %w", err)
	}
	step := time.Hour
	if q.ByDay {
		step = 24 * time.Hour
	}
	q.Since, q.Until = q.Since.Truncate(step), now
	if until != "" {
		if q.Until, err = parseTime(until); err != nil {
			return usage("", "--until %w", err)
		}
	}
	if !q.Since.Before(q.Until) {
		return usage("", "--since %s is not before --until %s", stamp(q.Since), stamp(q.Until))
	}
	return nil
}

// coverageOrder is how the fates follow each other in the table of reasons.
func coverageOrder(a, b whyObject) int {
	return cmp.Or(strings.Compare(a.Prober, b.Prober), cmp.Compare(b.Runs, a.Runs), strings.Compare(a.Fate, b.Fate), strings.Compare(a.Reason, b.Reason))
}
