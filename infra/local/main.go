// Command local runs the whole of Isochrone on one machine: storage emulator, Functions host,
// five probers, one sweep, and the matrix on the terminal.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is the program: it returns 0 when every pair was measured, 1 when one is missing, 2 for
// wrong usage and 3 when the stack could not run.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	return local{options: o, environ: environ, stdout: stdout, stderr: stderr}.run(ctx)
}
