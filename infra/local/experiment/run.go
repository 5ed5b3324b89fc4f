package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/config"
)

// Options are how an experiment is run.
type Options struct {
	Root    string   // the repository, where make build and make package put their results
	Dir     string   // for data and logs; it must exist
	Environ []string // of the questions that are asked
	// Write puts what comes of it into the experiment's README.
	Write          bool
	Stdout, Stderr io.Writer
	Progress       func(stack.Progress) // of each sweep
}

func (o Options) say(format string, args ...any) { _, _ = fmt.Fprintf(o.Stdout, format+"\n", args...) }

// startTimeout bounds the start of the stack.
const startTimeout = time.Minute

// Run starts a stack, sweeps until all of the experiment's probes are through, prints what came of it
// beside what people found, and stops everything. The error says which runs gave no result.
func (e Experiment) Run(ctx context.Context, o Options) (err error) {
	if err := wan.Permitted(); err != nil {
		return fmt.Errorf("running experiment %q: %w", e.Name, err)
	}
	body, err := os.ReadFile(filepath.Join(o.Root, e.file(configFile)))
	if err != nil {
		return fmt.Errorf("reading the experiment's configuration: %w", err)
	}
	hostLog, err := os.OpenFile(filepath.Join(o.Dir, "functions.log"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("making the log of the Functions host: %w", err)
	}
	defer func() { _ = hostLog.Close() }()
	s, err := e.start(ctx, o, body, hostLog)
	if err != nil {
		return err
	}
	defer func() {
		o.say("stopping")
		err = errors.Join(err, s.Stop())
	}()
	r := &Results{Stack: s}
	var missing []wire.Series
	var last time.Time
	for i, names := range e.Phases {
		o.say("\nsweep %d of %d: %s", i+1, len(e.Phases), strings.Join(names, ", "))
		outcome, err := e.sweep(ctx, o, s, body, names, last)
		if err != nil {
			return err
		}
		last = outcome.Slot
		missing = append(missing, outcome.Missing...)
		if err := r.collect(ctx, outcome.Slot); err != nil {
			return err
		}
	}
	tables, err := e.Tables(ctx, r)
	if err != nil {
		return err
	}
	text := markdown(tables)
	o.say("\n%s", text)
	for _, m := range missing {
		err = errors.Join(err, fmt.Errorf("run %s gave no result%s", m, r.reason(m)))
	}
	if err == nil && o.Write {
		err = writeMeasured(filepath.Join(o.Root, e.file(readmeFile)), text)
	}
	for _, q := range e.Questions {
		err = errors.Join(err, o.ask(ctx, s, q))
	}
	return err
}

func (e Experiment) start(ctx context.Context, o Options, body []byte, hostLog io.Writer) (*stack.Stack, error) {
	network, err := os.ReadFile(filepath.Join(o.Root, e.file(networkFile)))
	if err != nil {
		return nil, fmt.Errorf("reading the experiment's network: %w", err)
	}
	began := time.Now()
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return stack.Start(starting, stack.Options{
		Root: o.Root, Dir: o.Dir, Prober: filepath.Join(o.Root, "bin", "prober"), AppDir: filepath.Join(o.Root, "dist", "app"),
		Config: body, Network: network, NetworkName: e.file(networkFile), NetworkLog: o.Stderr, Awake: e.Awake,
		Services: e.Services, Machines: e.Machines,
		SweepSchedule:  "0 0 0 1 1 *", // it is fired by hand
		IngestSchedule: "*/5 * * * * *",
		Poll:           time.Second, Heartbeat: 5 * time.Second,
		Log:    slog.New(slog.NewJSONHandler(hostLog, nil)),
		Report: func(what string) { o.say("%5.1fs  %s", time.Since(began).Seconds(), what) },
	})
}

// enough is how much of a minute has to be left for a sweep to be planned in it.
const enough = 15 * time.Second

// sweep makes the named probes due now, and follows the sweep to its end. A minute has one sweep: the
// last one's is taken.
func (e Experiment) sweep(ctx context.Context, o Options, s *stack.Stack, body []byte, names []string, last time.Time) (stack.Outcome, error) {
	slot := wire.Slot(time.Now())
	if left := time.Until(slot.Add(time.Minute)); left < enough || slot.Equal(last) {
		o.say("waiting %.0f s for the next minute", left.Seconds())
		select {
		case <-ctx.Done():
			return stack.Outcome{}, ctx.Err()
		case <-time.After(left + 100*time.Millisecond):
		}
		slot = wire.Slot(time.Now())
	}
	due, err := dueAt(body, names, slot)
	if err != nil {
		return stack.Outcome{}, err
	}
	if err := s.Configure(ctx, due); err != nil {
		return stack.Outcome{}, err
	}
	o.say("measuring takes up to %s", longest(s.Config, names).Round(time.Second))
	return s.Sweep(ctx, o.Progress)
}

// longest is how long the runs of the probes may take: those that load the network one after the
// other, with some time between, the others at the same time.
func longest(c *config.Config, names []string) time.Duration {
	var one, all time.Duration
	for _, p := range c.Probes {
		switch {
		case !slices.Contains(names, p.Name):
		case p.Spec.Kind.IsBulk():
			all += (p.Spec.Span() + 2*config.BulkGuard) * time.Duration(len(c.Pairs(&p)))
		default:
			one = max(one, p.Spec.Span())
		}
	}
	return one + all
}

// ask asks a question with the command that a user has for it. An answer that is bad (exit code 1) is
// an answer.
func (o Options) ask(ctx context.Context, s *stack.Stack, question []string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(o.Root, "bin", "sweep"), question...)
	cmd.Env = append(slices.Clone(o.Environ), account.EnvEnvironment+"="+s.Environment(), account.EnvConnectionString+"="+s.Account().ConnectionString)
	cmd.Stdout, cmd.Stderr = o.Stdout, o.Stderr
	o.say("\n$ bin/sweep %s", strings.Join(question, " "))
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking bin/sweep %s: %w", strings.Join(question, " "), err)
	}
	return nil
}
