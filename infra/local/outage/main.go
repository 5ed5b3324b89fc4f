// Command outage rehearses outages of storage: what becomes of sweeps and documents while the account is away
// for a minute, ten minutes, an hour and a day, and while it refuses three of four requests for three minutes.
//
// Storage is real, an emulator behind a proxy that refuses connections. So are the stores, the dispatcher, the
// ingester, the arithmetic of ticks and debts, the probers' spools on disk and their mailboxes. The clock is
// simulated, in steps of 30 s; nothing is measured; and while storage is away a tick of the app ends after
// 200 ms instead of after minutes, and in outages of more than ten minutes Ingest ticks every ten minutes.
// Throttling is rehearsed in real time, with the patience that the programs have.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/azurite/azuritetest"
)

// throttling is the word for it among the durations of outages.
const throttling = "throttled"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("outage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "1m,10m,1h,24h,"+throttling, "the outages to rehearse, durations with commas between, and "+throttling)
	probers := flags.Int("backlog", 0, "instead: bring sweeps of so many probers to their end, of which nothing came")
	slots := flags.Int("slots", 144, "with -backlog: how many sweeps; a day has 144")
	limit := flags.Duration("invocation", invocation, "with -backlog: after how long a tick ends")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var outages []time.Duration
	for _, s := range strings.Split(*only, ",") {
		if s == throttling {
			outages = append(outages, 0)
			continue
		}
		d, err := time.ParseDuration(s)
		if err != nil || d < time.Minute || d > 6*24*time.Hour {
			_, _ = fmt.Fprintf(stderr, "outage: -only %q: want durations from 1m to 144h, and %s\n", s, throttling)
			return 2
		}
		outages = append(outages, d)
	}
	do := func(server *azurite.Server, dir string) (lost bool, err error) {
		return rehearse(ctx, server, dir, outages, stdout)
	}
	if *probers > 0 {
		do = func(server *azurite.Server, _ string) (bool, error) {
			return bringToEnd(ctx, server, *slots, *probers, *limit, stdout)
		}
	}
	lost, err := withStorage(ctx, do)
	switch {
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "outage: %v\n", err)
		return 3
	case lost:
		return 1
	}
	return 0
}

// withStorage has something done with a storage emulator and a folder.
func withStorage(ctx context.Context, do func(server *azurite.Server, dir string) (lost bool, err error)) (lost bool, err error) {
	root, err := azuritetest.Root()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "isochrone-outage-")
	if err != nil {
		return false, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	data := dir + "/azurite"
	if err := os.MkdirAll(data, 0o700); err != nil {
		return false, fmt.Errorf("making Azurite's folder: %w", err)
	}
	starting, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	server, err := azurite.Start(starting, azurite.Options{Root: root, Location: data})
	if err != nil {
		return false, err
	}
	defer func() { _ = server.Stop() }()
	return do(server, dir)
}

// rehearse goes through the outages, each in an environment of its own, and prints what became of each.
func rehearse(ctx context.Context, server *azurite.Server, dir string, outages []time.Duration, stdout io.Writer) (lost bool, err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(stdout, format+"\n", args...) }
	say("outage     slots  complete  missed  neither  documents finished  stored  runs planned  lost  unplanned  caught up after (simulated)  app busy (real)")
	var bench []string
	for i, d := range outages {
		begun := time.Now()
		name := short(d)
		rehearse := func() (*outcome, error) { return rehearseOne(ctx, server, fmt.Sprintf("o%d", i), dir, d) }
		if d == 0 {
			name = throttling
			rehearse = func() (*outcome, error) {
				return rehearseThrottling(ctx, server, fmt.Sprintf("o%d", i), dir, throttledFor, stdout)
			}
		}
		o, err := rehearse()
		if err != nil {
			return false, fmt.Errorf("an outage (%s): %w", name, err)
		}
		say("%-9s  %5d  %8d  %6d  %7d  %18d  %6d  %12d  %4d  %9d  %27s  %15s", name, o.slots, o.complete, o.missed, o.other, o.finished, o.received, o.planned,
			o.lost, o.unplanned, short(o.caughtUp), o.busy.Round(time.Millisecond))
		for _, why := range slices.Sorted(maps.Keys(o.notMeasured)) {
			say("         %d runs %s", o.notMeasured[why], why)
		}
		say("         rehearsed in %s", time.Since(begun).Round(time.Second))
		for _, f := range []struct {
			name  string
			value int
		}{{"documents_lost", o.finished - o.received}, {"slots_neither_missed_nor_complete", o.other}, {"runs_lost", o.lost + o.unplanned + o.unhandled}} {
			verdict := "ok"
			if f.value != 0 {
				verdict, lost = "short", true
			}
			bench = append(bench, fmt.Sprintf("BENCH outage_%s_%s %d count 0 %s", name, f.name, f.value, verdict))
		}
		bench = append(bench, fmt.Sprintf("BENCH outage_%s_caught_up %.0f s - ok", name, o.caughtUp.Seconds()))
		lost = lost || o.caughtUp < 0
	}
	say("%s", strings.Join(bench, "\n"))
	return lost, nil
}

func rehearseOne(ctx context.Context, server *azurite.Server, environment, dir string, outage time.Duration) (*outcome, error) {
	// It ends in the past: the emulator's clock is the real one.
	begin := time.Now().UTC().Add(-outage - lead - tail - time.Hour).Truncate(period).Add(5 * time.Minute)
	r, err := newRehearsal(ctx, server, environment, dir, begin)
	if err != nil {
		return nil, err
	}
	o, err := r.run(ctx, outage)
	if stopped := r.stop(); err == nil {
		err = stopped
	}
	return o, err
}

// short writes a duration without parts that are zero.
func short(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// bringToEnd prints how long the ticks after a lost day take.
func bringToEnd(ctx context.Context, server *azurite.Server, slots, probers int, limit time.Duration, stdout io.Writer) (lost bool, err error) {
	b, err := measureBacklog(ctx, server, "backlog", slots, probers, limit)
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(stdout, "%d slots that nobody swept: recorded as missed in %s\n", slots, b.missing.Round(time.Millisecond))
	_, _ = fmt.Fprintf(stdout, "%d slots of %d probers of which nothing came, %d runs: %d rows in %s, %d ticks of at most %s\n", slots, probers, b.runs, b.rows,
		b.expiring.Round(100*time.Millisecond), b.invocations, limit)
	for _, f := range []struct {
		name  string
		value float64
		unit  string
		bar   bool
	}{{"missed", b.missing.Seconds(), "s", false}, {"expired", b.expiring.Seconds(), "s", false}, {"rows_lost", float64(b.runs - b.rows), "count", true},
		{"sweeps_incomplete", float64(b.incomplete), "count", true}, {"slots_not_missed", float64(b.notMissed), "count", true}} {
		limit, verdict := "-", "ok"
		if f.bar {
			limit = "0"
			if f.value != 0 {
				verdict, lost = "short", true
			}
		}
		_, _ = fmt.Fprintf(stdout, "BENCH backlog_%s %.4g %s %s %s\n", f.name, f.value, f.unit, limit, verdict)
	}
	return lost, nil
}
