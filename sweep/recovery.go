package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/reply"
)

// recoveryFlags are what sweep recovery was asked with, as it was written.
type recoveryFlags struct {
	path, probe, change, size, window, outage, tcpWindow, since, until string
}

func newRecovery(s *session) *cobra.Command {
	var f recoveryFlags
	var format string
	cmd := &cobra.Command{
		Use:   "recovery SOURCE TARGET",
		Short: "Say what copying data from one prober's region to another's would be like",
		Long: `recovery reckons, from the hours of the last 28 days, how far behind a copy of the source's data at the
target would be, when data changes at --change-rate:

  RPO          the age of the oldest change that the target has not acknowledged, at worst in a usual day: a
               round trip (p99), and the wait for the line where it carries less than the changes for a while
  sustained    whether the line carries the changes at the 5 % quantile of its hourly throughput
  commit       what a synchronous commit waits for: a round trip, median and p99
  catch-up     how long after --outage the backlog is gone, at that 5 % quantile
  seed         how long a copy of --size takes, by the hour of the day (UTC) at which it begins, at the median
               throughput of such hours; and whether that is within --window
  ceiling      what one TCP connection can carry, whatever the line: --tcp-window a median round trip

Throughput is what the probes measured beside everything else on the line, payload, in hours that they ran in.
The 5 % quantile needs 20 such hours; what rests on fewer is "-". docs/recovery.md has the definitions.

Rates are in bytes (20MB/s decimal, 20MiB/s binary) or bits (1Gbps, 200Mbit/s), sizes in bytes (2TB, 2TiB).
The exit code is 1 when the line does not sustain the changes, or when that cannot be told.`,
		Example: `  sweep recovery westeurope northeurope --change-rate 20MB/s --size 2TB
  sweep recovery westeurope eastus --change-rate 200Mbit/s --size 500GB --window 2h --outage 1h --format json
  sweep recovery westeurope northeurope --change-rate 20MB/s --size 2TB --format svg > recovery.svg`,
		Args:              pairArgs,
		ValidArgsFunction: completePair,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(args[0], args[1], s.env.now().UTC())
			if err != nil {
				return err
			}
			found, environment, err := s.recovery(cmd, q)
			if err != nil {
				return err
			}
			view := recoveryView{reply.RecoveryOf(environment, found, s.env.now())}
			if err := s.print(format, view.answer()); err != nil {
				return err
			}
			return view.verdict()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.path, "path", "", "over this path (default: that of the first probe that measures the round trip)")
	flags.StringVar(&f.probe, "probe", "", "round trips of this probe (default: the first that measures them over the path)")
	flags.StringVar(&f.change, "change-rate", "", "at which data changes at the source, such as 20MB/s (required)")
	flags.StringVar(&f.size, "size", "", "what a seed or a backup copies, such as 2TB (required)")
	flags.StringVar(&f.window, "window", "4h", "time in which that must be done")
	flags.StringVar(&f.outage, "outage", "30m", "how long the line is away")
	flags.StringVar(&f.tcpWindow, "tcp-window", answers.DefaultTCPWindow, "what one connection may have under way")
	flags.StringVar(&f.since, "since", "28d", "how far back: a duration such as 7d, or a time")
	flags.StringVar(&f.until, "until", "", "before this time (default: now)")
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "change-rate", "size", "window", "outage", "tcp-window", "since", "until")
	drawnFormatFlag(cmd, &format)
	return cmd
}

// query checks what the flags say.
func (f *recoveryFlags) query(source, target string, now time.Time) (q answers.RecoveryQuery, err error) {
	q = answers.RecoveryQuery{Source: source, Target: target, Path: f.path, Probe: f.probe}
	if source == target {
		return q, usage("", "%q is both source and target", source)
	}
	if f.change == "" || f.size == "" {
		return q, usage("such as --change-rate 20MB/s --size 2TB", "want --change-rate and --size")
	}
	if q.ChangeBPS, err = config.ParseRate(f.change); err != nil {
		return q, usage("", "--change-rate %w", err)
	}
	if q.SizeBytes, err = config.ParseSize(f.size); err != nil {
		return q, usage("", "--size %w", err)
	}
	if q.TCPWindowBytes, err = config.ParseSize(f.tcpWindow); err != nil {
		return q, usage("", "--tcp-window %w", err)
	}
	for _, d := range []struct {
		flag, text string
		into       *time.Duration
	}{{"window", f.window, &q.Window}, {"outage", f.outage, &q.Outage}} {
		since, err := parseSince(d.text, now)
		if _, isTime := parseTime(d.text); err != nil || isTime == nil {
			return q, usage("", "--%s %q: want a duration such as 30m, 4h or 2d", d.flag, d.text)
		}
		*d.into = now.Sub(since)
	}
	q.Since, q.Until, err = times(f.since, f.until, now)
	return q, err
}

// recovery reads the answer.
func (s *session) recovery(cmd *cobra.Command, q answers.RecoveryQuery) (found *answers.Recovery, environment string, err error) {
	err = s.ask(cmd, func(ctx context.Context, st *stores, c *config.Config) error {
		environment = st.environment
		if q.Path, q.Probe, err = roundTripOver(c, q.Path, q.Probe); err != nil {
			return err
		}
		if err := measures(c, q.Probe, config.Pair{Source: q.Source, Target: q.Target, Path: q.Path}); err != nil {
			return err
		}
		q.Throughput, _ = answers.DefaultThroughput(c, q.Path)
		if found, err = answers.ReadRecovery(ctx, st.tables, q, s.env.now()); err != nil {
			return unreachable(err)
		}
		return nil
	})
	return found, environment, err
}

// ask opens the stores, reads the configuration, and asks.
func (s *session) ask(cmd *cobra.Command, of func(ctx context.Context, st *stores, c *config.Config) error) error {
	st, err := s.open()
	if err != nil {
		return err
	}
	ctx, cancel := s.deadline(cmd)
	defer cancel()
	if err := s.reach(ctx, st, blobs, rows); err != nil {
		return err
	}
	c, err := answers.ReadConfig(ctx, st.archive, st.environment)
	if err != nil {
		return unreachable(err)
	}
	return of(ctx, st, c)
}

// roundTripOver is the path and the probe that are asked about; empty stands for those that measure the round trip.
func roundTripOver(c *config.Config, path, probe string) (string, string, error) {
	switch {
	case path == "" && probe == "":
		path, probe = answers.Default(c)
	case probe == "":
		probe, _ = answers.DefaultProbe(c, path)
	}
	asked, err := combinations(c, path, probe)
	if err != nil {
		return "", "", err
	}
	return asked[0].path, asked[0].probe, nil
}

// measures says what is wrong with asking about a pair that the probe does not measure.
func measures(c *config.Config, probe string, pair config.Pair) error {
	for i := range c.Probes {
		if p := &c.Probes[i]; p.Name == probe {
			pairs := c.Pairs(p)
			if slices.Contains(pairs, pair) {
				return nil
			}
			var targets []string
			for _, of := range pairs {
				if of.Source == pair.Source && of.Path == pair.Path {
					targets = append(targets, of.Target)
				}
			}
			remedy := "the probers are " + strings.Join(proberIDs(c), ", ")
			if len(targets) > 0 {
				remedy = "from " + pair.Source + " it measures " + strings.Join(targets, ", ")
			}
			return usage(remedy, "probe %q does not measure from %q to %q over path %q", probe, pair.Source, pair.Target, pair.Path)
		}
	}
	return usage("", "the configuration has no probe %q", probe)
}

func proberIDs(c *config.Config) (ids []string) {
	for _, p := range c.Probers {
		ids = append(ids, p.ID)
	}
	return ids
}
