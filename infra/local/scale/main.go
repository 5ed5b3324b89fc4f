// Command scale measures what a sweep of more and more probers costs the app: the real planner, dispatcher,
// handler, converter and stores on a storage emulator, and simulated probers (package simulated), which
// send no packets. For each size and stage it prints time, the handler's memory and processor time, the
// requests to storage by kind and their bytes; then what is stored, what a month of it would cost, and how
// each grows. Every round has an emulator of its own, and beside it a bare loop that writes the same rows
// and blobs into another. Nothing may be lost or stored twice, or it fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"isochrone/infra/local/azurite/azuritetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// mostProbers is as many as the storage emulator bears: it keeps all tables as one text of 512 MB at the most.
const mostProbers = 75

// scale is one run of the program.
type scale struct {
	sizes          []int
	rounds, count  int
	stdout         io.Writer
	root, app, dir string
	short          int // figures that fall short of their bar
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return 2
	}
	if err := s.run(ctx); err != nil {
		_, _ = fmt.Fprintf(stderr, "scale: %v\n", err)
		return 3
	}
	return 0
}

func parse(args []string, stdout, stderr io.Writer) (*scale, error) {
	s := &scale{stdout: stdout}
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(stderr)
	sizes := f.String("sizes", "4,15,30,60", "numbers of probers, with commas")
	f.IntVar(&s.rounds, "rounds", 3, "rounds a size; the median counts")
	f.IntVar(&s.count, "count", 100, "samples a run")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 2 || n > mostProbers {
			_, _ = fmt.Fprintf(stderr, "scale: size %q: want 2 to %d probers, several with commas\n", text, mostProbers)
			return nil, errors.New("usage")
		}
		s.sizes = append(s.sizes, n)
	}
	if s.rounds < 1 || s.count < 1 || s.count > 400 || f.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "scale: want at least one round, 1 to 400 samples, and no arguments")
		return nil, errors.New("usage")
	}
	slices.Sort(s.sizes)
	s.sizes = slices.Compact(s.sizes)
	return s, nil
}

func (s *scale) say(format string, args ...any) { _, _ = fmt.Fprintf(s.stdout, format+"\n", args...) }

func (s *scale) run(ctx context.Context) (err error) {
	if s.root, err = azuritetest.Root(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "isochrone-scale-"); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := s.pack(ctx); err != nil {
		return err
	}
	var all []size
	for _, n := range s.sizes {
		z, err := s.size(ctx, n)
		if err != nil {
			return fmt.Errorf("%d probers: %w", n, err)
		}
		all = append(all, z)
	}
	s.tables(all)
	s.figures(all)
	if s.short > 0 {
		s.say("%d figures fall short of their bar", s.short)
	}
	return nil
}

// pack makes the packaged Functions app.
func (s *scale) pack(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./infra/pack", "-out", s.dir)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("packaging the app: %w\n%s", err, out)
	}
	s.app = filepath.Join(s.dir, "app")
	return nil
}
