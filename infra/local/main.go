// Command local runs the whole of Isochrone on one machine: storage emulator, Functions host,
// five probers behind an emulated wide-area network, one sweep, and the matrix on the terminal.
// local experiment NAME runs one of docs/experiments in the same way.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"isochrone/infra/local/wan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it returns 0 when every pair was measured, 1 when one is missing, 2 for
// wrong usage and 3 when the stack could not run.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Equal(args, []string{wan.RelayArgument}) { // this program, started by package wan
		return wan.RelayMain(stdin, stdout, stderr)
	}
	if len(args) > 0 && args[0] == "experiment" {
		o, err := parseExperiment(args[1:], stderr)
		if err != nil {
			return 2
		}
		return experimenter{o, local{environ: environ, stdout: stdout, stderr: stderr}}.run(ctx)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	return local{options: o, environ: environ, stdout: stdout, stderr: stderr}.run(ctx)
}
