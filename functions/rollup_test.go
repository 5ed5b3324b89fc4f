package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// The whole way on real storage: a run, its mark, the timer, its hour and, as the run is of yesterday, its
// profile.
func TestRollupMakesHoursAndProfilesOfWhatIsStored(t *testing.T) {
	s := onStorage(t)
	hour := time.Now().UTC().Truncate(24 * time.Hour).Add(-2 * time.Hour)
	series := wire.Series{Environment: s.environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
	rs := []result.Result{result.Expired(series, hour.Add(10*time.Minute), "", 0, wire.KindTCP, hour)}
	if err := s.rows.AddExpired(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if err := s.rows.MarkDirty(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"written":1`, `"written":0`} {
		if w := post(s.app, "/Rollup", `{"Data":{"timer":{}}}`); w.Code != http.StatusOK || !strings.Contains(s.log.String(), want) {
			t.Fatalf("answered %d %s", w.Code, w.Body)
		}
	}
	hours := 0
	for h, err := range s.rows.Hours(t.Context(), tables.HourQuery{Source: "westeurope", Since: hour, Until: hour.Add(time.Hour)}) {
		if err != nil || h.Series != series || h.Runs != 1 || h.Failed[wire.FailureExpired] != 1 {
			t.Errorf("hour %+v, %v", h, err)
		}
		hours++
	}
	profiles := 0
	for p, err := range s.rows.Profiles(t.Context(), "westeurope", "eastus", "", "") {
		if err != nil || p.HourOfDay != 22 || p.Hours != 1 || p.P50.N != nil {
			t.Errorf("profile %+v, %v", p, err)
		}
		profiles++
	}
	if hours != 1 || profiles != 1 {
		t.Errorf("%d hours, %d profiles", hours, profiles)
	}
}
