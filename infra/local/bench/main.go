// Command bench measures what ingesting documents costs, beside a bare loop that writes the same
// rows and a bare Parquet writer that encodes the same samples, in one run. Each figure is one
// line, BENCH <name> <value> <unit> <bar> ok|short, the median of interleaved rounds; every
// round is printed.
//
// Ratios matter; absolute figures are those of this machine and of the storage emulator.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	b, err := parse(args, stdout, stderr)
	if err != nil {
		return 2
	}
	if err := b.run(ctx); err != nil {
		_, _ = io.WriteString(stderr, "bench: "+err.Error()+"\n")
		return 3
	}
	return 0
}
