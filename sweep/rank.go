package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/reply"
)

// rankFlags are what sweep rank was asked with, as it was written.
type rankFlags struct {
	from, path, probe, p95, throughput, since, until string
	km                                               float64
	same                                             bool
}

func newRank(s *session) *cobra.Command {
	var f rankFlags
	var format string
	cmd := &cobra.Command{
		Use:   "rank --from PROBER",
		Short: "Rank the regions in which a copy of a prober's data would do",
		Long: `rank holds every other prober of the path against what is asked for, and lists those that satisfy it
first, then those of which it is not known, then the others; each by its round trip.

  --min-km             the distance between the regions' places, great circle
  --p95-below          p95 of the round trip at the busiest hour of the day (UTC): that at which it is largest,
                       from the merged histograms of such hours, which need 200 round trips
  --throughput-above   throughput to the place: the 5 % quantile of the hours of the last 28 days from 20 measured
                       hours on, and their median below that; the column "of" says which
  --same-geography     Azure's geography must be the same, as data residency may ask

What nobody measured is "-", and does not satisfy. The exit code is 1 when no place satisfies.`,
		Example: `  sweep rank --from westeurope --min-km 500 --p95-below 30ms --throughput-above 1Gbps
  sweep rank --from westeurope --same-geography --format csv
  sweep rank --from westeurope --p95-below 30ms --format svg > places.svg`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(cmd.Flags().Changed("min-km"), s.env.now().UTC())
			if err != nil {
				return err
			}
			view, err := s.rank(cmd, q)
			if err != nil {
				return err
			}
			if err := s.print(format, view.answer()); err != nil {
				return err
			}
			return view.verdict()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the prober whose data is to be copied (required)")
	flags.StringVar(&f.path, "path", "", "over this path (default: that of the first probe that measures the round trip)")
	flags.StringVar(&f.probe, "probe", "", "round trips of this probe (default: the first that measures them over the path)")
	flags.Float64Var(&f.km, "min-km", 0, "least distance in km")
	flags.StringVar(&f.p95, "p95-below", "", "greatest p95 of the round trip at the busiest hour, such as 30ms")
	flags.StringVar(&f.throughput, "throughput-above", "", "least throughput, such as 1Gbps or 100MB/s")
	flags.BoolVar(&f.same, "same-geography", false, "only places of the same geography satisfy")
	flags.StringVar(&f.since, "since", "7d", "how far back round trips count: a duration such as 7d, or a time")
	flags.StringVar(&f.until, "until", "", "before this time (default: now)")
	completeFlag(cmd, "from", localProbers)
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "min-km", "p95-below", "throughput-above", "since", "until")
	drawnFormatFlag(cmd, &format)
	return cmd
}

// query checks what the flags say.
func (f *rankFlags) query(km bool, now time.Time) (q answers.RankQuery, err error) {
	q = answers.RankQuery{From: f.from, Path: f.path, Probe: f.probe, SameGeography: f.same}
	if f.from == "" {
		return q, usage("such as --from westeurope", "want --from")
	}
	if km {
		if !(f.km >= 0 && f.km <= 20_100) {
			return q, usage("", "--min-km %g: want kilometres, 0 to 20100", f.km)
		}
		q.MinKM = &f.km
	}
	if f.p95 != "" {
		d, err := time.ParseDuration(f.p95)
		if err != nil || d <= 0 {
			return q, usage("", "--p95-below %q: want a duration such as 30ms", f.p95)
		}
		us := float64(d) / float64(time.Microsecond)
		q.P95BelowUS = &us
	}
	if f.throughput != "" {
		bps, err := config.ParseRate(f.throughput)
		if err != nil {
			return q, usage("", "--throughput-above %w", err)
		}
		q.ThroughputBPS = &bps
	}
	q.Since, q.Until, err = times(f.since, f.until, now)
	return q, err
}

func (s *session) rank(cmd *cobra.Command, q answers.RankQuery) (view rankView, err error) {
	err = s.ask(cmd, func(ctx context.Context, st *stores, c *config.Config) error {
		if _, ok := c.Prober(q.From); !ok {
			return usage("its probers are "+strings.Join(proberIDs(c), ", "), "--from %q: the configuration of environment %q has no such prober", q.From, c.Environment)
		}
		if q.Path, q.Probe, err = roundTripOver(c, q.Path, q.Probe); err != nil {
			return err
		}
		q.Throughput, _ = answers.DefaultThroughput(c, q.Path)
		found, err := answers.ReadRank(ctx, st.tables, c, q, s.env.now())
		if err != nil {
			return unreachable(err)
		}
		view = rankView{reply.RankOf(st.environment, found, s.env.now())}
		return nil
	})
	return view, err
}

// rankView turns a ranking into the formats.
type rankView struct{ *reply.Rank }

func (v rankView) answer() answer {
	return answer{object: v.Rank, records: v.Regions, text: v.text, drawing: v.draw}
}

func (v rankView) satisfied() (n int) {
	for i := range v.Regions {
		if ok := v.Regions[i].Satisfies; ok != nil && *ok {
			n++
		}
	}
	return n
}

func (v rankView) verdict() error {
	if v.satisfied() == 0 {
		return bad("ask for less, or see sweep coverage for what was measured", "no place satisfies what is asked for")
	}
	return nil
}

func (v rankView) text(w *bytes.Buffer, st style) {
	made := ""
	if v.Simulated {
		made = ", simulated"
	}
	fmt.Fprintf(w, "places for a copy of %s over path %s, environment %s, %s to %s%s\n", v.From, v.Path, v.Environment, stamp(v.Since), stamp(v.Until), made)
	t := &table{columns: []column{left("place"), left("satisfies"), number("distance km"), left("geography"), number("p95 ms"), number("from"), number("to"), number("at (UTC)"), number("n"),
		number("throughput Mbit/s"), left("of"), number("hours"), left("why not")}}
	for i := range v.Regions {
		t.rows = append(t.rows, rankRow(&v.Regions[i]))
	}
	t.render(w, st)
	fmt.Fprintf(w, "\nn = %s, %s satisfy; p95 is of the hour of the day at which it is largest; from, to: its interval at 95 %%\n", plural(len(v.Regions), "place", "places"), count(v.satisfied()))
}

func rankRow(r *reply.RankedRegion) []cell {
	satisfies := cell{text: "not known", tone: subdued}
	if r.Satisfies != nil && *r.Satisfies {
		satisfies = cell{text: "yes"}
	} else if r.Satisfies != nil {
		satisfies = cell{text: "no", tone: alarm}
	}
	at := absent
	if r.BusiestHour != nil {
		at = fmt.Sprintf("%02d:00", *r.BusiestHour)
	}
	return []cell{{text: r.Target}, satisfies, {text: decimal(r.DistanceKM, 1, 0)}, {text: orAbsent(orEmpty(r.Geography))}, {text: milliseconds(r.P95US)}, {text: milliseconds(r.P95LowUS)}, {text: milliseconds(r.P95HighUS)},
		{text: at}, {text: count(r.N)}, {text: decimal(r.ThroughputBPS, 1e-6, 1)}, {text: orAbsent(orEmpty(r.ThroughputStatistic))}, {text: count(r.ThroughputHours)}, {text: orAbsent(strings.Join(r.WhyNot, "; "))}}
}
