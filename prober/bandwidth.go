package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

const bandwidthLong = `Measure how many bits a second a path carries, to a "prober reflect". TARGET is a host or host:port.

Payload flows over one or more TCP connections: up (from here to the target, the default), down, or both at
once. The receiver counts, by its own clock. The ramp at the beginning is left out and told beside it: a
long path takes a second or two to fill.

Without --streams their number follows from the path: as many as its bandwidth-delay product asks for at
2 MiB each, but 4 to 16. The bandwidth is --rate, or 1 Gbit/s where there is none. The kernel sizes windows and
buffers. The run is marked as window-limited where these, and not the path, set the rate.

It is never free: a run stops in mid-stream when --max-bytes have been moved in both directions
together, ramp and all. The reflector has a bound of its own, and serves one such run at a time.

Ctrl-C ends early and prints what there is.

Exit codes: 0 something was counted, 1 nothing was, 2 the command line is wrong.`

const bandwidthExample = `  prober bandwidth 10.0.0.4 --key-file key
  prober bandwidth 10.0.0.4 --key-file key --direction both --max-bytes 20GB
  prober bandwidth 10.0.0.4 --key-file key --streams 1 --congestion cubic --time 30 --ramp 5
  prober bandwidth 10.0.0.4 --key-file key --rate 50Mbit --json > run.json`

// bandwidthFlags are what the command line of bandwidth says.
type bandwidthFlags struct {
	direction             string
	streams               int
	during, ramp, timeout time.Duration
	rate, maxBytes        int64
	size                  int
	congestion            string
	keyFile               string
	only4, only6          bool
	json, xml             bool
	quiet, noIntervals    bool
}

func newBandwidth(t *terminal) *cobra.Command {
	f := &bandwidthFlags{
		direction: string(wire.DirectionUp), during: 10 * time.Second, ramp: 2 * time.Second, timeout: 10 * time.Second,
		maxBytes: 1_000_000_000, size: wire.DefaultChunkBytes,
	}
	cmd := &cobra.Command{
		Use: "bandwidth TARGET", Short: "Measure the throughput of a path", Long: bandwidthLong, Example: bandwidthExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("see: prober help bandwidth", "bandwidth takes one target, and has %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := planBandwidth(args[0], f, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return b.make(cmd.Context(), t)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *bandwidthFlags) register(cmd *cobra.Command) {
	var directions []string
	for _, d := range wire.Directions() {
		directions = append(directions, string(d))
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key that it shares with the target's \"prober reflect\"")
	flags.Var(oneOf{&f.direction, directions}, "direction", "which way payload flows")
	flags.IntVar(&f.streams, "streams", 0, "TCP connections each way; 0: as the path asks for")
	flags.VarP(span{&f.during}, "time", "t", "how long to count")
	flags.Var(span{&f.ramp}, "ramp", "how much of the beginning to leave out")
	flags.Var(bitRate{&f.rate}, "rate", "cap of the payload each way, such as 200Mbit; without it: none")
	flags.Var(byteCount{&f.maxBytes}, "max-bytes", "stop when so much was moved, such as 500MB or 20GB")
	flags.StringVar(&f.congestion, "congestion", "", "congestion control to ask the senders' kernels for, such as cubic or bbr")
	flags.VarP(size{&f.size}, "size", "l", "bytes of one write")
	flags.Var(span{&f.timeout}, "timeout", "how long to wait for a target that is silent")
	flags.BoolVarP(&f.only4, "ipv4", "4", false, "measure an IPv4 address of the name")
	flags.BoolVarP(&f.only6, "ipv6", "6", false, "measure an IPv6 address of the name")
	flags.BoolVar(&f.json, "json", false, "print JSON, with all intervals")
	flags.BoolVar(&f.xml, "xml", false, "print XML, with all intervals")
	flags.BoolVar(&f.noIntervals, "no-intervals", false, "leave the intervals out of JSON or XML")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the figures alone, nothing while it measures")
	// The flag is there, and nobody else completes it: there is no error to be had.
	_ = cmd.RegisterFlagCompletionFunc("direction", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return directions, cobra.ShellCompDirectiveNoFileComp
	})
}

// bandwidth is one run that was asked for.
type bandwidth struct {
	flags   *bandwidthFlags
	target  target
	network string // ip, ip4 or ip6
	spec    wire.Spec
	secret  []byte
	warning string
}

// make resolves, measures and prints.
func (b *bandwidth) make(ctx context.Context, t *terminal) error {
	address, err := b.target.resolve(ctx, b.network, broadcasts())
	if err != nil {
		return err
	}
	req, err := b.request(address, time.Now())
	if err != nil {
		return err
	}
	if b.warning != "" {
		say(t.stderr, "prober: %s", b.warning)
	}
	out := t.stdout
	if b.flags.json || b.flags.xml {
		out = t.stderr
	}
	live := newBandwidthDisplay(out, b.flags.quiet)
	live.say("throughput to %s: %s", report.Visible(labelOf(b.target.given, address)), report.DescribeBandwidth(b.spec))
	before := readCPUTimes()
	req.Progress = live.progress
	run := probe.New(probe.NewPacer(max(runtime.GOMAXPROCS(0)-1, 1))).Make(ctx, req)
	live.finish()
	d := report.BandwidthOf(report.Input{
		Target: b.target.given, Spec: b.spec, Run: run, Interrupted: ctx.Err() != nil,
		Provenance: wire.Provenance{ProberVersion: version, ClockErrorNS: clockErrorNS(), CPUStealRatio: stealSince(before, readCPUTimes())},
		Samples:    (b.flags.json || b.flags.xml) && !b.flags.noIntervals,
	})
	if err := printFigures(t, b.flags.json, b.flags.xml, d); err != nil {
		return err
	}
	if !counted(run) {
		t.code = exitFailed
		text := "nothing was counted"
		if remedy := report.Remedy(run.Kind, cmp.Or(run.Failure, wire.FailureBudget), true); remedy != "" {
			text += ": " + remedy
		}
		say(t.stderr, "prober: %s", text)
	}
	return nil
}

// counted says whether anything was: a budget that is used up within the ramp is no failure, and leaves
// nothing to count.
func counted(run wire.Run) bool {
	return run.Bulk != nil && slices.ContainsFunc(run.Bulk.Flows, func(f wire.Flow) bool { return f.CountedNS > 0 })
}

// request is the run to make, at once.
func (b *bandwidth) request(address string, now time.Time) (probe.Request, error) {
	req := probe.Request{
		Target: "target", Path: "public", Spec: b.spec, Address: address, PlannedStart: now, First: now,
		Deadline: now.Add(b.spec.Span() + 2*openingBound),
	}
	var err error
	if req.Session, req.Key, err = wire.SharedSession(b.secret, now, b.spec.RequestBytes, b.spec.ResponseBytes); err != nil {
		return probe.Request{}, failed("", "%w", err)
	}
	return req, nil
}

// labelOf is how a target is called while it is measured.
func labelOf(given, address string) string {
	if given == address {
		return given
	}
	return fmt.Sprintf("%s (%s)", given, address)
}
