package notebooks

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
	"isochrone/sweep/tables"
)

// What was measured is said to be; an hour without runs is masked, a run that failed is a row without a round trip, and what too
// few samples bear is null: nothing of it is 0.
func TestWhatIsAbsentIsNotZero(t *testing.T) {
	h := &history{}
	h.account, h.environment = azuritetest.Environment(t)
	var err error
	h.store, err = tables.Open(h.account, h.environment)
	must(t, err)
	ctx := t.Context()
	first := time.Date(2025, 11, 30, 22, 0, 0, 0, time.UTC) // a month ends in the window
	must(t, h.store.Ensure(ctx, first))
	must(t, h.store.Ensure(ctx, first.Add(5*time.Hour)))
	for _, hour := range []int{0, 1, 3, 5} { // and none at 2 and 4
		slot := first.Add(time.Duration(hour) * time.Hour)
		rs := []result.Result{measured(t, h.environment, slot, hour == 5)}
		must(t, h.store.PutResults(ctx, rs))
		must(t, h.store.PutLatest(ctx, rs))
		must(t, h.store.MarkDirty(ctx, rs))
	}
	r := rollup.Roller{Hours: h.store, Profiles: h.store, Now: func() time.Time { return first.Add(6 * time.Hour) }, Log: slog.New(slog.DiscardHandler)}
	_, err = r.Run(ctx)
	must(t, err)

	e := execute(t, "01-first-look", h.settings(), "DAYS = 1")
	e.sound(t, "measured: ")
	var got struct {
		Origin   string                        `json:"origin"`
		Failed   int                           `json:"failed"`
		Hours    int                           `json:"hours_in_window"`
		WithRuns int                           `json:"hours_with_runs"`
		Runs     int                           `json:"runs_last_day"`
		RunsBad  int                           `json:"runs_last_day_failed"`
		Matrix   map[string]map[string]float64 `json:"matrix_ms"`
		Window   map[string]window             `json:"window"`
	}
	e.summary(t, &got)
	if got.Origin != "measured: 4 runs" || got.Failed != 1 || got.Hours != 24 || got.WithRuns != 4 || got.Runs != 4 || got.RunsBad != 1 {
		t.Errorf("%+v", got)
	}
	if text := e.printed(t, "hours"); !strings.HasPrefix(text, "4 of 24 hours have runs, and 3 a median; 20 are grey: no runs there.\n") {
		t.Errorf("hours: %q", text)
	}
	if row, ok := got.Matrix["westeurope"]; !ok || len(row) != 0 {
		t.Errorf("matrix %v: the newest run failed, and has no round trip", got.Matrix)
	}
	w := got.Window["eastus"]
	if w.RoundTrips != 150 || w.Hours != 3 || w.P50US == nil || w.P90US == nil || w.P95US != nil || w.P99US != nil || w.P999US != nil {
		t.Errorf("window %+v: 150 round trips have no 95 %% quantile", w)
	}
}

// measured is a run of 50 samples that nobody made up, or one that failed.
func measured(t *testing.T, environment string, slot time.Time, fails bool) result.Result {
	t.Helper()
	r := result.Result{Series: wire.Series{Environment: environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "udp"}, Slot: slot,
		Assignment: wire.AssignmentID(environment, slot, "westeurope", "udp", 0), Attempt: "0a1b2c3d",
		Document: "raw-" + environment + "/documents/v=1/src=westeurope/x.json.gz", Provenance: wire.Provenance{ProberVersion: "1.0.0"}}
	start := slot.Add(30 * time.Second)
	end := start.Add(time.Second)
	r.Run = wire.Run{Target: "eastus", Path: "public", Kind: wire.KindUDP, Address: "20.50.0.4:7701", PlannedStart: start, Start: &start, End: &end}
	if fails {
		r.Run.Failure, r.Run.Detail = wire.FailureTargetDown, "no heartbeat"
	} else {
		r.Run.Counts = wire.Counts{Sent: 50, Received: 50}
		for i := range int64(50) {
			m := &r.Run.Samples
			m.Sequence, m.DueNS, m.SentNS = append(m.Sequence, i), append(m.DueNS, i*20e6), append(m.SentNS, i*20e6+1000)
			m.RTTNS, m.Failure = append(m.RTTNS, 82e6+i*1000), append(m.Failure, "")
		}
		var err error
		r.Run.RTTHistogram, r.Run.ExcessHistogram, err = wire.Histograms(r.Run.Samples.RTTNS)
		must(t, err)
	}
	r.Summary = summary.Of(&r.Run, &r.Provenance)
	return r
}
