package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
)

func newMatrix(s *session) *cobra.Command {
	var path, probe, format string
	var stats []string
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Show the newest round trip and loss between all probers",
		Long: `matrix shows the newest run of every ordered pair of probers: rows are sources, columns are
targets. Without --path and --probe it shows every probe of the configuration over each of
its paths.

A cell is a round trip in ms, or the part of the sent samples that was lost, in %. It is a
failure code (docs/formats.md lists them) when the newest run brought no result, "missing"
when the pair has no run at all, and blank when the probe does not measure it. "few" stands
where a percentile p has fewer than ten samples above it: n(1 − p) < 10. A "*" marks a run
that is older than the newest of the table, whatever came of it: its pair was not measured
since, or not yet. The line below the tables counts these apart, as older, with the slot of the
oldest; in json and csv they are "stale", and age_s is the age of each. A "~" marks a run that is
degraded: the measurement's own noise, such as samples that left late, may be in its figures. In
json and csv "degraded" says why, and each percentile has the ends of its 95 % interval.

--stat says what the tables show: p50, p90, p99, loss; throughput, the payload in Mbit/s from source
to target without the ramp, or back where that alone was measured, or of saturate's best level; rate,
the messages (stream) or requests (load) a second. Without it throughput and saturate show
throughput, stream its rate, and all others p50 and loss. "-" stands where a kind has no such figure. csv and json hold all of it, and the distance, the round trip of
light in fibre over it (floor), the excess over that and the ratio to it (stretch, from 500 km
on). These are absent when the configuration has everything on one machine (loopback), and for
endpoints, which are columns behind the probers.

The exit code is 1 when a pair is missing. A failed run is a result, and is not missing.`,
		Example: `  sweep matrix
  sweep matrix --path public --probe tcp-64 --stat p50,p99
  sweep matrix --format json | jq '.matrices[].cells[] | select(.failure != null)'
  sweep matrix --format svg > matrix.svg`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wanted []answers.Statistic // what stands for each kind
			if cmd.Flags().Changed("stat") {
				var err error
				if wanted, err = parseStatistics(stats); err != nil {
					return err
				}
			}
			matrices, err := s.matrices(cmd, path, probe)
			if err != nil {
				return err
			}
			view := matrixView{matrices: matrices, stats: wanted, now: s.env.now().UTC()}
			if err := s.print(format, view.answer()); err != nil {
				return err
			}
			return missingPairs(matrices)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "path", "", "only this path")
	flags.StringVar(&probe, "probe", "", "only this probe")
	flags.StringSliceVar(&stats, "stat", nil, "what the tables show: "+strings.Join(words(answers.Statistics()), ", ")+"; several with commas (default: what stands for the kind)")
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	completeFlag(cmd, "stat", func() []string { return words(answers.Statistics()) })
	drawnFormatFlag(cmd, &format)
	return cmd
}

func words[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func parseStatistics(given []string) ([]answers.Statistic, error) {
	var out []answers.Statistic
	for _, g := range given {
		if !slices.Contains(answers.Statistics(), answers.Statistic(g)) {
			return nil, usage("", "--stat %q: want one of %s", g, strings.Join(words(answers.Statistics()), ", "))
		}
		if !slices.Contains(out, answers.Statistic(g)) {
			out = append(out, answers.Statistic(g))
		}
	}
	if len(out) == 0 {
		return nil, usage("", "--stat is empty: want one of %s", strings.Join(words(answers.Statistics()), ", "))
	}
	return out, nil
}

// combination is one probe over one of its paths.
type combination struct{ path, probe string }

// matrices reads one matrix for each probe and path that was asked for.
func (s *session) matrices(cmd *cobra.Command, path, probe string) ([]*answers.Matrix, error) {
	st, err := s.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.deadline(cmd)
	defer cancel()
	if err := s.reach(ctx, st, blobs, rows); err != nil {
		return nil, err
	}
	c, err := answers.ReadConfig(ctx, st.archive, st.environment)
	if err != nil {
		return nil, unreachable(err)
	}
	asked, err := combinations(c, path, probe)
	if err != nil {
		return nil, err
	}
	return s.readMatrices(ctx, st, c, asked)
}

func (s *session) readMatrices(ctx context.Context, st *stores, c *config.Config, asked []combination) ([]*answers.Matrix, error) {
	var out []*answers.Matrix
	for _, a := range asked {
		m, err := answers.ReadMatrix(ctx, st.tables, c, a.path, a.probe, s.env.now())
		if err != nil {
			return nil, unreachable(err)
		}
		out = append(out, m)
	}
	return out, nil
}

// combinations are the probes and paths of the configuration that were asked for; empty asks
// for all. Asking for what is not there is a fault of the command line.
func combinations(c *config.Config, path, probe string) ([]combination, error) {
	var out []combination
	var probes, paths []string
	for _, p := range c.Probes {
		probes = append(probes, p.Name)
		for _, has := range p.Paths {
			if !slices.Contains(paths, has) {
				paths = append(paths, has)
			}
			if (probe == "" || p.Name == probe) && (path == "" || has == path) {
				out = append(out, combination{has, p.Name})
			}
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case probe != "" && !slices.Contains(probes, probe):
		return nil, usage("its probes are "+strings.Join(probes, ", "), "--probe %q: the configuration of environment %q has no such probe", probe, c.Environment)
	case path != "" && !slices.Contains(paths, path):
		return nil, usage("its paths are "+strings.Join(paths, ", "), "--path %q: no probe of environment %q measures over it", path, c.Environment)
	}
	return nil, usage("", "probe %q does not measure over path %q", probe, path)
}

// missingPairs is the error that makes the exit code 1.
func missingPairs(matrices []*answers.Matrix) error {
	missing, of := 0, 0
	for _, m := range matrices {
		missing += m.Missing
		of += len(m.Cells)
	}
	if missing == 0 {
		return nil
	}
	verb := "are"
	if missing == 1 {
		verb = "is"
	}
	return bad(`"sweep status" says what came of the last sweeps`, "%d of %s %s missing", missing, plural(of, "series", "series"), verb)
}

// describeN says how many samples the measured cells have.
func describeN(m *answers.Matrix) string {
	least, most, of := -1, 0, "samples"
	switch m.Kind {
	case wire.KindThroughput:
		return "one run in each"
	case wire.KindSaturate:
		of = "requests"
	case wire.KindStream:
		of = "messages"
	}
	for i := range m.Cells {
		if c := &m.Cells[i]; c.State == answers.Measured {
			most = max(most, c.N)
			if least < 0 || c.N < least {
				least = c.N
			}
		}
	}
	switch {
	case least < 0:
		return "n = 0 " + of
	case least == most:
		return fmt.Sprintf("n = %s %s in each", count(most), of)
	}
	return fmt.Sprintf("n = %s to %s %s in each", count(least), count(most), of)
}
