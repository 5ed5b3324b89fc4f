package tables

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

var slot0 = time.Date(2026, 11, 30, 10, 20, 0, 0, time.UTC)

// newStore opens a store of an environment of its own.
func newStore(t testing.TB) *Store {
	t.Helper()
	a, env := azuritetest.Environment(t)
	s, err := Open(a, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func background(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func seriesOf(env, source, target string) wire.Series {
	return wire.Series{Environment: env, Source: source, Target: target, Path: "public", Probe: "tcp-64"}
}

// measured is a result with the round trips given, in nanoseconds; wire.Null is a lost sample.
func measured(t testing.TB, series wire.Series, slot time.Time, rtt ...int64) result.Result {
	t.Helper()
	start := slot.Add(5*time.Second + 1500*time.Nanosecond)
	end := start.Add(time.Second)
	run := wire.Run{Target: series.Target, Path: series.Path, Kind: wire.KindTCP, Address: "127.0.0.1:7700",
		PlannedStart: slot.Add(5 * time.Second), Start: &start, End: &end}
	for i, v := range rtt {
		failure := wire.Failure("")
		if v == wire.Null {
			failure = wire.FailureTimeout
		}
		s := &run.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*1e6), append(s.SentNS, int64(i)*1e6+10)
		s.RTTNS, s.Failure = append(s.RTTNS, v), append(s.Failure, failure)
		run.Counts.Sent++
		if v == wire.Null {
			run.Counts.Lost++
		} else {
			run.Counts.Received++
		}
	}
	if run.Counts.Received == 0 {
		run.Failure, run.Detail = wire.FailureTimeout, "no sample was answered"
	}
	var err error
	if run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS); err != nil {
		t.Fatal(err)
	}
	assignment := wire.AssignmentID(series.Environment, slot, series.Source, series.Probe, 0)
	return result.Result{Series: series, Slot: slot, Assignment: assignment, Attempt: "0a1b2c3d",
		Document:   "raw-" + series.Environment + "/documents/v=1/src=" + series.Source + "/x.json.gz",
		Provenance: wire.Provenance{ProberVersion: "1.2.3"},
		Run:        run, Summary: summary.Of(&run, &wire.Provenance{})}
}

func expired(series wire.Series, slot time.Time) result.Result {
	return result.Expired(series, slot, wire.AssignmentID(series.Environment, slot, series.Source, series.Probe, 0), 0, wire.KindTCP, slot.Add(5*time.Second))
}

func allRuns(t testing.TB, s *Store, q RunQuery) []Row {
	t.Helper()
	rows, err := collect(s.Runs(background(t), q))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newETag(s string) *azcore.ETag { return (*azcore.ETag)(&s) }
