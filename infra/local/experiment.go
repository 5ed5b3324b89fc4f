package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"isochrone/infra/local/experiment"
)

type experimentOptions struct {
	experiment.Experiment
	root    string
	write   bool
	timeout time.Duration
}

func parseExperiment(args []string, stderr io.Writer) (experimentOptions, error) {
	var o experimentOptions
	f := flag.NewFlagSet("local experiment", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.root, "root", ".", "the repository, where make build and make package put their results")
	f.BoolVar(&o.write, "write", false, "write what was measured into the experiment's README")
	f.DurationVar(&o.timeout, "timeout", 2*time.Hour, "how long all of it may take")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	name := f.Arg(0)
	if f.NArg() > 1 {
		name = ""
	}
	e, err := experiment.Find(name)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "local: %v (make experiment NAME=paths, or local experiment [flags] NAME)\n", err)
		return o, errors.New("usage")
	}
	o.Experiment = e
	return o, nil
}

// experimenter runs an experiment, with its data and logs in a folder that is left only if it fails.
type experimenter struct {
	experimentOptions
	local
}

func (x experimenter) run(ctx context.Context) int {
	parent := filepath.Join(x.experimentOptions.root, ".local")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return x.fail(fmt.Errorf("making the folder for data and logs: %w", err))
	}
	dir, err := os.MkdirTemp(parent, "experiment-")
	if err != nil {
		return x.fail(fmt.Errorf("making the folder for data and logs: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	err = x.Experiment.Run(ctx, experiment.Options{
		Root: x.experimentOptions.root, Dir: dir, Environ: x.environ, Write: x.write,
		Stdout: x.stdout, Stderr: x.stderr, Progress: x.progress(time.Now()),
	})
	if err != nil {
		return x.fail(fmt.Errorf("%w\nlogs are in %s", err, dir))
	}
	if err := os.RemoveAll(dir); err != nil {
		return x.fail(fmt.Errorf("removing data and logs: %w", err))
	}
	return 0
}
