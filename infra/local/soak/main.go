// Command soak runs a simulated month of sweeps in minutes, on a storage emulator behind a proxy that
// injects faults, while handlers and probers are killed and their clocks jump; and in the end holds
// everything that is stored against everything that was planned and measured.
//
// It starts itself as its children: two handlers that do what the Functions app does, and probers with real
// spools and mailboxes that make their measurements up. The month's clock is the driver's: it sets it
// forward from event to event, and storage tells it too. The seed decides on what happens when; in which
// order processes that run side by side come to storage, it does not.
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
	"syscall"
	"time"
	_ "time/tzdata" // probes are due by the clocks of places

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/azurite/azuritetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns 0 when everything holds, 1 when something does not, 2 when it was called wrongly and 3 when it
// could not be carried out.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Equal(args, []string{childArgument}) {
		return childMain(ctx, stdin, stdout, stderr)
	}
	o, err := parse(args, stdout, stderr)
	if err != nil {
		return 2
	}
	holds, err := soak(ctx, o)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "soak: %v\n", err)
		return 3
	}
	if !holds {
		return 1
	}
	return 0
}

func parse(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{out: stdout, environment: "soak"}
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e6), "decides on what happens when")
	f.IntVar(&o.days, "days", 31, "how many days are simulated")
	f.IntVar(&o.probers, "probers", 3, fmt.Sprintf("how many, 2 to %d", len(regions)))
	f.IntVar(&o.rough, "rough", 1, "how many times as much befalls the month, 1 to 4")
	minutes := f.Float64("minutes", 8, "the machine's time for the month; its end takes a minute more")
	start := f.String("start", "", "the first day; by default 5 March and 5 October 2026 by turns of the seed: both of Berlin's and New York's changes of the clock lie in the month")
	f.StringVar(&o.dir, "dir", "", "folder for spools, journals and logs, which is kept; by default one that is removed when everything holds")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.budget = time.Duration(*minutes * float64(time.Minute))
	o.start = time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	if o.seed%2 == 1 {
		o.start = time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC)
	}
	if *start != "" {
		var err error
		if o.start, err = time.Parse(time.DateOnly, *start); err != nil {
			_, _ = fmt.Fprintf(stderr, "soak: -start %q: want a day, such as 2026-03-05\n", *start)
			return o, err
		}
	}
	if o.rough < 1 || o.rough > 4 || o.days < 1 || o.days > 62 || o.probers < 2 || o.probers > len(regions) || o.budget <= 0 || f.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "soak: want 1 to 62 days, 2 to %d probers, -rough 1 to 4, some minutes, and no arguments\n", len(regions))
		return o, errors.New("usage")
	}
	return o, nil
}

// soak carries a month out, and says whether everything holds.
func soak(ctx context.Context, o options) (holds bool, err error) {
	begun := time.Now()
	root, err := azuritetest.Root()
	if err != nil {
		return false, err
	}
	temporary := o.dir == ""
	if temporary {
		if o.dir, err = os.MkdirTemp("", "isochrone-soak-"); err != nil {
			return false, fmt.Errorf("making a folder: %w", err)
		}
	}
	_, _ = fmt.Fprintf(o.out, "a month from %s, %d days, %d probers, seed %d; to repeat: make soak SEED=%d DAYS=%d\nspools, journals and the children's log: %s\n",
		o.start.Format(time.DateOnly), o.days, o.probers, o.seed, o.seed, o.days, o.dir)
	defer func() {
		if temporary && holds && err == nil { // else somebody will want to look
			err = os.RemoveAll(o.dir)
		}
	}()
	storage, err := os.MkdirTemp("", "isochrone-soak-storage-")
	if err != nil {
		return false, fmt.Errorf("making a folder for the storage emulator: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(storage)) }()
	starting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	server, err := azurite.Start(starting, azurite.Options{Root: root, Location: storage})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	o.account, o.emulator = server.Account(), server.PID()
	m, v, err := o.simulate(ctx)
	if err != nil {
		return false, err
	}
	return m.report(v, time.Since(begun)), nil
}

// simulate carries a month out and checks what is stored then. The month's storage can
// still be looked at, also when there is an error.
func (o options) simulate(ctx context.Context) (_ *month, v *verdict, err error) {
	m, err := newMonth(ctx, o)
	if m != nil {
		defer func() { err = errors.Join(err, m.Close()) }()
	}
	if err != nil {
		return m, nil, err
	}
	if err := m.run(ctx); err != nil {
		return m, nil, err
	}
	m.say("the end: no faults, no kills, right clocks, until nothing is left to do")
	if err := m.drain(ctx); err != nil {
		return m, nil, err
	}
	if v, err = m.check(ctx); err != nil {
		return m, nil, fmt.Errorf("checking what is stored: %w", err)
	}
	return m, v, nil
}
