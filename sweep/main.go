// Command sweep is the operator's view of Isochrone: it checks and pushes the configuration,
// says what would run, and shows what was measured and how the last sweeps went.
//
// Everything it knows of measurements comes from package answers, so that a web page says the
// same. The rest of this folder's files turn arguments into questions and answers into text.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], environ{get: os.Getenv, stdin: os.Stdin, now: time.Now}, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// environ is what a command takes from the process around it.
type environ struct {
	get   func(string) string // an environment variable, "" when it is not set
	stdin io.Reader
	now   func() time.Time
}

// run executes one command and returns the exit code.
func run(ctx context.Context, args []string, env environ, stdout, stderr io.Writer) int {
	s := &session{env: env, stdout: stdout, stderr: stderr}
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take os.Args
	root.SetIn(env.stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	return s.report(ctx, cmd, err)
}
