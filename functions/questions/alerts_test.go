package questions

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"isochrone/sweep/tables"
)

func (s *stores) Alerts(_ context.Context, q tables.AlertQuery) iter.Seq2[tables.Alert, error] {
	return each(s.alerts, s.err, func(a tables.Alert) bool {
		return (q.Kind == "" || q.Kind == a.Kind) && !a.Since.Before(q.Since) && a.Since.Before(q.Until)
	})
}

func TestAlertsAreAskedForByKindAndWhetherTheyLast(t *testing.T) {
	stored := filled()
	stored.alerts = []tables.Alert{
		{Kind: tables.AlertDeviation, Subject: "westeurope|eastus|public|tcp-64", Since: noon.Add(-9 * time.Hour), Raised: noon.Add(-6 * time.Hour), Ended: noon.Add(-2 * time.Hour), Message: "slow", EndMessage: "as usual"},
		{Kind: tables.AlertCoverage, Subject: "eastus", Since: noon.Add(-90 * 24 * time.Hour), Raised: noon.Add(-90 * 24 * time.Hour), Message: "2 of 18 runs came in"},
	}
	s := serve(t, stored)
	for query, want := range map[string][]string{
		"alerts":                                {"deviation", "coverage"},
		"alerts?state=open":                     {"coverage"},
		"alerts?kind=deviation":                 {"deviation"},
		"alerts?kind=deviation&state=open":      {},
		"alerts?since=1h":                       {"coverage"},
		"alerts?kind=objective&since=" + "300d": {},
	} {
		w := s.get(query)
		if w.Code != http.StatusOK {
			t.Errorf("%s: answered %d %s", query, w.Code, w.Body)
			continue
		}
		var got []string
		for _, a := range decoded(t, w)["alerts"].([]any) {
			got = append(got, a.(map[string]any)["kind"].(string))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	first := decoded(t, s.get("alerts"))["alerts"].([]any)[0].(map[string]any)
	if first["series"] != "westeurope|eastus|public|tcp-64" || first["target"] != "eastus" || first["ended_at"] != noon.Add(-2*time.Hour).Format(time.RFC3339) || first["message"] != "slow" || first["end_message"] != "as usual" {
		t.Errorf("the first is %v", first)
	}
	if w := s.get("alerts?kind=loss"); w.Code != http.StatusBadRequest {
		t.Errorf("kind loss: answered %d", w.Code)
	}
	tag := s.get("alerts").Header().Get("ETag")
	*s.now = noon.Add(9 * time.Second)
	if w := s.get("alerts", "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Errorf("nine seconds later: answered %d", w.Code)
	}
}
