package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// The whole way on real storage: hours of four weeks that are as usual, runs of three hours that are not, the timer,
// and the line that an alert rule matches, once.
func TestRollupRaisesAnAlertOfWhatIsStored(t *testing.T) {
	s := onStorage(t)
	now := time.Now().UTC().Truncate(time.Hour)
	series := wire.Series{Environment: s.environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	var hours []tables.HourChange
	for h := 4; h < 4+28*24; h++ {
		at := now.Add(-time.Duration(h) * time.Hour)
		p50, least := 80_000+float64(h%3), 79_000.0
		hours = append(hours, tables.HourChange{Put: &tables.Hour{Series: series, Begin: at, Kind: wire.KindTCP, Inputs: "x", Runs: 1, First: at, Last: at, RTT: tables.RTTs{P50US: &p50, MinUS: &least}}})
	}
	if err := s.rows.WriteHours(t.Context(), hours); err != nil {
		t.Fatal(err)
	}
	for h := 3; h >= 1; h-- {
		rs := []result.Result{slowRun(t, series, now.Add(-time.Duration(h)*time.Hour).Add(10*time.Minute))}
		if err := s.rows.PutResults(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		if err := s.rows.MarkDirty(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if w := post(s.app, "/Rollup", `{"Data":{"timer":{}}}`); w.Code != http.StatusOK {
				t.Fatalf("answered %d %s", w.Code, w.Body)
			}
		}
	}
	text := s.log.String()
	const want = `"msg":"alert raised"`
	if n := strings.Count(text, want); n != 1 || !strings.Contains(text, `"kind":"deviation","series":"westeurope|eastus|public|tcp-64","since":"`+now.Add(-3*time.Hour).Format(time.RFC3339)+`"`) {
		t.Errorf("%d alerts, logged\n%s", n, text)
	}
	if !strings.Contains(text, `"raised":1`) || !strings.Contains(text, `"lasting":1`) {
		t.Errorf("the report does not say so:\n%s", text)
	}
}

// slowRun is a run with 100 round trips of 90 ms and more.
func slowRun(t *testing.T, series wire.Series, slot time.Time) result.Result {
	t.Helper()
	start, end := slot.Add(5*time.Second), slot.Add(10*time.Second)
	run := wire.Run{Target: series.Target, Path: series.Path, Kind: wire.KindTCP, Address: "127.0.0.1:7700", PlannedStart: start, Start: &start, End: &end}
	for i := range 100 {
		s := &run.Samples
		s.Sequence, s.DueNS, s.SentNS = append(s.Sequence, int64(i)), append(s.DueNS, int64(i)*1e6), append(s.SentNS, int64(i)*1e6+10)
		s.RTTNS, s.Failure = append(s.RTTNS, int64(90_000_000+i)), append(s.Failure, "")
		run.Counts.Sent++
		run.Counts.Received++
	}
	var err error
	if run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS); err != nil {
		t.Fatal(err)
	}
	return result.Result{Series: series, Slot: slot, Assignment: wire.AssignmentID(series.Environment, slot, series.Source, series.Probe, 0), Attempt: "0a1b2c3d",
		Document: "raw-" + series.Environment + "/documents/x", Provenance: wire.Provenance{ProberVersion: "1.2.3"}, Run: run, Summary: summary.Of(&run, &wire.Provenance{})}
}
