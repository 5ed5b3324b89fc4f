package reply

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/answers"
)

// keysOf are the keys of an object.
func keysOf(t *testing.T, v any) map[string]any {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnswersOverHistoryHaveTheirKeysAndAbsentIsNull(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	history := answers.History{Query: answers.SeriesQuery{Source: "a", Target: "b", Path: "public", Probe: "tcp", Since: at, Until: at.Add(time.Hour)},
		Rests: answers.Rests{Hours: 1, Simulated: true}, InWindow: 1, Newest: at}
	for name, c := range map[string]struct {
		reply any
		keys  string // those that are null with a "!"
	}{
		"trend": {TrendOf("dev", &answers.Trend{History: history, Hours: []answers.TrendHour{{Begin: at}}, DiurnalRefused: "too short"}, at),
			"environment simulated generated_at rests_on series since until hours_in_window hours_with_data newest_hour behind zones hours quantiles changes trend! diurnal! diurnal_refused profile floor_us! distance_km! published_p95_ms!"},
		"heatmap":      {HeatmapOf("dev", &answers.Heatmap{History: history}, at), "environment simulated rests_on series clock zone cells changes"},
		"distribution": {DistributionOf("dev", &answers.Distribution{History: history}, at), "environment simulated rests_on series n bins quantiles"},
		"changes":      {ChangesOf("dev", answers.ChangesQuery{}, &answers.ChangesPage{}, at), "environment simulated rests_on since until series series_too_short changes next!"},
	} {
		got := keysOf(t, c.reply)
		for _, key := range strings.Fields(c.keys) {
			key, null := strings.CutSuffix(key, "!")
			if v, ok := got[key]; !ok || (v == nil) != null {
				t.Errorf("%s: key %q is %v, there %t; want null %t", name, key, v, ok, null)
			}
		}
		if name != "changes" && got["simulated"] != true {
			t.Errorf("%s does not say that it is simulated", name)
		}
	}
	trend := keysOf(t, TrendOf("dev", &answers.Trend{History: history, Hours: []answers.TrendHour{{Begin: at}}}, at))
	hour := trend["hours"].([]any)[0].(map[string]any)
	for _, key := range []string{"n", "min_us", "p50_us", "p90_us", "p99_us", "loss_ratio", "baseline_us", "excess_us", "up_bps", "down_bps"} {
		if v, ok := hour[key]; !ok || v != nil {
			t.Errorf("an hour of which nothing is known: %s is %v, there %t", key, v, ok)
		}
	}
	profile := trend["profile"].(map[string]any)
	if len(profile["utc"].([]any)) != 24 || profile["source"] != nil || len(keysOf(t, HeatmapOf("dev", &answers.Heatmap{}, at))["cells"].([]any)) != 168 {
		t.Errorf("profile %v", profile)
	}
}
