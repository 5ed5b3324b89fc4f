package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/answers"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// seriesFlags say which series of a pair is meant, and over what time.
type seriesFlags struct {
	path, probe, since, until string
	lake                      bool
}

func (f *seriesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.path, "path", "", "over this path (default: the first that the configuration has for the pair)")
	flags.StringVar(&f.probe, "probe", "", "of this probe (default: the first that the configuration has for the pair); those of foreign documents begin with ext.")
	flags.StringVar(&f.since, "since", "28d", "how far back: a duration such as 24h, 28d, or a time")
	flags.StringVar(&f.until, "until", "", "before this time (default: now)")
	flags.BoolVar(&f.lake, "lake", false, "from the samples in the lake, in the place of the hours that rollup made")
	completeFlag(cmd, "path", localPaths)
	completeFlag(cmd, "probe", localProbes)
	noFiles(cmd, "since", "until")
}

// hours is where the hours come from, and what is to be said of it after the answer.
func (f *seriesFlags) hours(s *session, st *stores) (from answers.HourRows, told func()) {
	if !f.lake {
		return st.tables, func() {}
	}
	lake := &answers.LakeHours{From: st.archive}
	return lake, func() {
		r := &lake.Read
		s.warn("read %s of %s bytes of %s: %s of %s row groups", count(r.Read), count(r.Size), plural(r.Files, "lake file", "lake files"), count(r.Groups), count(r.Of))
	}
}

// completePair offers the probers for the first argument, and the targets for the second.
func completePair(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return localProbers(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return localTargets(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// pairArgs is cobra.ExactArgs(2) with a remedy.
func pairArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usage("name the source and the target, such as: sweep "+cmd.Name()+" westeurope eastus", "%d arguments: want 2", len(args))
	}
	return nil
}

// checkNames holds that what will become parts of keys are names.
func checkNames(source, target, path, probe string) error {
	for _, f := range []struct{ flag, name string }{{"source", source}, {"target", target}, {"path", path}, {"probe", strings.TrimPrefix(probe, wire.ForeignPrefix)}} {
		if f.name == "" {
			continue
		}
		if err := wire.ValidateName(f.flag, f.name); err != nil {
			return usage("", "%s: %w", f.flag, err)
		}
	}
	return nil
}

// times reads --since and --until. An hour belongs to the window as a whole.
func times(since, until string, now time.Time) (from, to time.Time, err error) {
	if from, err = parseSince(since, now); err != nil {
		return from, to, usage("", "--since %w", err)
	}
	from, to = from.Truncate(time.Hour), now
	if until != "" {
		if to, err = parseTime(until); err != nil {
			return from, to, usage("", "--until %w", err)
		}
	}
	if !from.Before(to) {
		return from, to, usage("", "--since %s is not before --until %s", stamp(from), stamp(to))
	}
	return from, to, nil
}

// query completes the flags for a pair. Path and probe, where one is not given, are the first of the configuration
// that measure the pair; given, they are taken as they are: history outlives configurations.
func (f *seriesFlags) query(c *config.Config, source, target string, now time.Time) (q answers.SeriesQuery, err error) {
	if err := checkNames(source, target, f.path, f.probe); err != nil {
		return q, err
	}
	q = answers.SeriesQuery{Source: source, Target: target, Path: f.path, Probe: f.probe}
	if q.Since, q.Until, err = times(f.since, f.until, now); err != nil {
		return q, err
	}
	if q.Path != "" && q.Probe != "" {
		return q, nil
	}
	var has []string
	for i := range c.Probes {
		p := &c.Probes[i]
		for _, pair := range c.Pairs(p) {
			if pair.Source != source || pair.Target != target {
				continue
			}
			if (f.path == "" || f.path == pair.Path) && (f.probe == "" || f.probe == p.Name) {
				q.Path, q.Probe = pair.Path, p.Name
				return q, nil
			}
			has = append(has, p.Name+" over "+pair.Path)
		}
	}
	if len(has) > 0 {
		return q, usage("its probes are "+strings.Join(has, ", "), "the configuration of environment %q measures %s to %s with no probe over a path that fits", c.Environment, source, target)
	}
	if hints := unknownNames(c, tables.RunQuery{Source: source, Target: target}); len(hints) > 0 {
		return q, usage("", "%s", strings.ReplaceAll(hints[0], "--", ""))
	}
	return q, usage("give --path and --probe to ask for what was measured before", "the configuration of environment %q does not measure %s to %s", c.Environment, source, target)
}

// history opens the storage and reads the configuration.
func (s *session) history(ctx context.Context) (*stores, *config.Config, error) {
	st, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	if err := s.reach(ctx, st, blobs, rows); err != nil {
		return nil, nil, err
	}
	c, err := answers.ReadConfig(ctx, st.archive, st.environment)
	if err != nil {
		return nil, nil, unreachable(err)
	}
	return st, c, nil
}

// sourcesOf are the probers of a configuration, by id.
func sourcesOf(c *config.Config) (ids []string) {
	for _, p := range c.Probers {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return ids
}
