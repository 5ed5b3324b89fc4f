package main

import (
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/trend"
)

func newChanges(s *session) *cobra.Command {
	c := changesCommand{session: s}
	cmd := &cobra.Command{
		Use:   "changes --since TIME | --file SERIES.csv",
		Short: "Say when the level of series of round trips changed, from what to what",
		Long: `changes finds where the level of a series of round trips changes for more than a moment, such as by
another route, and says the median before and after, and the p-value of the test between them.

--since looks at the hours of all series that were measured, or of those that --source, --target, --path and
--probe leave, and at the 28 days before: rerouted are changes of the hours' least round trips, congestion those
of the medians alone, as sweep trend has them. It reads up to 5 weeks of each series; for thousands raise
--timeout.

--file reads any series, at its own cadence: a line a round trip, with the time in Unix seconds and
the round trip in milliseconds, separated by a comma. More columns are left alone, and so is a heading.
A round trip that is empty, nan, zero or negative is one that did not come back: it is missing, and
not a time. The lines are taken in their order. gzip is undone; "-" is standard input. No storage is
needed.

A change is one with a p of --p at most and a difference of --least and of 1 % at least. What that
means, how well it does on labelled series, and when not to believe it: docs/change-points.md. A
series whose level rises and falls by the hour of the day has changes every day.

With --format json each change is an object on a line of its own: time (RFC 3339), that of the first
round trip after it, before_ms, after_ms, p.`,
		Example: `  sweep changes --since 7d
  sweep changes --since 28d --source westeurope --format csv
  sweep changes --file series.csv
  zcat series.csv.gz | sweep changes --file - --format json
  sweep changes --file series.csv --least 5ms --format csv
  sweep changes --file series.csv --format svg > levels.svg`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.file, "file", "", "the series: a file of Unix seconds and milliseconds, or - for standard input")
	flags.DurationVar(&c.least, "least", 500*time.Microsecond, "smallest difference that is a change")
	flags.Float64Var(&c.p, "p", 1e-6, "largest p-value of a change")
	c.history.add(cmd)
	noFiles(cmd, "least", "p")
	drawnFormatFlag(cmd, &c.format)
	return cmd
}

// changesCommand is one call of the command.
type changesCommand struct {
	*session
	history changesSince // --since
	file    string
	least   time.Duration
	p       float64
	format  string
}

func (c *changesCommand) run(cmd *cobra.Command) error {
	if c.history.since != "" {
		for _, name := range []string{"file", "least", "p"} {
			if cmd.Flags().Changed(name) {
				return usage("leave --since out to look at a file", "--%s does not go with --since", name)
			}
		}
		ctx, cancel := c.deadline(cmd)
		defer cancel()
		return c.history.run(ctx, c.session, c.format)
	}
	for _, name := range []string{"source", "target", "path", "probe", "until"} {
		if cmd.Flags().Changed(name) {
			return usage("say how far back, such as --since 7d", "--%s goes with --since", name)
		}
	}
	if c.least < 0 {
		return usage("", "--least %s: want 0 or more", c.least)
	}
	if !(c.p > 0 && c.p <= 0.05) {
		return usage("", "--p %v: want more than 0, and 0.05 at most", c.p)
	}
	if c.file == "" {
		return usage("say --since 7d for what was measured, or name a file of Unix seconds and milliseconds with --file", "changes of what?")
	}
	return c.ofFile()
}

// options are for values in milliseconds.
func (c *changesCommand) options() trend.ChangeOptions {
	return trend.ChangeOptions{Least: float64(c.least) / float64(time.Millisecond), P: c.p}
}
