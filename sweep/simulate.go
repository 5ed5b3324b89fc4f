package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isochrone/sweep/compact"
	"isochrone/sweep/config"
	"isochrone/sweep/rollup"
	"isochrone/sweep/simulate"
)

func newSimulate(s *session) *cobra.Command {
	c := &simulating{session: s}
	var until, every, format string
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Fill an environment with history that a stated model makes up, to try things on",
		Long: `simulate makes up what the probers of a configuration would have measured in the weeks before --until, if
a stated model were the network, and stores it the way that measured documents go: documents, samples,
rows, newest runs and the ledger, then hours, profiles and the lake. Every row and file of it says that it is
simulated, and so does every answer that rests on one. Nothing is sent to anyone.

The model (docs/simulate.md): from each source to each target a floor from Microsoft's published round trips, or
from the distance; queues that follow the source's working day, in its own time zone, so that a day on which
clocks change shifts them by UTC; loss; one change of route in the middle of a week, one queue that stays,
and one prober that is away for two hours. --explain says which, where and when, and needs no storage
with --config: what an analysis finds can be held against it.

The configuration is that in the storage; or --config FILE, or five regions that come with this program,
either of which is pushed where the environment has none. Kinds http, load, saturate and stream are left out, and
what is due more often than --every is due once in that time: the sweeps are pinned to a configuration that says so.

The same configuration, --seed, --weeks, --until and --every give the same bytes. Made again it does what is left, and doubles
nothing: say --until as it was printed. A slot that has another plan is left as it is.

It refuses the environment prod, and one that has rows which were measured, unless --beside-measured is
given. A measured row is never replaced in either case.`,
		Example: `  sweep simulate --weeks 8 --seed 1
  sweep simulate --weeks 8 --dry-run
  sweep simulate --config sweep.yaml --explain --format json > truth.json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.flags(until, every); err != nil {
				return err
			}
			return c.run(cmd, format)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.weeks, "weeks", 8, "how many weeks")
	flags.StringVar(&until, "until", "", "their end, a time such as 2026-11-30 (default the last midnight UTC)")
	flags.Uint64Var(&c.seed, "seed", 1, "another seed is another history")
	flags.StringVar(&every, "every", "1h", "what is due more often is due once in this time: a part of an hour, or of a day; 0 keeps the schedules")
	flags.StringSliceVar(&c.only, "probe", nil, "only this probe; several with commas, or repeated")
	flags.StringVar(&c.file, "config", "", "the configuration, instead of the stored one")
	flags.BoolVar(&c.explain, "explain", false, "say what the model puts in, and store nothing")
	flags.BoolVar(&c.dry, "dry-run", false, "say how much it would be, and store nothing")
	flags.BoolVar(&c.beside, "beside-measured", false, "fill prod, or an environment that has measured rows, too")
	flags.BoolVar(&c.noRollup, "no-rollup", false, "leave hours and profiles to the app's Rollup")
	flags.BoolVar(&c.noCompact, "no-compact", false, "leave the lake to the app's Compact")
	completeFlag(cmd, "probe", localProbes)
	_ = cmd.RegisterFlagCompletionFunc("config", completeYAML)
	noFiles(cmd, "weeks", "until", "seed", "every")
	formatFlag(cmd, &format)
	return cmd
}

// simulating is one invocation of simulate.
type simulating struct {
	*session
	weeks                int
	until                time.Time
	every                time.Duration
	seed                 uint64
	only                 []string
	file                 string
	explain, dry, beside bool
	noRollup, noCompact  bool

	stores   *stores
	progress *progress
	text     []byte // the configuration
	push     bool   // the environment has none: it becomes its configuration
	config   *simulate.Derived
	model    *simulate.Model
}

const maxWeeks = 104

func (c *simulating) flags(until, every string) (err error) {
	if c.weeks < 1 || c.weeks > maxWeeks {
		return usage("", "--weeks %d: want 1 to %d", c.weeks, maxWeeks)
	}
	now := c.env.now().UTC()
	c.until = now.Truncate(24 * time.Hour)
	if until != "" {
		if c.until, err = parseTime(until); err != nil {
			return usage("", "--until %w", err)
		}
	}
	switch {
	case !c.until.Equal(c.until.Truncate(time.Minute)):
		return usage("", "--until %s is no whole minute", stamp(c.until))
	case c.until.After(now):
		return usage("", "--until %s lies in the future: history is what is over", stamp(c.until))
	}
	if c.every, err = time.ParseDuration(every); err != nil || c.every < 0 || !simulate.Divides(c.every) {
		return usage("", "--every %q: want a part of an hour, hours that divide a day, or 0", visible(every))
	}
	if c.explain && c.dry {
		return usage("", "--explain and --dry-run are two answers: give one of them")
	}
	return nil
}

func (c *simulating) run(cmd *cobra.Command, format string) error {
	if err := c.prepare(cmd); err != nil {
		return err
	}
	switch {
	case c.explain:
		return c.print(format, truthAnswer(&c.model.Truth))
	case c.dry:
		size, err := c.measure()
		if err != nil {
			return bad("", "%w", err)
		}
		return c.print(format, size.answer())
	}
	filled, err := c.fill(cmd.Context())
	if filled != nil {
		if failed := c.print(format, filled.answer()); err == nil {
			err = failed
		}
		if r := filled.report; err == nil && r.Left == r.Slots && r.Slots > 0 {
			err = bad("give the --seed, --weeks, --until, --every and --probe of before, or another --environment", "nothing was stored: every slot has another plan")
		}
	}
	return err
}

// prepare reads the configuration, makes the model, and sees that the environment may be filled.
func (c *simulating) prepare(cmd *cobra.Command) (err error) {
	environment, err := c.environmentName()
	stored := c.file == "" || !c.explain && !c.dry
	switch {
	case c.file != "" && !stored: // the file says which
	case err != nil:
		return err
	case environment == prodEnvironment && !c.beside && stored && !c.explain && !c.dry:
		return bad("give another --environment; who means it says --beside-measured", "environment %q is where real measurements go: nothing is made up there", environment)
	}
	ctx, cancel := c.deadline(cmd)
	defer cancel()
	if stored {
		if c.stores, err = c.open(); err != nil {
			return err
		}
		if err := c.reach(ctx, c.stores, blobs, rows); err != nil {
			return err
		}
	}
	if err := c.configure(ctx, environment); err != nil {
		return err
	}
	if c.model, err = simulate.New(c.config, c.until.AddDate(0, 0, -7*c.weeks), c.until, c.seed); err != nil {
		return bad("", "%w", err)
	}
	return nil
}

// prodEnvironment is the one that holds what people decide by.
const prodEnvironment = "prod"

// configure reads the configuration: a file, or what is stored, or what comes with this program.
func (c *simulating) configure(ctx context.Context, environment string) (err error) {
	var of *config.Config
	found := false
	name := "the configuration in the storage"
	if c.stores != nil {
		if c.text, found, err = c.stores.archive.Config(ctx); err != nil {
			return unreachable(err)
		}
	}
	switch {
	case c.file != "":
		if name, c.text, of, err = c.readConfig([]string{c.file}); err != nil {
			return err
		}
	case !found:
		c.text = simulate.Shipped(environment)
	}
	if of == nil {
		if of, err = config.Parse(c.text); err != nil {
			return unreachable(err)
		}
	}
	if c.stores != nil && of.Environment != c.stores.environment {
		return bad("nothing was stored; give the file of that environment, or another --environment", "%q is for environment %q, and the setting says %q", name, of.Environment, c.stores.environment)
	}
	c.push = !found
	return c.choose(of)
}

// choose makes the history's configuration of it.
func (c *simulating) choose(of *config.Config) (err error) {
	var names []string
	for _, p := range of.Probes {
		names = append(names, p.Name)
	}
	for _, p := range c.only {
		if !slices.Contains(names, p) {
			return usage("it has "+strings.Join(names, ", "), "--probe %q is not in the configuration", visible(p))
		}
	}
	if c.config, err = simulate.Derive(c.text, c.every, c.only); err != nil {
		return bad("", "simulating history of the configuration: %w", err)
	}
	return nil
}

// fill fills the store, and then makes of it what the app's timers make.
func (c *simulating) fill(ctx context.Context) (*filled, error) {
	if err := c.permit(ctx); err != nil {
		return nil, err
	}
	c.progress = c.session.progress()
	defer c.progress.clear()
	out := &filled{c: c}
	begun := c.env.now()
	lap := func(into *time.Duration) { *into, begun = c.env.now().Sub(begun), c.env.now() }
	filler := simulate.Filler{Model: c.model, Config: c.config, Archive: c.stores.archive, Rows: c.stores.tables, Ledger: c.stores.tables,
		Progress: func(r simulate.Report) {
			c.progress.say("%s %s of %s sweeps, %s, %s", gauge(float64(r.Done()), float64(r.Slots)), count(r.Done()), count(r.Slots), plural(r.Documents, "document", "documents"), plural(r.Rows, "row", "rows"))
		}}
	var err error
	out.report, err = filler.Run(ctx)
	lap(&out.filling)
	if err != nil {
		return out, unreachable(err)
	}
	if !c.noRollup {
		r := rollup.Roller{Hours: c.stores.tables, Profiles: c.stores.tables, Now: c.env.now, Log: slog.New(slog.DiscardHandler),
			Progress: func(r rollup.Report) {
				c.progress.say("hours: %s, %s written, profiles of %s", plural(r.Runs, "run", "runs"), plural(r.Written, "hour", "hours"), plural(r.Profiled, "source", "sources"))
			}}
		out.rolled, err = r.Run(ctx)
		lap(&out.rolling)
		if err != nil {
			return out, unreachable(err)
		}
	}
	if !c.noCompact {
		r := compact.Compactor{Lake: c.stores.archive, Marks: c.stores.tables, Now: c.env.now, Log: slog.New(slog.DiscardHandler),
			Progress: func(p compact.Progress) {
				c.progress.say("%s lake: day %s of %s, %s of %s", gauge(float64(p.Done), float64(p.Of)), count(p.Done+1), count(p.Of), p.Day.Day.Format(time.DateOnly), p.Day.Source)
			}}
		out.compacted, err = r.Run(ctx, compact.Scope{Apply: true})
		lap(&out.compacting)
		if err != nil {
			return out, unreachable(err)
		}
	}
	out.finished = true
	return out, nil
}

// permit refuses an environment that has measured rows, and pushes the configuration where there is none.
func (c *simulating) permit(ctx context.Context) error {
	if !c.beside {
		series, slot, found, err := c.stores.tables.FirstMeasured(ctx)
		if err != nil {
			return unreachable(err)
		}
		if found {
			return bad("give another --environment; who means it says --beside-measured, and no measured row is replaced", "environment %q has measured rows, such as %s at %s",
				c.stores.environment, visible(series.String()), stamp(slot))
		}
	}
	if err := c.stores.archive.Ensure(ctx); err != nil {
		return unreachable(err)
	}
	if err := c.stores.tables.Ensure(ctx, c.env.now()); err != nil {
		return unreachable(err)
	}
	if !c.push {
		return nil
	}
	if err := pushConfig(ctx, c.stores.archive, c.text); err != nil {
		return unreachable(err)
	}
	return nil
}
