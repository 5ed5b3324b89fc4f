package main

import (
	"net/http"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/result"
	"isochrone/sweep/rollup"
)

// putRun stores a run of the configuration's probe with round trips in ns.
func (s stored) putRun(t *testing.T, slot time.Time, rtt []int64) {
	t.Helper()
	series := wire.Series{Environment: s.environment, Source: "westeurope", Target: "northeurope", Path: "public", Probe: "tcp-64"}
	start := slot.Add(5 * time.Second)
	end := start.Add(time.Second)
	run := wire.Run{Target: series.Target, Path: series.Path, Kind: wire.KindTCP, Address: "127.0.0.1:7700", PlannedStart: start, Start: &start, End: &end,
		Counts: wire.Counts{Sent: len(rtt), Received: len(rtt)}}
	for i, v := range rtt {
		of := &run.Samples
		of.Sequence, of.DueNS, of.SentNS = append(of.Sequence, int64(i)), append(of.DueNS, int64(i)*1e6), append(of.SentNS, int64(i)*1e6+10)
		of.RTTNS, of.Failure = append(of.RTTNS, v), append(of.Failure, "")
	}
	var err error
	if run.RTTHistogram, run.ExcessHistogram, err = wire.Histograms(run.Samples.RTTNS); err != nil {
		t.Fatal(err)
	}
	res := result.Result{Series: series, Slot: slot, Assignment: wire.AssignmentID(s.environment, slot, series.Source, series.Probe, 0), Attempt: "0a1b2c3d",
		Document: "raw-" + s.environment + "/documents/x", Run: run, Summary: summary.Of(&run, &wire.Provenance{})}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.rows.Ensure(t.Context(), slot))
	must(s.rows.PutResults(t.Context(), []result.Result{res}))
	must(s.rows.PutLatest(t.Context(), []result.Result{res}))
}

func TestQueryAnswersFromStorage(t *testing.T) {
	s := onStorage(t)
	if w := request(s.app, http.MethodGet, queryPath+"/overview", ""); w.Code != http.StatusNotFound {
		t.Errorf("without a configuration: %d: %s", w.Code, w.Body)
	}
	s.configure(t)
	slot := time.Now().UTC().Add(-2 * time.Hour).Truncate(time.Hour)
	rtt := make([]int64, 1000)
	for i := range rtt {
		rtt[i] = int64(18*time.Millisecond) + int64(i)*1000 // 18.000 to 18.999 ms
	}
	s.putRun(t, slot.Add(10*time.Minute), rtt)
	roller := &rollup.Roller{Hours: s.rows, Profiles: s.rows, Now: time.Now, Log: s.app.log}
	if err := roller.Hours.MarkHours(t.Context(), "westeurope", []time.Time{slot}); err != nil {
		t.Fatal(err)
	}
	if _, err := roller.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(target string) map[string]any {
		w := request(s.app, http.MethodGet, queryPath+"/"+target, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d: %s", target, w.Code, w.Body)
		}
		return decode(t, w)
	}
	m := get("matrix")
	if m["environment"] != s.environment || m["measured"] != 1.0 || m["missing"] != 1.0 {
		t.Errorf("matrix %v", m)
	}
	const pair = "source=westeurope&target=northeurope"
	d := get("distribution?" + pair)
	if q := d["quantiles"].(map[string]any); q["n"] != 1000.0 || q["p50_us"].(float64) < 18_490 || q["p50_us"].(float64) > 18_520 {
		t.Errorf("quantiles %v, want a median of 18.5 ms of 1000", q)
	}
	r := get("recovery?" + pair + "&change_rate=20MB/s&size=2TB")
	if c := r["commit_cost"].(map[string]any); c["n"] != 1000.0 || c["p99_us"].(float64) < 18_980 || c["p99_us"].(float64) > 19_010 || r["sustained"] != nil || r["throughput_probe"] != nil {
		t.Errorf("recovery %v", r)
	}
	if rests := r["rests_on"].(map[string]any); rests["samples"] != 1000.0 || rests["runs"] != 1.0 || rests["hours"] != 1.0 {
		t.Errorf("it rests on %v", rests)
	}
	k := get("rank?from=westeurope&p95_below=20ms")
	if regions := k["regions"].([]any); len(regions) != 1 || regions[0].(map[string]any)["satisfies"] != true || regions[0].(map[string]any)["busiest_hour"] != float64(slot.Hour()) {
		t.Errorf("rank %v", k)
	}
	for _, question := range []string{"overview", "coverage", "probers", "trend?" + pair, "heatmap?" + pair + "&zone=source", "changes", "openapi.json", "compare?paths=public,public"} {
		want := http.StatusOK
		if question == "compare?paths=public,public" {
			want = http.StatusBadRequest
		}
		if w := request(s.app, http.MethodGet, queryPath+"/"+question, ""); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", question, w.Code, want, w.Body)
		}
	}
}
