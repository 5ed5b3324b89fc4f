package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isochrone/prober/probe"
	"isochrone/prober/wire"
)

func TestARunThatTheAppRulesOutCarriesTheAppsReason(t *testing.T) {
	const older = "the app knew of it when the sweep was planned" // an app that gives no reason
	for name, c := range map[string]struct{ told, want string }{
		"a reason":           {"the target never registered", "the target never registered"},
		"an older app":       {"", older},
		"a reason too large": {strings.Repeat("x", 2*wire.MaxDetailBytes), strings.Repeat("x", wire.MaxDetailBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				as := assignment("tcp-64", "EASTUS")
				as.Runs[0].Detail = c.told
				a, courier, box, _ := rig(giving(as))
				live(t, a, courier, 2*time.Minute)
				if r := only(t, box).Runs[0]; r.Failure != wire.FailureTargetDown || r.Detail != c.want {
					t.Errorf("failure %q with detail %q: want %q", r.Failure, r.Detail, c.want)
				}
			})
		})
	}
}

func TestAnHTTPRunAsksForTheURLThatTheAppAssigned(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(server.Close)
	start := time.Now()
	as := &wire.Assignment{
		Start: start, LatestStart: start.Add(time.Minute), Deadline: start.Add(time.Minute),
		Spec: wire.Spec{Kind: wire.KindHTTP, Count: 1, Interval: 10 * time.Millisecond, Timeout: 10 * time.Second, Method: "GET", Connection: wire.ConnectionFresh},
		Runs: []wire.AssignedRun{{Target: "api", Path: "public", URL: server.URL + "/health", Loopback: true}},
	}
	a := &agent{now: time.Now, prober: probe.New(probe.NewPacer(1))}
	r := a.runs(t.Context(), as, "")[0]
	if r.Counts.Received != 1 || r.Address != server.Listener.Addr().String() || len(asked) != 1 || <-asked != "/health" {
		t.Errorf("failure %q (%s), counts %+v, address %q", r.Failure, r.Detail, r.Counts, r.Address)
	}
	as.Runs[0].Loopback = false
	if r := a.runs(t.Context(), as, "")[0]; r.Counts.Received != 0 || r.Failure != wire.FailureUnsupported || len(asked) != 0 {
		t.Errorf("without leave to measure loopback: failure %q (%s), counts %+v", r.Failure, r.Detail, r.Counts)
	}
}
