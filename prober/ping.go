package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

const pingLong = `Measure one target and print the figures. TARGET is a host, host:port or a URL.

Without --kind the target says what is measured:

  URL               http      whole requests, their phases apart
  host:port         connect   TCP handshakes, a new connection each
  host              icmp      echo requests
  with --key-file   tcp       request and response over one connection to a "prober reflect";
                              --kind udp: STAMP (RFC 8762), both directions apart, and clocked
                              by the kernel

--kind udp without a key speaks plain STAMP to somebody else's reflector (port 862).

Names are resolved before the clock starts, but for http, where that is a phase. A reply that
comes after --timeout is late, and counts as lost. Samples leave by a schedule, whether or not
the one before was answered; with "-i 0" each waits for it, and a stall of the target shows in
one sample alone.

A percentile stands beside its interval at 95 %. It is "few" where fewer than ten samples lie
above it, as n(1 - p) < 10: p50 takes 20, p99 a thousand. Ctrl-C ends early and prints what there is.
With --key-file a run takes an hour at the most: its session lasts no longer.

Exit codes: 0 something was received, 1 nothing was received, 2 the command line is wrong.`

const pingExample = `  prober ping db.example.com:5432
  prober ping https://example.com/health -n 100 -i 0.2
  prober ping 10.0.0.4 --key-file key -n 1000 -i 20ms --histogram
  prober ping 10.0.0.4 --key-file key -l 8k -n 1000 -i 0
  prober ping 10.0.0.4 --key-file key --kind udp -t 60 -i 0.02 --json > run.json`

// pingFlags are what the command line of ping says.
type pingFlags struct {
	kind               string
	count              int
	interval, timeout  time.Duration
	during             time.Duration
	size, response     int
	warmup             int
	only4, only6       bool
	keyFile            string
	method, connection string
	histogram          bool
	json, xml          bool
	quiet, noSamples   bool
}

func newPing(t *terminal) *cobra.Command {
	f := &pingFlags{interval: time.Second, timeout: 2 * time.Second}
	cmd := &cobra.Command{
		Use: "ping TARGET", Short: "Measure one target and print the figures", Long: pingLong, Example: pingExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("see: prober help ping", "ping takes one target, and has %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := planPing(args[0], f, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return p.make(cmd.Context(), t)
		},
	}
	cmd.Flags().SortFlags = false
	f.register(cmd)
	completeWords(cmd)
	return cmd
}

func (f *pingFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(oneOf{&f.kind, kindNames()}, "kind", "what to measure")
	flags.IntVarP(&f.count, "count", "n", 10, "samples, warm-up left out")
	flags.VarP(span{&f.interval}, "interval", "i", "time from one sample to the next; 0: each waits for the one before")
	flags.VarP(span{&f.during}, "time", "t", "measure for so long, instead of -n")
	flags.VarP(size{&f.size}, "size", "l", "bytes of a request (tcp: default 64), datagram (udp: 152) or echo (icmp: 56)")
	flags.Var(size{&f.response}, "response", "bytes of a response of kind tcp (default 16)")
	flags.IntVarP(&f.warmup, "warmup", "w", 1, "samples sent first and left out")
	flags.Var(span{&f.timeout}, "timeout", "after which a sample is lost")
	flags.BoolVarP(&f.only4, "ipv4", "4", false, "measure an IPv4 address of the name")
	flags.BoolVarP(&f.only6, "ipv6", "6", false, "measure an IPv6 address of the name")
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key that it shares with the target's \"prober reflect\"")
	flags.Var(oneOf{&f.method, []string{"GET", "HEAD"}}, "method", "of kind http (default GET)")
	flags.Var(oneOf{&f.connection, []string{wire.ConnectionFresh, wire.ConnectionKeepAlive}}, "connection", "of kind http (default fresh)")
	flags.BoolVar(&f.histogram, "histogram", false, "show how the round trips are spread")
	flags.BoolVar(&f.json, "json", false, "print JSON, with all samples")
	flags.BoolVar(&f.xml, "xml", false, "print XML, with all samples")
	flags.BoolVar(&f.noSamples, "no-samples", false, "leave the samples out of JSON or XML")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the figures alone, nothing while it measures")
}

func kindNames() []string {
	var names []string
	for _, k := range wire.LatencyKinds() {
		names = append(names, string(k))
	}
	return names
}

// ping is one run that was asked for.
type ping struct {
	flags   *pingFlags
	target  target
	network string // ip, ip4 or ip6
	spec    wire.Spec
	secret  []byte        // nil without a key
	stop    time.Duration // after which a closed loop ends; 0: after its count
	warning string
}

// make resolves, measures and prints.
func (p *ping) make(ctx context.Context, t *terminal) error {
	address, err := p.target.resolve(ctx, p.network, broadcasts())
	if err != nil {
		return err
	}
	req, err := p.request(address, time.Now())
	if err != nil {
		return err
	}
	if p.warning != "" {
		say(t.stderr, "prober: %s", p.warning)
	}
	live := newDisplay(p, t, req)
	live.intro(address)
	before := readCPUTimes()
	run := p.measure(ctx, req, live)
	outlived := p.secret != nil && !time.Now().Before(req.Deadline)
	d := report.Of(report.Input{
		Target: p.target.given, Spec: p.spec, Run: run, Interrupted: (ctx.Err() != nil || outlived) && run.Counts.Sent < p.spec.Count,
		Provenance: wire.Provenance{ProberVersion: version, ClockErrorNS: clockErrorNS(), CPUStealRatio: stealSince(before, readCPUTimes())},
		Histogram:  p.flags.histogram, Samples: (p.flags.json || p.flags.xml) && !p.flags.noSamples,
	})
	if err := printFigures(t, p.flags.json, p.flags.xml, d); err != nil {
		return err
	}
	if outlived && run.Counts.Sent < p.spec.Count {
		say(t.stderr, "prober: ended early: a session with a shared key lasts %s", sharedSession)
	}
	if p.stop > 0 && run.Counts.Sent == wire.MaxSamples {
		say(t.stderr, "prober: ended before its time: %d samples are the most of a run", wire.MaxSamples)
	}
	if run.Counts.Received == 0 {
		t.code = exitFailed
		text := "nothing was received"
		if remedy := report.Remedy(run.Kind, run.Failure, p.secret != nil); remedy != "" {
			text += ": " + remedy
		}
		say(t.stderr, "prober: %s", text)
	}
	return nil
}

// measure makes the run, and shows it meanwhile.
func (p *ping) measure(ctx context.Context, req probe.Request, live *display) wire.Run {
	measuring, stop := context.WithCancel(ctx)
	defer stop()
	req.Observe = live.observe
	if p.stop > 0 {
		req.Observe = p.endAfter(live.observe, stop)
		defer time.AfterFunc(p.endAnyway(), stop).Stop()
	}
	live.start()
	run := probe.New(probe.NewPacer(max(runtime.GOMAXPROCS(0)-1, 1))).Make(measuring, req)
	live.finish(&run)
	if p.stop > 0 && measuring.Err() != nil && ctx.Err() == nil {
		run.Detail = "" // it says that the run was stopped, which was asked for
	}
	return run
}

// endAfter has the run end when its time is over. The time begins with the first reply: what opening
// the session takes is no part of it.
func (p *ping) endAfter(observe func(probe.Reply), stop func()) func(probe.Reply) {
	var begun sync.Once
	return func(r probe.Reply) {
		begun.Do(func() { time.AfterFunc(p.stop, stop) })
		observe(r)
	}
}

// endAnyway is after how long a run ends in which nothing is heard.
func (p *ping) endAnyway() time.Duration {
	return openingBound + time.Duration(p.spec.Warmup+1)*p.spec.Timeout + p.stop
}

// request is the run to make. It begins now, or as soon after as its session may be open.
func (p *ping) request(address string, now time.Time) (probe.Request, error) {
	req := probe.Request{
		Target: "target", Path: "public", Spec: p.spec, Address: address, URL: p.target.url, Loopback: true,
		PlannedStart: now, First: now.Add(20 * time.Millisecond),
	}
	if p.secret != nil {
		var err error
		if req.Session, req.Key, err = wire.SharedSession(p.secret, now, p.spec.RequestBytes, p.spec.ResponseBytes); err != nil {
			return probe.Request{}, failed("", "%w", err)
		}
		// A run that is not ready by then begins an interval later: a long one waits for its session.
		if p.spec.Interval > sessionPatience {
			req.First = now.Add(sessionPatience)
		}
	}
	req.Deadline = now.Add(p.spec.Span() + openingBound)
	if end := now.Add(sharedSession - sessionMargin); p.secret != nil && req.Deadline.After(end) {
		req.Deadline = end // what a target that has ended the session does not answer is no loss
	}
	return req, nil
}

const (
	// sessionPatience is how long the opening of a session takes at the most where nothing is wrong:
	// two round trips around the earth.
	sessionPatience = 700 * time.Millisecond
	// openingBound is added to a run's span for what comes before its first sample.
	openingBound = 15 * time.Second
)

// label is how the target is called while it is measured.
func (p *ping) label(address string) string {
	switch address {
	case "":
		return report.Target(p.target.url)
	case p.target.given:
		return address
	}
	return fmt.Sprintf("%s (%s)", report.Target(p.target.given), address)
}
