package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

// bulkFlags are those that saturate and stream have in common.
type bulkFlags struct {
	keyFile      string
	maxBytes     int64
	timeout      time.Duration
	only4, only6 bool
	json, xml    bool
	quiet        bool
}

// register registers the flags after the command's own.
func (f *bulkFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key that it shares with the target's \"prober reflect\"")
	flags.Var(byteCount{&f.maxBytes}, "max-bytes", "payload after which it stops, such as 500MB or 2GiB")
	flags.Var(span{&f.timeout}, "timeout", "how long nothing may happen")
	flags.BoolVarP(&f.only4, "ipv4", "4", false, "measure an IPv4 address of the name")
	flags.BoolVarP(&f.only6, "ipv6", "6", false, "measure an IPv6 address of the name")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.BoolVar(&f.xml, "xml", false, "print XML")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the figures alone, nothing while it measures")
	cmd.Flags().SortFlags = false
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// defaultBudget is the payload that a run may move unless a person says otherwise.
const defaultBudget = 1_000_000_000

func defaultBulkFlags() bulkFlags {
	return bulkFlags{maxBytes: defaultBudget, timeout: 10 * time.Second}
}

// check looks for flags that exclude each other, or are missing.
func (f *bulkFlags) check(name string) error {
	switch {
	case f.only4 && f.only6:
		return usage("give one of -4 and -6", "--ipv4 and --ipv6 exclude each other")
	case f.json && f.xml:
		return usage("give one of --json and --xml", "--json and --xml exclude each other")
	case f.keyFile == "":
		return usage("start \"prober reflect --key-file FILE\" there and give the same key here", "%s needs --key-file: only a reflector that knows the key is its other end", name)
	}
	return nil
}

// oneTarget is a cobra.Command's Args.
func oneTarget(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("see: prober help "+cmd.Name(), "%s takes one target, and has %d", cmd.Name(), len(args))
	}
	return nil
}

// bulkRun is one run that was asked for.
type bulkRun struct {
	flags    *bulkFlags
	target   target
	spec     wire.Spec
	secret   []byte
	warning  string
	document func(report.Input) figures
	progress func(probe.Progress) string // how far it is, in words
}

// planBulk turns a command line into a run. The spec's budget and timeout are the flags'.
func planBulk(text string, spec wire.Spec, f *bulkFlags) (*bulkRun, error) {
	if err := f.check(string(spec.Kind)); err != nil {
		return nil, err
	}
	spec.Timeout, spec.Bulk.MaxBytes = f.timeout, f.maxBytes
	if err := spec.Validate(); err != nil {
		return nil, usage("see: prober help "+string(spec.Kind), "%w", err)
	}
	if took := spec.Span() + sessionMargin; took > sharedSession {
		return nil, usage("measure in several runs", "the run takes up to %s: want at most %s, as a session with a shared key lasts %s", spec.Span().Round(time.Second), sharedSession-sessionMargin, sharedSession)
	}
	r := &bulkRun{flags: f, spec: spec}
	var err error
	if r.target, err = reflectorTarget(text, spec.Kind); err != nil {
		return nil, err
	}
	r.secret, r.warning, err = readKeyFile(f.keyFile)
	return r, err
}

// make resolves, measures and prints.
func (r *bulkRun) make(ctx context.Context, t *terminal) error {
	network := "ip"
	switch {
	case r.flags.only4:
		network = "ip4"
	case r.flags.only6:
		network = "ip6"
	}
	address, err := r.target.resolve(ctx, network, broadcasts())
	if err != nil {
		return err
	}
	req, err := r.request(address, time.Now())
	if err != nil {
		return err
	}
	if r.warning != "" {
		say(t.stderr, "prober: %s", r.warning)
	}
	live := newBulkDisplay(r, t)
	say(live.out, "%s to %s: %s", r.spec.Kind, report.Visible(labelOf(r.target.given, address)), report.DescribeBulk(r.spec))
	before := readCPUTimes()
	req.Progress = live.observe
	live.start()
	run := probe.New(probe.NewPacer(max(runtime.GOMAXPROCS(0)-1, 1))).Make(ctx, req)
	live.finish()
	d := r.document(report.Input{
		Target: r.target.given, Spec: r.spec, Run: run, Interrupted: ctx.Err() != nil,
		Provenance: wire.Provenance{ProberVersion: version, ClockErrorNS: clockErrorNS(), CPUStealRatio: stealSince(before, readCPUTimes())},
	})
	if err := printFigures(t, r.flags.json, r.flags.xml, d); err != nil {
		return err
	}
	if run.Failure != "" {
		t.code = exitFailed
		text := "nothing was moved"
		if remedy := report.Remedy(run.Kind, run.Failure, true); remedy != "" {
			text += ": " + remedy
		}
		say(t.stderr, "prober: %s", text)
	}
	return nil
}

func (r *bulkRun) request(address string, now time.Time) (probe.Request, error) {
	id, key, err := wire.SharedSession(r.secret, now, r.spec.RequestBytes, r.spec.ResponseBytes)
	if err != nil {
		return probe.Request{}, failed("", "%w", err)
	}
	return probe.Request{
		Target: "target", Path: "public", Spec: r.spec, Address: address, Session: id, Key: key,
		PlannedStart: now, First: now, Deadline: now.Add(r.spec.Span() + openingBound),
	}, nil
}

// bulkDisplay shows how far a run is: a bar on a terminal, a line from time to time elsewhere.
type bulkDisplay struct {
	run   *bulkRun
	out   io.Writer
	bar   bool
	every time.Duration

	mu     sync.Mutex
	shown  time.Time
	clear  int // characters of the bar that stands there
	heard  bool
	opened *time.Timer
}

func newBulkDisplay(r *bulkRun, t *terminal) *bulkDisplay {
	l := &bulkDisplay{run: r, out: t.stdout, every: noteEvery, shown: time.Now()}
	if r.flags.json || r.flags.xml {
		l.out = t.stderr
	}
	if r.flags.quiet {
		l.out = io.Discard
	}
	if l.bar = isTerminal(l.out); l.bar {
		l.every = barEvery
	}
	return l
}

// start says, after a while, where nothing has happened yet.
func (l *bulkDisplay) start() {
	l.opened = time.AfterFunc(openingNote, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.heard {
			say(l.out, "opening the session: no answer yet")
		}
	})
}

// observe is told by the run, some times a second.
func (l *bulkDisplay) observe(p probe.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = true
	if time.Since(l.shown) < l.every {
		return
	}
	l.shown = time.Now()
	part := 0.0
	if p.Of > 0 {
		part = min(float64(p.Elapsed)/float64(p.Of), 1)
	}
	words := l.run.progress(p)
	if !l.bar {
		say(l.out, "%3.0f %%, after %s: %s", part*100, p.Elapsed.Round(time.Second), words)
		return
	}
	width := max(min(barWidth(columns(l.out)), 20), 0)
	text := fmt.Sprintf("[%-*s] %3.0f %%, %s", width, strings.Repeat("#", int(part*float64(width))), part*100, words)
	if c := columns(l.out); c > 0 && len(text) >= c { // a line that wraps could not be rewritten
		text = text[:c-1]
	}
	_, _ = fmt.Fprintf(l.out, "\r%-*s", l.clear, text)
	l.clear = max(l.clear, len(text))
}

// finish ends the showing.
func (l *bulkDisplay) finish() {
	l.opened.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = true
	if l.bar && l.clear > 0 {
		_, _ = fmt.Fprintf(l.out, "\r%*s\r", l.clear, "")
	}
	say(l.out, "")
}
