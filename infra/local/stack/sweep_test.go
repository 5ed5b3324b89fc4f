package stack_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"isochrone/infra/local/functionshost"
	"isochrone/infra/local/stack"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// sweepOnce makes a sweep and fails the test if it does not complete.
func sweepOnce(t *testing.T, s *stack.Stack, patience time.Duration) stack.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o, err := s.Sweep(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// rows reads every row of a slot, by probe and series, and fails on a second row of a series.
func rows(t *testing.T, s *stack.Stack, slot time.Time) map[string]map[wire.Series]tables.Row {
	t.Helper()
	out := map[string]map[wire.Series]tables.Row{}
	for r, err := range s.Tables.Runs(t.Context(), tables.RunQuery{Since: slot, Until: slot.Add(time.Minute)}) {
		if err != nil {
			t.Fatal(err)
		}
		if out[r.Series.Probe] == nil {
			out[r.Series.Probe] = map[wire.Series]tables.Row{}
		}
		if _, twice := out[r.Series.Probe][r.Series]; twice {
			t.Errorf("two rows of %s at %s", r.Series, slot)
		}
		out[r.Series.Probe][r.Series] = r
	}
	return out
}

func TestOneSweepFillsTablesAndArchive(t *testing.T) {
	s := start(t, testConfig("e1", fiveRegions, 20*time.Second, 10*time.Second), nil)
	outcome := sweepOnce(t, s, time.Minute)
	if outcome.Planned != 40 || outcome.Rows != 40 || outcome.Failed != 0 || len(outcome.Missing) != 0 {
		t.Fatalf("the sweep came to %+v; want 40 planned runs with a result", outcome)
	}
	counts := map[string]int{"tcp-64": 100, "connect": 30}
	var received int64
	var sumUS float64 // of all round trips, as the rows' means say
	for probe, count := range counts {
		got := rows(t, s, outcome.Slot)[probe]
		if len(got) != 20 {
			t.Errorf("%s: %d rows, want 20", probe, len(got))
		}
		latest, err := s.Tables.Latest(t.Context(), "public", probe)
		if err != nil {
			t.Fatal(err)
		}
		if len(latest) != 20 {
			t.Errorf("%s: %d latest rows, want 20", probe, len(latest))
		}
		for series, r := range got {
			if r.Failure != "" || r.Counts.Sent != count || r.P50US == nil || *r.P50US <= 0 {
				t.Errorf("%s: failure %q, %d sent, p50 %v; want %d sent and a median", series, r.Failure, r.Counts.Sent, r.P50US, count)
			}
			received += int64(r.Counts.Received)
			sumUS += *r.MeanUS * float64(r.Counts.Received)
		}
	}

	header, entries, found, err := s.Tables.Sweep(t.Context(), outcome.Slot)
	if err != nil || !found || header.State != ledger.Complete || len(entries) != 10 {
		t.Errorf("ledger: header %+v, %d entries, %v; want a complete sweep of 10 assignments", header, len(entries), err)
	}
	for _, e := range entries {
		if e.State != ledger.Received || e.Runs != 4 {
			t.Errorf("ledger entry %+v: want 4 runs received", e)
		}
	}
	if left := blobs(t, s, "inbox-e1", ""); len(left) != 0 {
		t.Errorf("%d blobs are left in the inbox", len(left))
	}
	if odd := blobs(t, s, "quarantine-e1", ""); len(odd) != 0 {
		t.Errorf("%d blobs are in quarantine", len(odd))
	}
	if docs := blobs(t, s, "raw-e1", "documents/"); len(docs) != 10 {
		t.Errorf("%d documents in raw, want 10", len(docs))
	}

	files := blobs(t, s, "raw-e1", "samples/")
	var samples int64
	for name, body := range files {
		f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		samples += f.NumRows()
	}
	const sent = 20*100 + 20*30
	if len(files) != 10 || samples != sent {
		t.Errorf("%d Parquet files with %d rows, want 10 with %d", len(files), samples, sent)
	}
	if d, n, err := s.Archived(t.Context(), outcome.Slot); err != nil || d != 10 || n != sent {
		t.Errorf("the stack counts %d documents and %d samples, %v; want 10 and %d", d, n, err, sent)
	}
	d := readWithDuckDB(t, files)
	if d.Rows != sent || d.Received != received || d.Targets != 5 || math.Abs(float64(d.SumNS)/1000/sumUS-1) > 1e-9 {
		t.Errorf("DuckDB reads %+v; want %d rows, %d received, 5 targets, %.0f us in all", d, sent, received, sumUS)
	}
}

func TestTheSameSlotTwiceAndByTwoHandlersIsOneSweep(t *testing.T) {
	s := start(t, testConfig("e2", fiveRegions[:3], 20*time.Second, 10*time.Second), nil)
	second, err := functionshost.Start(t.Context(), functionshost.Options{
		AppDir: filepath.Join(built.dir, "app"), Account: s.Account(), HostID: "second", Addr: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Settings: map[string]string{account.EnvEnvironment: "e2", account.EnvConnectionString: s.Account().ConnectionString,
			"SWEEP_SCHEDULE": "0 0 0 1 1 *", "INGEST_SCHEDULE": "*/2 * * * * *", "ROLLUP_SCHEDULE": "0 0 0 1 1 *", "COMPACT_SCHEDULE": "0 0 0 1 1 *"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	awayFromTheNextMinute(t, 8*time.Second)
	var wait sync.WaitGroup
	for _, h := range []*functionshost.Host{s.Host, second, s.Host, second} {
		wait.Go(func() {
			if err := h.Fire(t.Context(), "Sweep"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	outcome := sweepOnce(t, s, time.Minute)
	if outcome.Planned != 12 || outcome.Rows != 12 || outcome.Failed != 0 {
		t.Errorf("the sweep came to %+v; want 12 planned runs with a result, each once", outcome)
	}
	rows(t, s, outcome.Slot)
	if plans := blobs(t, s, "assignments-e2", "_sweeps/"); len(plans) != 1 {
		t.Errorf("%d plans, want 1", len(plans))
	}
	if docs := blobs(t, s, "raw-e2", "documents/"); len(docs) != 6 {
		t.Errorf("%d documents in raw, want 6: every assignment was made once", len(docs))
	}
	if odd := blobs(t, s, "quarantine-e2", ""); len(odd) != 0 {
		t.Errorf("%d blobs are in quarantine: an assignment was made twice", len(odd))
	}
}

// awayFromTheNextMinute waits until at least margin of the current minute is left.
func awayFromTheNextMinute(t *testing.T, margin time.Duration) {
	t.Helper()
	now := time.Now()
	if left := now.Truncate(time.Minute).Add(time.Minute).Sub(now); left < margin {
		time.Sleep(left)
	}
}

func TestProbersThatAreDownAreShown(t *testing.T) {
	s := start(t, testConfig("e3", fiveRegions[:4], 5*time.Second, 3*time.Second), nil)
	s.Prober("southeastasia").Kill()
	// Three intervals of a second, and the five seconds that dispatch allows for clocks.
	time.Sleep(10 * time.Second)
	awayFromTheNextMinute(t, 20*time.Second)
	s.Prober("eastus").Kill() // so late that its last heartbeat still counts
	outcome := sweepOnce(t, s, 2*time.Minute)
	if outcome.Rows != 24 {
		t.Errorf("%d rows, want 24: every planned run ends as one", outcome.Rows)
	}
	for probe, got := range rows(t, s, outcome.Slot) {
		for series, r := range got {
			want := wire.Failure("")
			switch {
			case series.Source == "southeastasia" || series.Source == "eastus":
				want = wire.FailureExpired
			case series.Target == "southeastasia":
				want = wire.FailureTargetDown
			case series.Target == "eastus":
				want = wire.FailureRefused
			}
			if r.Failure != want {
				t.Errorf("%s %s -> %s: failure %q (%s), want %q", probe, series.Source, series.Target, r.Failure, r.Detail, want)
			}
			if r.Failure != "" && (r.P50US != nil || r.LossRatio != nil && *r.LossRatio == 0) {
				t.Errorf("%s: a run that failed has p50 %v and loss %v", series, r.P50US, r.LossRatio)
			}
		}
	}
	out, code := sweepCommand(t, s, "matrix", "--probe", "tcp-64")
	for _, word := range []string{"expired", "target_down", "refused"} {
		if !strings.Contains(out, word) {
			t.Errorf("the matrix does not show %q:\n%s", word, out)
		}
	}
	if code != 0 {
		t.Errorf("sweep matrix ended with %d, want 0: every pair has a row", code)
	}
}

// sweepCommand runs the command line against a stack.
func sweepCommand(t *testing.T, s *stack.Stack, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(built.dir, "sweep"), args...)
	cmd.Env = []string{account.EnvEnvironment + "=" + s.Environment(), account.EnvConnectionString + "=" + s.Account().ConnectionString}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
