package main

import (
	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

func newTrend(s *session) *cobra.Command {
	var f seriesFlags
	var format string
	cmd := &cobra.Command{
		Use:   "trend SOURCE TARGET",
		Short: "Say what one pair was like over weeks: level, changes, daily rhythm, hours of the day",
		Long: `trend reads the hours of one series, which rollup makes of its runs, and says

  quantiles   of all round trips of the time, from the merged histograms of its hours
  changes     where the round trip got another level: rerouted when the least round trips moved, congestion
              when the medians moved and the least ones did not. Found by E-divisive on the hours' medians less
              what their hour of the day usually adds, and on the hours' least; told from 0.5 ms or 1 % on
  trend       by how much the hours' medians rise or fall: the Theil-Sen slope with its 95 % interval, and the
              p of Mann and Kendall's test. A step makes a slope too: look at the changes first
  rhythm      whether there is a daily rhythm and how large it is (none, low, mild over 1 ms, severe over 3 ms);
              or why that cannot be told: fewer than 14 days, or gaps of more than 3 h
  hours       what each hour of the day is like, by the clocks of UTC, source and target: the median of
              the hours' medians, its quartiles, and of how many hours

Baseline is the least round trip of the trailing 28 days since the last reroute, and excess the
median less that. An hour of fewer than 20 round trips has no median. Hours without data are left out of
everything, and are gaps in the drawing. Hours are rolled up once an hour: the newest one is told. csv has a row
an hour, svg draws them, json has all of it.

--lake takes the samples of the lake in the place of the hours: what it says is exact, and independent of what was
rolled up. Of each day's file only the pair's row groups are read; standard error says how many bytes that
were. The lake has no loss and no throughput, and not today.`,
		Example: `  sweep trend westeurope eastus
  sweep trend westeurope eastus --path public --probe tcp-64 --since 90d
  sweep trend westeurope eastus --since 365d --format svg > trend.svg
  sweep trend westeurope eastus --since 90d --lake --timeout 5m`,
		Args:              pairArgs,
		ValidArgsFunction: completePair,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			st, c, err := s.history(ctx)
			if err != nil {
				return err
			}
			now := s.env.now().UTC()
			q, err := f.query(c, args[0], args[1], now)
			if err != nil {
				return err
			}
			from, told := f.hours(s, st)
			defer told()
			found, err := answers.ReadTrend(ctx, from, c, q, now)
			if err != nil {
				return unreachable(err)
			}
			if len(found.Hours) == 0 {
				defer s.hintNoHours(q, f.since) // after the answer
			}
			return s.print(format, trendView{reply.TrendOf(st.environment, found, now), found}.answer())
		},
	}
	f.add(cmd)
	drawnFormatFlag(cmd, &format)
	return cmd
}

// hintNoHours says why there may be no hour.
func (s *session) hintNoHours(q answers.SeriesQuery, since string) {
	s.warn("no hour of %s since %s (--since %s): raise --since, look for its runs with sweep runs, or make hours of them with sweep rollup",
		q, stamp(q.Since), visible(since))
}
