package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/reply"
)

func newHeatmap(s *session) *cobra.Command {
	var f seriesFlags
	var clock, format string
	cmd := &cobra.Command{
		Use:   "heatmap SOURCE TARGET",
		Short: "Say at which hours of the week one pair is slower than usual",
		Long: `heatmap shows, by weekday and hour, how far the medians of such hours lie above or below what was usual at
the time: excess, the hour's median less the least round trip of the trailing 28 days since the last
reroute, less the median excess between two changes of level. So a step in the middle of a week does not
paint that weekday. A cell is the median over all such hours of the time; json and csv have its quartiles and of how
many hours it is, and "-" is a cell without data, which is never a zero.

--zone says by whose clock: utc, source or target, with days of 23 and 25 hours as they were there. On a
terminal that is too narrow for numbers a cell is a shade, from the smallest to the largest.`,
		Example: `  sweep heatmap westeurope eastus
  sweep heatmap westeurope eastus --zone target --since 90d
  sweep heatmap westeurope eastus --zone source --format svg > heatmap.svg`,
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
			found, err := answers.ReadHeatmap(ctx, from, c, q, answers.Clock(clock), now)
			if errors.Is(err, answers.ErrNoClock) {
				return usage("ask for --zone utc", "--zone: %w", err)
			}
			if err != nil {
				return unreachable(err)
			}
			if found.Rests.Hours == 0 {
				defer s.hintNoHours(q, f.since) // after the answer
			}
			return s.print(format, heatmapView{reply.HeatmapOf(st.environment, found, now)}.answer())
		},
	}
	f.add(cmd)
	choiceFlag(cmd, &clock, "zone", string(answers.ClockUTC), words(answers.ClockNames()), "by whose clock: "+strings.Join(words(answers.ClockNames()), ", "))
	drawnFormatFlag(cmd, &format)
	return cmd
}
