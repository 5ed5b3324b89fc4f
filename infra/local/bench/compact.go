package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"time"

	"isochrone/infra/local/azurite"
	"isochrone/infra/local/child"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/tables"
)

const (
	// compactMemoryBarMB is what a day of fifty million samples may take.
	compactMemoryBarMB = 512
	// compactArgument makes this program compact a folder and end: memory is a process's.
	compactArgument = "compact-folder"
	// azuriteSlots are what the emulator takes in reasonable time: 1.4 million samples.
	azuriteSlots = 4
)

// compacted is what the process that compacts a folder prints.
type compacted struct {
	Rows             int64
	Write, Same, Rid float64 // seconds: first, again with nothing to do, verified and raw files deleted
	Deleted          int
	Spill            int64 // bytes on disk at most
}

// compact compacts a source's day at the design point from files, where only our own work counts, and a part of
// one on the storage emulator; and asks DuckDB whether the lake has what the raw files had.
func (b *bench) compact(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "isochrone-bench-lake-")
	if err != nil {
		return fmt.Errorf("making a folder for a lake: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	begin := time.Now()
	rows, err := makeDay(newFolder(dir), b.slots)
	if err != nil {
		return err
	}
	b.say("a day of %d samples, %d series, made in %.0f s", rows, compactTargets*len(compactPaths)*len(compactProbes), time.Since(begin).Seconds())
	raw := filepath.Join(dir, "kept")
	if err := os.CopyFS(raw, os.DirFS(newFolder(dir).path(compactDate, "raw"))); err != nil { // for DuckDB: they are deleted
		return fmt.Errorf("copying raw files: %w", err)
	}
	c, resident, err := b.compactFolder(ctx, dir)
	if err != nil {
		return err
	}
	if c.Rows != int64(rows) || c.Deleted != b.slots*len(compactProbes)*len(compactPaths) {
		return fmt.Errorf("compacting a day: %+v: want %d rows", c, rows)
	}
	b.say("%d rows into %d files in %.1f s; again, with nothing to do, %.1f s; read back beside the raw files, and these deleted, in %.1f s", rows, len(compactProbes), c.Write, c.Same, c.Rid)
	b.say("at most %.0f MB resident, %.0f MB of temporary files", resident, float64(c.Spill)/1e6)
	b.figure("compact_rows", float64(rows)/c.Write, "rows/s", nil)
	b.figure("compact_verify_rows", float64(rows)/c.Rid, "rows/s", nil)
	b.figure("compact_rss", resident, "MB", atMost(compactMemoryBarMB))
	b.figure("compact_temporary", float64(c.Spill)/float64(rows)*float64(len(compactProbes)), "B/row", nil)
	differ, err := b.askDuckDB(ctx, filepath.Join(raw, "*.parquet"), filepath.Join(dir, "lake/*/*/*/*.parquet"))
	if err != nil {
		return err
	}
	b.figure("compact_duckdb_differences", differ, "probes", atMost(0))
	return b.compactAzurite(ctx)
}

// compactFolder compacts a folder in a process of its own.
func (b *bench) compactFolder(ctx context.Context, dir string) (c compacted, resident float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, 0, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, compactArgument, dir)
	cmd.Env = b.environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exited := make(chan struct{})
	if err := child.Start(cmd, func() { close(exited) }); err != nil {
		return c, 0, fmt.Errorf("starting this program once more: %w", err)
	}
	resident = mostResident(ctx, cmd.Process.Pid, exited)
	if ctx.Err() != nil {
		_ = child.Signal(cmd, syscall.SIGKILL)
		<-exited
		return c, 0, ctx.Err()
	}
	if !cmd.ProcessState.Success() {
		return c, 0, fmt.Errorf("compacting a folder: %s\n%s", cmd.ProcessState, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &c); err != nil {
		return c, 0, fmt.Errorf("compacting a folder: %w in %q", err, stdout.String())
	}
	return c, resident, nil
}

// compactMain is the process that compacts a folder.
func compactMain(ctx context.Context, dir string, stdout, stderr io.Writer) int {
	c, err := compactOnce(ctx, newFolder(dir))
	if err == nil {
		err = json.NewEncoder(stdout).Encode(c)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "bench: %v\n", err)
		return 3
	}
	return 0
}

func compactOnce(ctx context.Context, f *folder) (c compacted, err error) {
	if err := errors.Join(f.learn(ctx, compactDate), f.MarkDay(ctx, compactSource, compactDate.Day)); err != nil {
		return c, err
	}
	temporary := filepath.Join(f.root, "temporary")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return c, err
	}
	watched, stop := make(chan int64), make(chan struct{})
	go func() { watched <- largest(temporary, stop) }()
	defer func() {
		close(stop)
		c.Spill = <-watched
	}()
	for _, step := range []struct {
		after time.Duration
		all   bool
		into  *float64
	}{{25 * time.Hour, false, &c.Write}, {25 * time.Hour, true, &c.Same}, {11 * 24 * time.Hour, false, &c.Rid}} {
		co := compact.Compactor{Lake: f, Marks: f, Now: func() time.Time { return compactDate.Day.Add(step.after) }, Log: slog.New(slog.DiscardHandler), Folder: temporary}
		begin := time.Now()
		report, err := co.Run(ctx, compact.Scope{All: step.all, Apply: true})
		if err != nil {
			return c, err
		}
		*step.into = time.Since(begin).Seconds()
		c.Rows, c.Deleted = c.Rows+report.Rows, c.Deleted+report.Deleted
	}
	return c, nil
}

// largest is the most bytes that a folder's files had together.
func largest(dir string, stop <-chan struct{}) (most int64) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var now int64
		entries, _ := os.ReadDir(dir) // it is there, and what goes in between counts for nothing
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				now += info.Size()
			}
		}
		most = max(most, now)
		select {
		case <-tick.C:
		case <-stop:
			return most
		}
	}
}

// askDuckDB counts the probes of which DuckDB finds something else in the lake than in the raw files.
func (b *bench) askDuckDB(ctx context.Context, raw, lake string) (differ float64, err error) {
	cmd := exec.CommandContext(ctx, "node", filepath.Join(b.root, "sweep/archive/testdata/duckdb_lake.js"), filepath.Join(b.root, "infra/local/node_modules"), raw, lake)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("asking DuckDB: %w", err)
	}
	var got struct{ Raw, Lake []map[string]any }
	if err := json.Unmarshal(out, &got); err != nil {
		return 0, fmt.Errorf("reading DuckDB's answer: %w", err)
	}
	if len(got.Raw) != len(compactProbes) || len(got.Lake) != len(got.Raw) {
		return 0, fmt.Errorf("DuckDB finds %d and %d probes: want %d", len(got.Raw), len(got.Lake), len(compactProbes))
	}
	for i, of := range got.Raw {
		b.say("DuckDB, %s: %s rows, sum %s ns, p99 %s ns", of["probe"], of["rows"], of["rtt_sum"], of["rtt_p99"])
		if !reflect.DeepEqual(of, got.Lake[i]) {
			b.say("and in the lake: %v", got.Lake[i])
			differ++
		}
	}
	return differ, nil
}

// compactAzurite compacts the first slots of the day on the storage emulator.
func (b *bench) compactAzurite(ctx context.Context) error {
	return b.withEmulator(ctx, func(server *azurite.Server, _ string) error { return b.compactAzuriteOn(ctx, server) })
}

func (b *bench) compactAzuriteOn(ctx context.Context, server *azurite.Server) error {
	blobs, err := archive.Open(server.Account(), "bench")
	if err != nil {
		return err
	}
	marks, err := tables.Open(server.Account(), "bench")
	if err != nil {
		return err
	}
	if err := errors.Join(blobs.Ensure(ctx), marks.Ensure(ctx, compactDate.Day)); err != nil {
		return err
	}
	err = assignmentsOf("bench", azuriteSlots, func(a assignment) error {
		_, _, err := blobs.PutSamples(ctx, compactSource, a.slot, a.id, a.results)
		return err
	})
	if err = errors.Join(err, marks.MarkDay(ctx, compactSource, compactDate.Day)); err != nil {
		return err
	}
	want := int64(azuriteSlots * len(compactProbes) * len(compactPaths) * compactTargets * compactCount)
	for _, step := range []struct {
		name  string
		after time.Duration
	}{{"compact_azurite_rows", 25 * time.Hour}, {"compact_azurite_verify_rows", 11 * 24 * time.Hour}} {
		c := compact.Compactor{Lake: blobs, Marks: marks, Now: func() time.Time { return compactDate.Day.Add(step.after) }, Log: slog.New(slog.DiscardHandler)}
		begin := time.Now()
		report, err := c.Run(ctx, compact.Scope{Apply: true})
		if err != nil {
			return err
		}
		if report.Rows != want && report.Deleted != azuriteSlots*len(compactProbes)*len(compactPaths) {
			return fmt.Errorf("compacting on the emulator: %+v: want %d rows", report, want)
		}
		b.figure(step.name, float64(want)/time.Since(begin).Seconds(), "rows/s", nil)
	}
	return nil
}
