// Command accuracy measures how well the emulator keeps what it says: round trips between two
// namespaces by kernel time stamps of UDP, less the delays that the relay says it applied.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"isochrone/infra/local/wan"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == wan.RelayArgument {
		os.Exit(wan.RelayMain(os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	f.SetOutput(stderr)
	count := f.Int("count", 300, "round trips of each length")
	interval := f.Duration("interval", 10*time.Millisecond, "between their starts")
	margin := f.Duration("margin", 0, "how long before a packet is due the relay spins; 0: its default")
	awake := f.Bool("awake", false, "keep the processors from sleeping meanwhile")
	load := f.Int("load", 0, "threads that keep processors busy meanwhile")
	if err := f.Parse(args); err != nil {
		return 2
	}
	stop := busy(*load)
	defer stop()
	for _, roundTrip := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 180 * time.Millisecond} {
		r, err := measure(ctx, roundTrip, *count, *interval, wan.Options{Margin: *margin, Awake: *awake, Log: stderr})
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "accuracy: %v\n", err)
			return 1
		}
		_, _ = fmt.Fprintf(stdout, "%6s  %s\n", roundTrip, r)
	}
	return 0
}

// busy keeps processors busy until it is stopped.
func busy(threads int) (stop func()) {
	var end atomic.Bool
	for range threads {
		go func() {
			for !end.Load() {
			}
		}()
	}
	return func() { end.Store(true) }
}
