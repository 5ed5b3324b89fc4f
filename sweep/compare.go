package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// comparison is what the flags of compare say.
type comparison struct {
	paths, by, base       string
	path, probe, from, to string
	since, until, stat    string
	sinceTime, untilTime  time.Time
	environment           string
	statistic             answers.Statistic
	a, b                  string // of paths
}

func newCompare(s *session) *cobra.Command {
	var c comparison
	var format string
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Say by how much two paths, or groups of runs, differ",
		Long: `compare says by how much figures differ, and how sure that is.

--paths A,B takes each pair of probers, and of it the slots in which both paths were measured: the
same pair, the same slot, A − B. The difference is the Hodges-Lehmann estimate, the median of the
means of all two differences, and its interval inverts Wilcoxon's signed-rank test; it needs no
normal distribution. In the row of all pairs a slot counts once, with the median of its pairs. A
second table has each path's own samples: of one run as its row has them, of several from their
merged histograms.

--by groups runs by the size of the source's machine, the source's region, the probe or the path:
the median of each group with its interval by order statistics, and its shift above the base, the
Hodges-Lehmann estimate of two groups with the interval that inverts the test of Mann and Whitney.

Intervals are at 95 %. Where the values are too few for one, fewer than 6 slots of two paths,
nothing can be told, and the table says "few". --stat says what is compared: of the round trip p50,
min, mean or p99; throughput (kinds throughput and saturate), rate (messages of stream, requests of
load, a second), network (load and http: round trip less the server's own time). Without it
throughput and saturate are compared by throughput, stream by rate, and all others by p50.`,
		Example: `  sweep compare --paths public,peering --since 7d
  sweep compare --paths vpn,public --probe bulk --from westeurope --to northeurope --stat throughput
  sweep compare --by vm-size --probe bulk --since 30d --format csv
  sweep compare --paths public,peering --since 7d --format svg > paths.svg`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.complete(s.env.now().UTC()); err != nil {
				return err
			}
			st, err := s.open()
			if err != nil {
				return err
			}
			ctx, cancel := s.deadline(cmd)
			defer cancel()
			c.environment = st.environment
			if c.paths != "" {
				return s.comparePaths(ctx, st, c, format)
			}
			return s.compareGroups(ctx, st, c, format)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.paths, "paths", "", "two paths, A,B: the difference is A − B")
	choiceFlag(cmd, &c.by, "by", "", words(answers.Groupings()), "group runs by: "+strings.Join(words(answers.Groupings()), ", "))
	flags.StringVar(&c.base, "base", "", "with --by: the group that the others are held against (default: the first by name)")
	flags.StringVar(&c.path, "path", "", "with --by: only over this path")
	flags.StringVar(&c.probe, "probe", "", "only of this probe")
	flags.StringVar(&c.from, "from", "", "only from this prober")
	flags.StringVar(&c.to, "to", "", "only to this prober or endpoint")
	flags.StringVar(&c.since, "since", "24h", "how far back: a duration such as 90m, 24h, 7d, or a time")
	flags.StringVar(&c.until, "until", "", "before this time (default: now)")
	choiceFlag(cmd, &c.stat, "stat", "", words(answers.Compared()), "what to compare: "+strings.Join(words(answers.Compared()), ", ")+" (default: what stands for the kind)")
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "paths", localPaths)
	completeFlag(cmd, "probe", localProbes)
	completeFlag(cmd, "from", localProbers)
	completeFlag(cmd, "to", localTargets)
	noFiles(cmd, "base", "since", "until")
	drawnFormatFlag(cmd, &format)
	return cmd
}

// complete checks what the flags say and fills in the times.
func (c *comparison) complete(now time.Time) (err error) {
	if (c.paths == "") == (c.by == "") {
		return usage("", "want either --paths A,B or --by one of %s", strings.Join(words(answers.Groupings()), ", "))
	}
	if c.paths != "" {
		var two bool
		if c.a, c.b, two = strings.Cut(c.paths, ","); !two || c.a == c.b || strings.Contains(c.b, ",") {
			return usage("", "--paths %q: want two different paths with a comma between", c.paths)
		}
		if c.path != "" || c.base != "" {
			return usage("", "--path and --base go with --by")
		}
	}
	for _, f := range []struct{ flag, name string }{{"paths", c.a}, {"paths", c.b}, {"path", c.path}, {"from", c.from}, {"to", c.to},
		{"probe", strings.TrimPrefix(c.probe, wire.ForeignPrefix)}} {
		if f.name == "" {
			continue
		}
		if err := wire.ValidateName(f.flag, f.name); err != nil {
			return usage("", "--%s: %w", f.flag, err)
		}
	}
	if c.sinceTime, err = parseSince(c.since, now); err != nil {
		return usage("", "--since %w", err)
	}
	c.untilTime = now.Add(10 * time.Minute) // a slot may lie a little ahead of this machine's clock
	if c.until != "" {
		if c.untilTime, err = parseTime(c.until); err != nil {
			return usage("", "--until %w", err)
		}
	}
	if !c.sinceTime.Before(c.untilTime) {
		return usage("", "--since %s is not before --until %s", stamp(c.sinceTime), stamp(c.untilTime))
	}
	c.statistic = answers.Statistic(c.stat)
	return nil
}

func (s *session) comparePaths(ctx context.Context, st *stores, c comparison, format string) error {
	if err := s.reach(ctx, st, rows); err != nil {
		return err
	}
	found, err := answers.ReadPathDifferences(ctx, st.tables, answers.PathQuery{A: c.a, B: c.b, Probe: c.probe, Source: c.from, Target: c.to,
		Since: c.sinceTime, Until: c.untilTime, Statistic: c.statistic})
	if err != nil {
		return unreachable(err)
	}
	return s.print(format, pathsView{c, found}.answer())
}

func (s *session) compareGroups(ctx context.Context, st *stores, c comparison, format string) error {
	needs := []service{rows}
	if c.by == string(answers.ByRegion) {
		needs = append(needs, blobs)
	}
	if err := s.reach(ctx, st, needs...); err != nil {
		return err
	}
	var conf *config.Config
	if slices.Contains(needs, blobs) {
		var err error
		if conf, err = answers.ReadConfig(ctx, st.archive, st.environment); err != nil {
			return unreachable(err)
		}
	}
	q := answers.GroupQuery{By: answers.Grouping(c.by), Statistic: c.statistic, Base: c.base,
		Runs: tables.RunQuery{Source: c.from, Target: c.to, Path: c.path, Probe: c.probe, Since: c.sinceTime, Until: c.untilTime}}
	found, err := answers.ReadGroups(ctx, st.tables, conf, q)
	var none *answers.NoGroupError
	var mixed *answers.MixedError
	switch {
	case errors.As(err, &none):
		return usage("", "--base: %w", err)
	case errors.As(err, &mixed):
		return usage("narrow it with --probe, or say what to compare with --stat", "%w", err)
	case err != nil:
		return unreachable(err)
	}
	return s.print(format, groupsView{c, found}.answer())
}
