package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/rollup"
)

func newRollup(s *session) *cobra.Command {
	c := &rolling{session: s}
	var from, to, format string
	cmd := &cobra.Command{
		Use:   "rollup",
		Short: "Make hours and profiles of the stored runs",
		Long: `rollup does what the Rollup function does every hour: it computes the hours whose runs have changed
since, and the profiles of the sources that have none of today. What has not changed is not written. It may
run beside the function, and be cut off: made again, it does the rest.

With --backfill every hour from --from up to --to is computed, whether its runs have changed or not,
and then the profiles of all sources. Without --from it begins with the first month that has runs, and
without --to it ends with the present. It is what a new version of the app wants once, and finds out
what somebody else changed in the tables.`,
		Example: `  sweep rollup
  sweep rollup --backfill
  sweep rollup --backfill --from 2026-11-01 --to 2026-12-01 --format json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(cmd, from, to); err != nil {
				return err
			}
			report, err := c.run(cmd.Context())
			if failed := s.print(format, rollupAnswer(c, report, err == nil)); err == nil {
				err = failed
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.backfill, "backfill", false, "compute all hours, not only those whose runs have changed")
	flags.StringVar(&from, "from", "", "with --backfill: the first hour, such as 2026-11-30T10:00 or 2026-11-30")
	flags.StringVar(&to, "to", "", "with --backfill: the end, an hour that is left out")
	noFiles(cmd, "from", "to")
	formatFlag(cmd, &format)
	return cmd
}

// rolling is one invocation of rollup.
type rolling struct {
	*session
	backfill bool
	scope    rollup.Scope
	stores   *stores
	progress *progress
	windows  atomic.Int64 // of a backfill; 0 while nobody knows
	roller   *rollup.Roller
}

// prepare checks the flags and reaches for the storage.
func (c *rolling) prepare(cmd *cobra.Command, from, to string) (err error) {
	for _, f := range []struct {
		name, text string
		into       *time.Time
	}{{"from", from, &c.scope.Since}, {"to", to, &c.scope.Until}} {
		if f.text == "" {
			continue
		}
		if !c.backfill {
			return usage("", "--%s is for --backfill", f.name)
		}
		if *f.into, err = parseTime(f.text); err != nil {
			return usage("", "--%s %w", f.name, err)
		}
		if !f.into.Equal(f.into.Truncate(time.Hour)) {
			return usage("", "--%s %s is no whole hour", f.name, stamp(*f.into))
		}
	}
	if from != "" && to != "" && !c.scope.Since.Before(c.scope.Until) {
		return usage("", "--from %s is not before --to %s", stamp(c.scope.Since), stamp(c.scope.Until))
	}
	if c.stores, err = c.session.open(); err != nil {
		return err
	}
	c.progress = c.session.progress()
	c.roller = &rollup.Roller{Hours: c.stores.tables, Profiles: c.stores.tables, Now: c.env.now, Log: slog.New(slog.DiscardHandler), Progress: c.tell}
	ctx, cancel := c.deadline(cmd)
	defer cancel()
	return c.reach(ctx, c.stores, rows)
}

// tell shows how far it is.
func (c *rolling) tell(r rollup.Report) {
	of := ""
	if n := c.windows.Load(); n > 0 {
		of = " of " + count(n)
	}
	c.progress.say("%s%s passes, %s, %s written, profiles of %s", count(r.Windows), of, plural(r.Runs, "run", "runs"), plural(r.Written, "hour", "hours"), plural(r.Profiled, "source", "sources"))
}

func (c *rolling) run(ctx context.Context) (report rollup.Report, err error) {
	if c.backfill {
		report, err = c.roller.Backfill(ctx, c.stores.tables, c.scope, func(n int) { c.windows.Store(int64(n)) })
	} else {
		report, err = c.roller.Run(ctx)
	}
	c.progress.clear()
	if err != nil {
		return report, unreachable(err)
	}
	if report.Unreadable > 0 {
		c.warn("%s cannot be read: the quantiles that need them are absent", plural(report.Unreadable, "histogram", "histograms"))
	}
	return report, nil
}
