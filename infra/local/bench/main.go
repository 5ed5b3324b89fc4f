// Command bench measures what Isochrone claims, beside a peer in the same run: the round trips
// of its probes beside sockperf's and irtt's, their truth beside what an emulator of a wide-area
// network applied, the cost of ingesting documents beside a bare loop that writes the same. Each
// figure ends as one line, BENCH <name> <value> <unit> <bar> ok|short, the median of interleaved
// rounds; every round is printed, and a figure that falls short says so.
//
// Ratios matter; absolute figures are those of this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/infra/local/wan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Equal(args, []string{wan.RelayArgument}) { // this program, started by package wan
		return wan.RelayMain(stdin, stdout, stderr)
	}
	if len(args) == 2 && args[0] == compactArgument { // this program, started by itself
		return compactMain(ctx, args[1], stdout, stderr)
	}
	b, err := parse(args, stdout, stderr)
	if err != nil {
		return 2
	}
	b.environ = environ
	if err := b.run(ctx); err != nil {
		_, _ = io.WriteString(stderr, "bench: "+err.Error()+"\n")
		return 3
	}
	return 0
}

// bench is one run of the program.
type bench struct {
	probers, count, rounds int
	slots                  int
	only                   []string
	stdout                 io.Writer
	environ                []string // of this process, for the tools that it starts
	root                   string   // of the repository
	programs               string   // folder of the built prober
	server                 *azurite.Server
	short                  int // figures that fall short of their bar
}

// A group of figures can be run by itself.
type group struct {
	name string
	what string
	run  func(*bench, context.Context) error
}

var groups = []group{
	{"ingest", "documents into rows and Parquet, beside bare loops", (*bench).ingest},
	{"offer", "documents offered to Results, beside a bare loop that writes the same", (*bench).offer},
	{"machine", "what this machine keeps a thread from that was just woken", (*bench).machine},
	{"udp", "udp round trips between two namespaces, beside sockperf and irtt", (*bench).udp},
	{"tcp", "tcp round trips at four sizes, beside sockperf", (*bench).tcp},
	{"truth", "round trips, loss, duplication and reordering against what the emulator applied", (*bench).truth},
	{"oneway", "one-way delays with a drifting clock and an asymmetric path", (*bench).oneway},
	{"stall", "a far side that stalls, seen by an open and by a closed loop", (*bench).stall},
	{"throughput", "bits a second on a long path and on loopback, beside iperf3; and what the emulator carried", (*bench).throughput},
	{"saturate", "transfers of 62,780 bytes on a path of 1 Gbit/s: payload against the shaped rate", (*bench).saturate},
	{"stream", "messages at a rate into a sink that takes fewer: delays against the formula", (*bench).stream},
	{"mesh", "a full mesh of probers on this machine: lateness, memory, processor time", (*bench).mesh},
	{"load", "the network's time under load, apart from a server's, against what the emulator applied", (*bench).load},
	{"convert", "documents and other tools' results into rows, and XML into JSON, beside mxj, encoding/xml and encoding/json", (*bench).convert},
	{"compact", "a source's day of fifty million samples into the lake: rows a second, memory, and what DuckDB reads in it", (*bench).compact},
	{"trend", "the statistics over a year of one pair's hours: processor time", (*bench).trend},
	{"history", "the trend of a pair over a year of hours and the matrix of sixty probers: our processor time, apart from the storage emulator's", (*bench).history},
	{"lake", "one pair's year out of a year of lake files: bytes, row groups and requests of all, and our processor time", (*bench).lake},
	{"changes", "change points in labelled round trips: F1, also with what is chosen without each series, and the time of 400,000 values", (*bench).changes},
	{"flood", "a measurement beside a reflector under attack", (*bench).flood},
}

func names() (out []string) {
	for _, g := range groups {
		out = append(out, g.name)
	}
	return out
}

func parse(args []string, stdout, stderr io.Writer) (*bench, error) {
	b := &bench{stdout: stdout}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&b.probers, "probers", 30, "of ingest: probers that measure each other, n(n − 1) rows a round")
	f.IntVar(&b.count, "count", 100, "of ingest: samples a run")
	f.IntVar(&b.slots, "slots", compactSlots, "of compact: slots of the day, 354,000 samples each")
	f.IntVar(&b.rounds, "rounds", 5, "rounds; the median counts")
	only := f.String("only", "", "groups to run, with commas; all: "+strings.Join(names(), ","))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	for _, name := range b.only {
		if !slices.Contains(names(), name) {
			_, _ = fmt.Fprintf(stderr, "bench: group %q: want some of %s\n", name, strings.Join(names(), ", "))
			return nil, errors.New("usage")
		}
	}
	if b.probers < 2 || b.probers > 100 || b.count < 1 || b.slots < 1 || b.slots > compactSlots || b.rounds < 1 || f.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "bench: want 2 to 100 probers, at least one sample and one round, 1 to 144 slots, and no arguments")
		return nil, errors.New("usage")
	}
	return b, nil
}

func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.stdout, format+"\n", args...) }

func (b *bench) run(ctx context.Context) (err error) {
	if b.root, err = azuritetest.Root(); err != nil {
		return err
	}
	if b.programs, err = os.MkdirTemp("", "isochrone-bench-programs-"); err != nil {
		return fmt.Errorf("making a folder for the programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.programs)) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	for _, g := range groups {
		if b.only != nil && !slices.Contains(b.only, g.name) {
			continue
		}
		b.say("== %s: %s", g.name, g.what)
		if err := g.run(b, ctx); err != nil {
			return fmt.Errorf("group %s: %w", g.name, err)
		}
	}
	if b.short > 0 {
		b.say("%d figures fall short of their bar", b.short)
	}
	return nil
}
