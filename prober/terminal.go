package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"isochrone/prober/report"
)

// terminal is one invocation: what it was given, and where it writes.
type terminal struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	code           int // the exit code of a command that did what it was asked for
}

// problem is an error with its exit code, and what the person can do about it.
type problem struct {
	code   int
	err    error
	remedy string // empty when the error says it all
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func usage(remedy, format string, args ...any) error {
	return &problem{code: exitUsage, err: fmt.Errorf(format, args...), remedy: remedy}
}

func failed(remedy, format string, args ...any) error {
	return &problem{code: exitFailed, err: fmt.Errorf(format, args...), remedy: remedy}
}

// report prints an error and returns its exit code. One that is no problem of ours is cobra's,
// about the command line.
func (t *terminal) report(cmd *cobra.Command, err error) int {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{code: exitUsage, err: err, remedy: "see: prober help" + strings.TrimPrefix(cmd.CommandPath(), "prober")}
	}
	for line := range strings.Lines(p.Error()) {
		say(t.stderr, "prober: %s", report.Visible(strings.TrimRight(line, "\n")))
	}
	if p.remedy != "" {
		say(t.stderr, "prober: %s", p.remedy)
	}
	return p.code
}

// isTerminal says whether a person looks at what is written, as far as one can know.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is how wide the terminal is that is written to; 0: it is none, or does not say.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func newRoot(t *terminal) *cobra.Command {
	daemon := func(cmd *cobra.Command, _ []string) error {
		t.code = runProber(cmd.Context(), t.getenv, t.stdout, t.stderr)
		return nil
	}
	root := &cobra.Command{
		Use:     "prober",
		Version: version,
		// Errors are printed once, by report, with their remedy.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("see: prober help", "unknown command %q; want run, ping, bandwidth, load, saturate, stream, reflect, version or help", args[0])
			}
			return nil
		},
		RunE: daemon,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	byDefault := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.Long != "" && cmd.HasParent() && cmd.Name() != "help" { // those of a terminal
			byDefault(cmd, args)
			return
		}
		say(t.stdout, "%s", help)
	})
	root.AddCommand(
		&cobra.Command{Use: "run", Short: "Measure and reflect for the app until SIGTERM", Args: noArguments, RunE: daemon},
		&cobra.Command{Use: "version", Short: "Print the version", Args: noArguments, RunE: func(*cobra.Command, []string) error {
			say(t.stdout, "%s", version)
			return nil
		}},
		newPing(t), newBandwidth(t), newLoad(t), newSaturate(t), newStream(t), newReflect(t),
	)
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("", "%s takes no arguments; settings are environment variables (see: prober help)", cmd.Name())
	}
	return nil
}
