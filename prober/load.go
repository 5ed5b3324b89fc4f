package main

import (
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

const loadLong = `Let users ask a target, one request after the other each, and many at a time, and print the
figures with the network's time apart from the server's. TARGET is a URL, or with --key-file a host
or host:port where "prober reflect" runs.

Each user has a connection of its own, and starts its part of the ramp after the one before. A
request that is not answered within --timeout is lost and costs its user the connection; the user goes
on with another. A web server's own time is what its answers say (Server-Timing); the reflector says
it in each response.

A percentile stands beside its interval at 95 %. It is "few" where fewer than ten requests lie above
it: p50 takes 20, p99 a thousand. Ctrl-C ends early and prints what there is. What is sent and
received, both together, is never more than --max-bytes: a run that reaches that ends, and says so.

Load what is yours, or whose owner knows of it.

Exit codes: 0 something was answered, 1 nothing was answered, 2 the command line is wrong.`

const loadExample = `  prober load https://example.com/orders --users 100 --ramp 1s --loops 100
  prober load http://10.0.0.4:8080/ -u 20 -t 1m --json > load.json
  prober load 10.0.0.4 --key-file key --users 100 -l 1k --response 8k`

// loadFlags are what the command line of load says.
type loadFlags struct {
	users, loops    int
	ramp, during    time.Duration
	timeout         time.Duration
	size, response  int
	maxBytes        int64
	only4, only6    bool
	keyFile, method string
	json, xml       bool
	quiet           bool
	noSamples       bool
}

func newLoad(t *terminal) *cobra.Command {
	f := &loadFlags{ramp: time.Second, timeout: 10 * time.Second, maxBytes: 1e9}
	cmd := &cobra.Command{
		Use: "load TARGET", Short: "Let many users ask one target, and print the figures", Long: loadLong, Example: loadExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("see: prober help load", "load takes one target, and has %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := planLoad(args[0], f, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return l.make(cmd.Context(), t)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().SortFlags = false
	f.register(cmd)
	return cmd
}

func (f *loadFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVarP(&f.users, "users", "u", 100, "who ask at the same time")
	flags.Var(span{&f.ramp}, "ramp", "over which they start, one after the other")
	flags.IntVar(&f.loops, "loops", 100, "requests of each")
	flags.VarP(span{&f.during}, "time", "t", "go on for so long after the ramp, instead of --loops")
	flags.Var(span{&f.timeout}, "timeout", "after which a request is lost")
	flags.Var(byteCount{&f.maxBytes}, "max-bytes", "of what is sent and received: 500MB, 2GiB")
	flags.Var(oneOf{&f.method, []string{"GET", "HEAD"}}, "method", "of a URL (default GET)")
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key that it shares with the target's \"prober reflect\"")
	flags.VarP(size{&f.size}, "size", "l", "bytes of a request to a reflector (default 64)")
	flags.Var(size{&f.response}, "response", "bytes of its response (default 64)")
	flags.BoolVarP(&f.only4, "ipv4", "4", false, "load an IPv4 address of the reflector's name")
	flags.BoolVarP(&f.only6, "ipv6", "6", false, "load an IPv6 address of the reflector's name")
	flags.BoolVar(&f.json, "json", false, "print JSON, with all requests")
	flags.BoolVar(&f.xml, "xml", false, "print XML, with all requests")
	flags.BoolVar(&f.noSamples, "no-samples", false, "leave the requests out of JSON or XML")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the figures alone, nothing while it runs")
	words := cmd.Flags().Lookup("method").Value.(oneOf).words
	// The flag is there, and nobody else completes it: there is no error to be had.
	_ = cmd.RegisterFlagCompletionFunc("method", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// load is one load run that was asked for.
type load struct {
	flags   *loadFlags
	target  target
	network string // ip, ip4 or ip6
	spec    wire.Spec
	secret  []byte // nil for a URL
	warning string
}

// make resolves, loads and prints.
func (l *load) make(ctx context.Context, t *terminal) error {
	address, err := l.target.resolve(ctx, l.network, broadcasts())
	if err != nil {
		return err
	}
	req, err := l.request(address, time.Now())
	if err != nil {
		return err
	}
	if l.warning != "" {
		say(t.stderr, "prober: %s", l.warning)
	}
	live := newLoadDisplay(l, t)
	live.intro(address)
	req.Progress = live.observe
	before := readCPUTimes()
	live.start()
	run := probe.New(probe.NewPacer(max(runtime.GOMAXPROCS(0)-1, 1))).Make(ctx, req)
	live.finish()
	d := report.LoadOf(report.Input{
		Target: l.target.given, Spec: l.spec, Run: run, Interrupted: ctx.Err() != nil,
		Provenance: wire.Provenance{ProberVersion: version, ClockErrorNS: clockErrorNS(), CPUStealRatio: stealSince(before, readCPUTimes())},
		Samples:    (l.flags.json || l.flags.xml) && !l.flags.noSamples,
	})
	if err := printFigures(t, l.flags.json, l.flags.xml, d); err != nil {
		return err
	}
	if run.Counts.Received == 0 {
		t.code = exitFailed
		text := "nothing was answered"
		if remedy := report.Remedy(run.Kind, run.Failure, l.secret != nil); remedy != "" {
			text += ": " + remedy
		}
		say(t.stderr, "prober: %s", text)
	}
	return nil
}

// request is the run to make.
func (l *load) request(address string, now time.Time) (probe.Request, error) {
	req := probe.Request{
		Target: "target", Path: "public", Spec: l.spec, Address: address, URL: l.target.url, Loopback: true,
		PlannedStart: now, First: now, Deadline: now.Add(l.spec.Span() + openingBound),
	}
	if l.secret != nil {
		var err error
		if req.Session, req.Key, err = wire.SharedSession(l.secret, now, l.spec.RequestBytes, l.spec.ResponseBytes); err != nil {
			return probe.Request{}, failed("", "%w", err)
		}
	}
	return req, nil
}
