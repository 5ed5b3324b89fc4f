package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"isochrone/sweep/alerts"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/reply"
	"isochrone/sweep/tables"
)

func newAlerts(s *session) *cobra.Command {
	var q answers.AlertQuery
	var since, until, kind, format string
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Show what was worth telling, and what of it lasts",
		Long: `alerts lists the alerts that the app raised, the newest first. An alert is raised once, and lasts until
it is over: then it has the time at which that was found, and why.

  deviation   a series is slower than it usually is at that hour of the week, three hours running
  change      a series got another level; the alert ends by itself after a day
  coverage    planned runs of a prober did not come in, or slots were not swept (app)
  objective   what sweep.yaml asks of a line under "objectives" is not kept

What is worth an alert is said in sweep.yaml, under "alerts". The app looks every hour, after it has
rolled up the hours; it logs a line of each alert and of its end, which an alert rule can match.

Listed is what lasted at some time since --since.`,
		Example: `  sweep alerts
  sweep alerts --open
  sweep alerts --kind deviation --since 30d --format csv
  sweep alerts check`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			now := s.env.now().UTC()
			if q.Since, q.Until, err = times(since, until, now); err != nil {
				return err
			}
			if q.Kind = tables.AlertKind(kind); kind == allKinds {
				q.Kind = ""
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
			found, err := answers.ReadAlerts(ctx, st.tables, q)
			if err != nil {
				return unreachable(err)
			}
			return s.print(format, alertsAnswer(reply.AlertsOf(st.environment, q, found, now), q.Open))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&q.Open, "open", false, "only alerts that last")
	flags.StringVar(&since, "since", "7d", "how far back: a duration such as 24h, 7d, or a time")
	flags.StringVar(&until, "until", "", "before this time (default: now)")
	choiceFlag(cmd, &kind, "kind", allKinds, append([]string{allKinds}, kinds()...), "only of this kind: deviation, change, coverage, objective, or all")
	noFiles(cmd, "since", "until")
	formatFlag(cmd, &format)
	cmd.AddCommand(newAlertsCheck(s))
	return cmd
}

const allKinds = "all"

func kinds() (out []string) {
	for _, k := range tables.AlertKinds() {
		out = append(out, string(k))
	}
	return out
}

func newAlertsCheck(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what would be raised and what would end now, and change nothing",
		Long: `check evaluates everything now: each series of the configuration's probers, coverage, and the objectives.
It says what would be raised, what lasts, and what would end, and writes nothing. It is a way to try what
sweep.yaml says under "alerts" and "objectives" once it was pushed.

Series are judged by the four weeks of hours that the app keeps of each; those that it does not keep yet
are left out. Unlike the app, which searches each series for changes once a day, check searches all of them.

The exit code is 1 when something would be raised, or lasts.`,
		Example: `  sweep alerts check
  sweep alerts check --timeout 5m --format json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var out *checkedObject
			err := s.ask(cmd, func(ctx context.Context, st *stores, c *config.Config) error {
				e := alerts.New(st.environment, st.tables, st.archive, s.env.now, slog.New(slog.DiscardHandler))
				e.DryRun = true
				for _, p := range c.Probers {
					if err := e.Look(ctx, p.ID); err != nil {
						return unreachable(err)
					}
				}
				if err := e.Finish(ctx); err != nil {
					return unreachable(err)
				}
				out = checkedOf(st.environment, e.Report(), e.Findings(), s.env.now())
				return nil
			})
			if err != nil {
				return err
			}
			if err := s.print(format, out.answer()); err != nil {
				return err
			}
			return out.verdict()
		},
	}
	formatFlag(cmd, &format)
	return cmd
}
