package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"isochrone/infra/local/stack"
	"isochrone/infra/local/wan"
	"isochrone/prober/wire/account"
)

const (
	exitMissing = 1
	exitFailed  = 3
)

type options struct {
	once    bool
	root    string
	config  string
	wan     string
	history history
	patience
}

type patience struct{ start, sweep time.Duration }

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("local", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.once, "once", false, "end after one sweep; the exit code is 1 if a pair is missing, and 3 if the stack could not run")
	f.StringVar(&o.root, "root", ".", "the repository, where make build and make package put their results")
	f.StringVar(&o.config, "config", "infra/local/sweep.yaml", "the configuration to push, relative to the repository")
	f.StringVar(&o.wan, "wan", "infra/local/wan.yaml", "the wide-area network to emulate between the probers (Linux, with root), relative to the repository; none: they measure loopback itself, as they do where it is not permitted")
	f.Var(&o.history, "history", "fill the storage with simulated history of so many weeks, such as 8w, before anything is measured")
	f.DurationVar(&o.start, "start-timeout", time.Minute, "how long starting everything may take")
	f.DurationVar(&o.sweep, "sweep-timeout", 5*time.Minute, "how long the first sweep may take")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "local: unexpected argument %q (see -help)\n", f.Arg(0))
		return o, errors.New("usage")
	}
	return o, nil
}

type local struct {
	options
	environ        []string // of this process; the command line that is started gets it too
	stdout, stderr io.Writer
}

func (l local) say(format string, args ...any) { _, _ = fmt.Fprintf(l.stdout, format+"\n", args...) }

func (l local) fail(err error) int {
	_, _ = fmt.Fprintf(l.stderr, "local: %v\n", err)
	return exitFailed
}

func (l local) run(ctx context.Context) int {
	body, err := os.ReadFile(filepath.Join(l.root, l.config))
	if err != nil {
		return l.fail(fmt.Errorf("reading the configuration: %w", err))
	}
	if l.history > 0 {
		if body, err = historical(body); err != nil {
			return l.fail(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(l.root, ".local"), 0o700); err != nil {
		return l.fail(fmt.Errorf("making the folder for data and logs: %w", err))
	}
	dir, err := os.MkdirTemp(filepath.Join(l.root, ".local"), "run-")
	if err != nil {
		return l.fail(fmt.Errorf("making the folder for data and logs: %w", err))
	}
	hostLog, err := os.OpenFile(filepath.Join(dir, "functions.log"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return l.fail(fmt.Errorf("making the log of the Functions host: %w", err))
	}
	defer func() { _ = hostLog.Close() }()

	network, err := l.network()
	if err != nil {
		return l.fail(err)
	}
	began := time.Now()
	starting, cancel := context.WithTimeout(ctx, l.start+l.history.patience())
	s, err := stack.Start(starting, stack.Options{
		Root:           l.root,
		Dir:            dir,
		Prober:         filepath.Join(l.root, "bin", "prober"),
		AppDir:         filepath.Join(l.root, "dist", "app"),
		Config:         body,
		Network:        network,
		NetworkName:    l.wan,
		NetworkLog:     l.stderr,
		Stored:         l.fill(began),
		SweepSchedule:  "0 * * * * *",
		IngestSchedule: "*/5 * * * * *",
		RollupSchedule: "30 * * * * *", // the dashboard of a stack that has just begun has hours to show
		Poll:           time.Second,
		Heartbeat:      5 * time.Second,
		Log:            slog.New(slog.NewJSONHandler(hostLog, nil)),
		Report:         func(what string) { l.say("%5.1fs  %s", time.Since(began).Seconds(), what) },
	})
	cancel()
	if err != nil && ctx.Err() != nil { // Ctrl-C while it started
		l.say("stopping")
		if err := l.forget(dir); err != nil {
			return l.fail(err)
		}
		return 0
	}
	if err != nil {
		return l.fail(fmt.Errorf("%w\nlogs are in %s", err, dir))
	}
	code := l.use(ctx, s, dir, began)
	l.say("stopping")
	if err := s.Stop(); err != nil {
		code = l.fail(err)
	}
	if code != 0 {
		l.say("logs are in %s", dir)
		return code
	}
	if err := l.forget(dir); err != nil {
		return l.fail(err)
	}
	return 0
}

// network reads the description of the network to emulate. Where that is not permitted, it says so,
// and there is none.
func (l local) network() ([]byte, error) {
	if l.wan == "none" {
		return nil, nil
	}
	if err := wan.Permitted(); err != nil {
		l.say("No emulated wide-area network: %v.\nThe probers measure this machine's loopback interface itself.", err)
		return nil, nil
	}
	body, err := os.ReadFile(filepath.Join(l.root, l.wan))
	if err != nil {
		return nil, fmt.Errorf("reading the description of the network: %w", err)
	}
	return body, nil
}

// use makes one sweep, shows what came of it, and stays until ctx ends unless it is to run once.
func (l local) use(ctx context.Context, s *stack.Stack, dir string, began time.Time) int {
	if err := l.writeEnv(s, dir); err != nil {
		return l.fail(err)
	}
	l.awaitMinute(ctx, began)
	sweeping, cancel := context.WithTimeout(ctx, l.sweep)
	defer cancel()
	outcome, err := s.Sweep(sweeping, l.progress(began))
	if ctx.Err() != nil {
		return 0 // Ctrl-C while the first sweep ran
	}
	if err != nil {
		return l.fail(err)
	}
	l.say("")
	if err := l.matrix(ctx, s); err != nil {
		return l.fail(err)
	}
	if err := l.summary(ctx, s, outcome, dir); err != nil {
		return l.fail(err)
	}
	if l.once {
		if len(outcome.Missing) > 0 {
			l.say("%d of %d planned runs have no result, the first is %s", len(outcome.Missing), outcome.Planned, outcome.Missing[0])
			return exitMissing
		}
		return 0
	}
	l.say("\nA sweep runs every minute. Ctrl-C stops everything.")
	f := follower{local: l, stack: s, first: outcome.Slot, told: map[time.Time]bool{outcome.Slot: true}}
	return f.run(ctx)
}

// awaitMinute waits for the next minute when little is left of this one: the sweep that is due
// then would come between this one and its matrix, which would show some of both.
func (l local) awaitMinute(ctx context.Context, began time.Time) {
	const enough = 20 * time.Second
	left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))
	if left >= enough {
		return
	}
	l.say("%5.1fs  waiting %.0f s for the next minute, so that no other sweep comes between", time.Since(began).Seconds(), left.Seconds())
	select {
	case <-ctx.Done():
	case <-time.After(left + 100*time.Millisecond):
	}
}

// progress shows one line that is rewritten on a terminal, and a line a change elsewhere.
func (l local) progress(began time.Time) func(stack.Progress) {
	f, isFile := l.stdout.(*os.File)
	rewrite := isFile && term.IsTerminal(int(f.Fd()))
	return func(p stack.Progress) {
		what := "asked for a sweep"
		if !p.Slot.IsZero() {
			what = fmt.Sprintf("sweep %s  %d assignments: %d taken, %d measured, %d delivered, %d converted",
				p.Slot.Format("2006-01-02 15:04Z"), p.Planned, p.Taken, p.Finished, p.Delivered, p.Converted)
			if p.Expired > 0 {
				what += fmt.Sprintf(", %d expired", p.Expired)
			}
		}
		line := fmt.Sprintf("%5.1fs  %s", time.Since(began).Seconds(), what)
		switch {
		case !rewrite:
			l.say("%s", line)
		case p.Planned > 0 && p.Converted+p.Expired == p.Planned:
			l.say("\r\x1b[K%s", line)
		default:
			_, _ = fmt.Fprintf(l.stdout, "\r\x1b[K%s", line)
		}
	}
}

// matrix shows the matrix with the command that a user has for it.
func (l local) matrix(ctx context.Context, s *stack.Stack) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, probe := range s.Config.Probes {
		cmd := exec.CommandContext(ctx, filepath.Join(l.root, "bin", "sweep"), "matrix", "--probe", probe.Name)
		cmd.Env = append(slices.Clone(l.environ), l.settings(s)...)
		cmd.Stdout, cmd.Stderr = l.stdout, l.stderr
		l.say("$ bin/sweep matrix --probe %s", probe.Name)
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitMissing {
			err = nil // a pair is missing: the matrix shows it, and the outcome says it
		}
		if err != nil {
			return fmt.Errorf("showing the matrix: %w", err)
		}
		l.say("")
	}
	return nil
}

func (l local) settings(s *stack.Stack) []string {
	return []string{
		account.EnvEnvironment + "=" + s.Environment(),
		account.EnvConnectionString + "=" + s.Account().ConnectionString,
	}
}

// summary says what is stored of the sweep, where, and how to ask for it.
func (l local) summary(ctx context.Context, s *stack.Stack, o stack.Outcome, dir string) error {
	documents, samples, err := s.Archived(ctx, o.Slot)
	if err != nil {
		return fmt.Errorf("counting what is stored: %w", err)
	}
	env := s.Environment()
	l.say("Stored for slot %s:", o.Slot.Format("2006-01-02 15:04Z"))
	l.say("%8d rows, %d with a failure code, in table runs%s%s", o.Rows, o.Failed, env, o.Slot.Format("200601"))
	l.say("%8d samples as Parquet in container raw-%s, folder samples", samples, env)
	l.say("%8d documents as they came, in container raw-%s, folder documents", documents, env)
	l.say("Tables are at %s, blobs at %s.", s.Azurite.TableURL, s.Azurite.BlobURL)
	if l.once {
		l.say("Without ONCE=1 the stack keeps running, to be queried; now it is taken down, data and all.")
		return nil
	}
	l.say("\nTo query, in another terminal in this folder:\n")
	l.say("    . .local/env")
	l.say("    bin/sweep runs --source westeurope --since 1h")
	l.say("    bin/sweep status")
	l.say("\nThe dashboard, with the key of the function Query behind the #:\n")
	l.say("    %s", dashboardURL(s))
	if s.WAN != nil {
		l.say("\nWhat the emulated network did to the packets of each link:\n")
		l.say("    curl -sS --abstract-unix-socket %s http://wan/links", strings.TrimPrefix(s.WAN.Socket, "@"))
	}
	l.say("\nLogs and data are in %s while it runs.", dir)
	return nil
}

// dashboardURL is where a browser finds the page. What stands behind the # never leaves the browser: the page sends the
// key with its questions.
func dashboardURL(s *stack.Stack) string {
	return s.Host.URL() + "/api/dashboard#code=" + url.QueryEscape(s.Host.FunctionKey("Query"))
}

// writeEnv leaves the settings of this stack where the README says. A second stack takes the
// name over; each keeps its own copy among its logs.
func (l local) writeEnv(s *stack.Stack, dir string) error {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "# Settings of the local stack with process id %d.\n", os.Getpid())
	for _, setting := range append(l.settings(s),
		"ISOCHRONE_RESULTS_URL="+s.Host.URL()+"/api/results",
		"ISOCHRONE_RESULTS_KEY="+s.Host.FunctionKey("Results"),
		"ISOCHRONE_QUERY_URL="+s.Host.URL()+"/api/query",
		"ISOCHRONE_QUERY_KEY="+s.Host.FunctionKey("Query")) {
		name, value, _ := strings.Cut(setting, "=")
		_, _ = fmt.Fprintf(&b, "export %s='%s'\n", name, value)
	}
	for _, name := range []string{filepath.Join(dir, "env"), filepath.Join(l.root, ".local", "env")} {
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			return fmt.Errorf("writing the settings: %w", err)
		}
	}
	return nil
}

// forget removes what only a running stack needs. The settings go only if they are still ours.
func (l local) forget(dir string) error {
	shared := filepath.Join(l.root, ".local", "env")
	ours, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the settings: %w", err)
	}
	if now, err := os.ReadFile(shared); err == nil && string(now) == string(ours) {
		if err := os.Remove(shared); err != nil {
			return fmt.Errorf("removing the settings: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing data and logs: %w", err)
	}
	return nil
}
