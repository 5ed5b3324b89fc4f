package compact_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/compact"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// Thousands of small files are made, each with a compressor of some megabytes, which the collector would
// take away from who wants it next.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1500)
	azuritetest.Main(m)
}

const environment = "test"

var (
	day0 = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	// soon is when the day is over, later when its raw files may go.
	soon  = day0.Add(24*time.Hour + 31*time.Minute)
	later = day0.AddDate(0, 0, 10).Add(time.Hour)
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// assigned are the results of an assignment to some targets, n samples each.
func assigned(env, source, probe string, slot time.Time, n int, targets ...string) (out []result.Result) {
	rnd := rand.New(rand.NewPCG(uint64(slot.Unix()), uint64(n)))
	for _, target := range targets {
		start := slot.Add(5 * time.Second)
		run := wire.Run{Target: target, Path: "public", Kind: wire.KindTCP, Address: "127.0.0.1:7700", PlannedStart: start, Start: &start, End: &start}
		for i := range n {
			s, rtt, failure := &run.Samples, 80_000_000+rnd.Int64N(4_000_000), wire.Failure("")
			if rnd.IntN(20) == 0 {
				rtt, failure = wire.Null, wire.FailureTimeout
			}
			s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*1e7), append(s.SentNS, int64(i)*1e7+rnd.Int64N(9000))
			s.RTTNS, s.Failure = append(s.RTTNS, rtt), append(s.Failure, failure)
		}
		out = append(out, result.Result{Series: wire.Series{Environment: env, Source: source, Target: target, Path: "public", Probe: probe}, Slot: slot,
			Assignment: assignmentOf(env, source, probe, slot), Attempt: "0a1b2c3d", Document: "raw-" + env + "/documents/x", Run: run})
	}
	return out
}

// world is a kind of stores, and what is done to them from outside.
type world struct {
	compact.Lake
	compact.Marks
	environment string
	store       func(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) error
}

func inMemory(m *memory) world { return world{m, m, m.environment, m.put} }

func onAzurite(t testing.TB) world {
	t.Helper()
	a, env := azuritetest.Environment(t)
	rows, err := tables.Open(a, env)
	must(t, err)
	blobs, err := archive.Open(a, env)
	must(t, err)
	must(t, blobs.Ensure(t.Context()))
	must(t, rows.Ensure(t.Context(), day0))
	return world{blobs, rows, env, func(ctx context.Context, source string, slot time.Time, assignment string, rs []result.Result) error {
		_, _, err := blobs.RebuildSamples(ctx, source, slot, assignment, rs, true) // as PutSamples, and replaces
		return errors.Join(err, rows.MarkDirty(ctx, rs))
	}}
}

// put stores an assignment of n samples a target.
func (w world) put(t testing.TB, source, probe string, slot time.Time, n int, targets ...string) {
	t.Helper()
	must(t, w.store(context.Background(), source, slot, assignmentOf(w.environment, source, probe, slot), assigned(w.environment, source, probe, slot, n, targets...)))
}

// history is a day of two sources.
func (w world) history(t testing.TB) {
	t.Helper()
	for i := range 4 {
		slot := day0.Add(time.Duration(i) * 6 * time.Hour)
		w.put(t, "westeurope", "tcp-64", slot, 30+i, "eastus", "uksouth")
		if i < 2 {
			w.put(t, "westeurope", "udp-64", slot, 20, "uksouth", "eastus")
			w.put(t, "eastus", "tcp-64", slot, 25, "westeurope")
		}
	}
}

func (w world) compactor(t testing.TB, now time.Time) *compact.Compactor {
	t.Helper()
	return &compact.Compactor{Lake: w.Lake, Marks: w.Marks, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Folder: t.TempDir()}
}

func (w world) run(t testing.TB, now time.Time) compact.Report {
	t.Helper()
	report, err := w.compactor(t, now).Run(context.Background(), compact.Scope{Apply: true})
	must(t, err)
	return report
}

// state is all that is stored, a line each, without the times of writing.
func (w world) state(t testing.TB) (lines []string) {
	t.Helper()
	ctx := context.Background()
	marks, err := w.DayMarks(ctx)
	must(t, err)
	for _, m := range marks {
		lines = append(lines, fmt.Sprintf("mark %s %s", m.Source, m.Begin.Format(time.DateOnly)))
	}
	for _, list := range []func(context.Context) ([]archive.SourceDay, error){w.RawDays, w.LakeDays} {
		days, err := list(ctx)
		must(t, err)
		for _, d := range days {
			raw, err := w.RawSamples(ctx, d)
			must(t, err)
			lake, err := w.LakeSamples(ctx, d)
			must(t, err)
			for _, b := range append(raw, lake...) {
				body, err := w.ReadRange(ctx, b, 0, b.Size)
				must(t, err)
				lines = append(lines, fmt.Sprintf("%s %s %x", strings.Replace(b.Name, "-"+w.environment+"/", "-ENV/", 1), b.Label, sha256.Sum256(body)))
			}
		}
	}
	for _, name := range []string{archive.SchemaBlob, archive.StatusBlob} {
		body, _, err := w.LakeNote(ctx, name)
		must(t, err)
		if name == archive.StatusBlob && body != nil {
			var s compact.Status
			must(t, json.Unmarshal(body, &s))
			s.Refreshed = time.Time{}
			for i := range s.Days {
				s.Days[i].Written = time.Time{}
			}
			body, err = json.Marshal(s)
			must(t, err)
		}
		lines = append(lines, name+" "+string(body))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
