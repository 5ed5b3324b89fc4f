package rollup_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

const environment = "test"

var hour0 = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func seriesOf(env, source, target string) wire.Series {
	return wire.Series{Environment: env, Source: source, Target: target, Path: "public", Probe: "tcp-64"}
}

// lost and canceled stand for samples without a round trip: the latter was sent and had not its whole
// timeout.
const (
	lost     int64 = -10
	canceled int64 = -20
)

// measured is a run with these round trips, in nanoseconds.
func measured(t testing.TB, series wire.Series, slot time.Time, rtt ...int64) result.Result {
	t.Helper()
	start := slot.Add(5 * time.Second)
	end := start.Add(time.Second)
	run := wire.Run{Target: series.Target, Path: series.Path, Kind: wire.KindTCP, Address: "127.0.0.1:7700", PlannedStart: start, Start: &start, End: &end}
	for i, v := range rtt {
		failure, value := wire.Failure(""), v
		switch v {
		case lost:
			failure, value = wire.FailureTimeout, wire.Null
		case canceled:
			failure, value = wire.FailureCanceled, wire.Null
		}
		s := &run.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*1e6), append(s.SentNS, int64(i)*1e6+10)
		s.RTTNS, s.Failure = append(s.RTTNS, value), append(s.Failure, failure)
		run.Counts.Sent++
		if failure == "" {
			run.Counts.Received++
		} else {
			run.Counts.Lost++
		}
	}
	if run.Counts.Received == 0 {
		run.Failure = wire.FailureTimeout
	}
	return resultOf(t, series, slot, run)
}

func resultOf(t testing.TB, series wire.Series, slot time.Time, run wire.Run) result.Result {
	t.Helper()
	var err error
	run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS)
	must(t, err)
	return result.Result{Series: series, Slot: slot, Assignment: wire.AssignmentID(series.Environment, slot, series.Source, series.Probe, 0), Attempt: "0a1b2c3d",
		Document: "raw-" + series.Environment + "/documents/x", Provenance: wire.Provenance{ProberVersion: "1.2.3"}, Run: run, Summary: summary.Of(&run, &wire.Provenance{})}
}

func expired(series wire.Series, slot time.Time) result.Result {
	return result.Expired(series, slot, wire.AssignmentID(series.Environment, slot, series.Source, series.Probe, 0), 0, wire.KindTCP, slot.Add(5*time.Second))
}

// foreign is a run of another tool, with these round trips or none, and what else change says.
func foreign(t testing.TB, series wire.Series, slot time.Time, change func(*result.Result), rtt ...int64) result.Result {
	t.Helper()
	series.Probe = "ext.ping"
	r := measured(t, series, slot, rtt...)
	r.Assignment, r.Attempt, r.Tool = "", "", "ping"
	r.Counted = &result.Counted{Sent: true, Received: true, Lost: true}
	if change != nil {
		change(&r)
	}
	return r
}

func rowsOf(rs ...result.Result) (out []tables.Row) {
	for i := range rs {
		out = append(out, tables.RowOf(&rs[i]))
	}
	return out
}

// span are n round trips from one value on, so far apart.
func span(from, step time.Duration, n int) (out []int64) {
	for i := range n {
		out = append(out, int64(from)+int64(i)*int64(step))
	}
	return out
}

// drawn are n round trips around 80 ms with some far above.
func drawn(rnd *rand.Rand, n int) (out []int64) {
	for range n {
		v := 80_000_000 + rnd.Int64N(4_000_000)
		if rnd.IntN(50) == 0 {
			v += rnd.Int64N(200_000_000)
		}
		out = append(out, v)
	}
	return out
}

func line(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

func text(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
