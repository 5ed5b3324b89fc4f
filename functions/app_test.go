package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/functions/host"
)

func TestTheSweepTimerSweepsItsSlotAndFinishesOthers(t *testing.T) {
	f := &fake{}
	a, log := faked(t, f, at(t, "10:56:10"))
	w := post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":{"Last":"2026-11-30T10:10:00+00:00","Next":"2026-11-30T10:30:00+00:00"},"IsPastDue":true}},"Metadata":{}}`,
		host.HeaderInvocationID, "id-1")
	if w.Code != http.StatusOK || !slices.Equal(f.calls, []string{"sweep", "deliver"}) {
		t.Fatalf("answered %d %s, called %v", w.Code, w.Body, f.calls)
	}
	if !f.slot.Equal(at(t, "10:50:00")) || len(f.missed) != 2 || !f.missed[0].Equal(at(t, "10:30:00")) {
		t.Errorf("slot %s, missed %v", f.slot, f.missed)
	}
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line["slot"] != "20261130T1050" || line["invocation_id"] != "id-1" || line["function"] != "Sweep" {
		t.Errorf("logged %s (%v)", log, err)
	}
}

func TestATickThatComesTooLateRecordsWhatWasMissedAndSweepsNothing(t *testing.T) {
	for _, failure := range []error{nil, errors.New("storage is away")} {
		f := &fake{sweepErr: failure}
		a, log := faked(t, f, at(t, "02:00:00"))
		a.settings.Sweep = schedule(t, "0 0 3 * * *")
		w := post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":{"Last":"2026-11-27T03:00:00+00:00","Next":"2026-11-28T03:00:00+00:00"},"IsPastDue":true}}}`)
		want := http.StatusOK
		if failure != nil {
			want = http.StatusInternalServerError
		}
		if w.Code != want || !slices.Equal(f.calls, []string{"miss", "deliver"}) {
			t.Fatalf("answered %d %s, called %v", w.Code, w.Body, f.calls)
		}
		if len(f.missed) != 2 || !f.missed[0].Equal(at(t, "28 03:00:00")) || !f.missed[1].Equal(at(t, "29 03:00:00")) {
			t.Errorf("missed %v", f.missed)
		}
		if !strings.Contains(log.String(), "nothing is swept") || strings.Contains(log.String(), "00010101") {
			t.Errorf("logged %s", log)
		}
	}
}

func TestAFailedSweepStillFinishesOthersAndAsksForARetry(t *testing.T) {
	f := &fake{sweepErr: errors.New("no configuration"), deliverErr: errors.New("storage is away")}
	a, log := faked(t, f, at(t, "10:20:00"))
	w := post(a, "/Sweep", `{"Data":{"timer":{"ScheduleStatus":null}}}`)
	if w.Code != http.StatusInternalServerError || !slices.Equal(f.calls, []string{"sweep", "deliver"}) {
		t.Errorf("answered %d, called %v", w.Code, f.calls)
	}
	for _, cause := range []string{"no configuration", "storage is away"} {
		if strings.Count(log.String(), cause) != 1 {
			t.Errorf("%q is not logged exactly once:\n%s", cause, log)
		}
	}
}

// Nothing may expire before the inbox was looked at, and a fault in one step keeps no other back.
func TestIngestDeliversDrainsAndThenExpires(t *testing.T) {
	for _, f := range []*fake{{}, {deliverErr: errors.New("a")}, {drainErr: errors.New("b")}, {resumeErr: errors.New("c")}} {
		a, _ := faked(t, f, time.Now())
		w := post(a, "/Ingest", `{"Data":{"timer":{}}}`)
		want := http.StatusOK
		if f.deliverErr != nil || f.resumeErr != nil || f.drainErr != nil {
			want = http.StatusInternalServerError
		}
		if w.Code != want || !slices.Equal(f.calls, []string{"deliver", "drain", "resume"}) {
			t.Errorf("answered %d, want %d; called %v", w.Code, want, f.calls)
		}
	}
}

func TestTheRollupTimerRollsUpAndSaysWhatFailed(t *testing.T) {
	away := errors.New("storage is away")
	for _, f := range []*fake{{}, {rollErr: away}, {alertErr: away}} {
		a, log := faked(t, f, time.Now())
		w := post(a, "/Rollup", `{"Data":{"timer":{}}}`)
		want := http.StatusOK
		if f.rollErr != nil || f.alertErr != nil {
			want = http.StatusInternalServerError
		}
		if w.Code != want || !slices.Equal(f.calls, []string{"rollup", "alerts"}) || !strings.Contains(log.String(), `"written":3`) || !strings.Contains(log.String(), `"raised":7`) {
			t.Errorf("answered %d, want %d; called %v, logged %s", w.Code, want, f.calls, log)
		}
	}
}

type binding struct {
	Type, Direction, Name, Schedule, AuthLevel, Route string
	Methods                                           []string
	RunOnStartup                                      *bool
}

// functionFiles are the bindings of every function.json, by function.
func functionFiles(t *testing.T) map[string][]binding {
	t.Helper()
	files, err := filepath.Glob("*/function.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no function.json found (%v)", err)
	}
	out := map[string][]binding{}
	for _, f := range files {
		var content struct{ Bindings []binding }
		readJSON(t, f, &content)
		out[filepath.Dir(f)] = content.Bindings
	}
	return out
}

func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestNamesRoutesAndBindingsAgreeWithTheHandler(t *testing.T) {
	a, _ := faked(t, &fake{}, time.Now())
	mux := a.handler()
	files := functionFiles(t)
	schedules := map[string]string{"Sweep": envSweepSchedule, "Ingest": envIngestSchedule, "Rollup": envRollupSchedule, "Compact": envCompactSchedule}
	var routes []string
	for name, bindings := range files {
		if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`).MatchString(name) || strings.EqualFold(name, "host") {
			t.Errorf("the host does not accept the name %q", name)
		}
		if !slices.Contains(mux.Names(), name) {
			t.Errorf("%s/function.json has no function in the handler", name)
		}
		trigger := bindings[0]
		if trigger.Direction != "in" || trigger.RunOnStartup != nil {
			t.Errorf("%s: %+v: want a trigger that does not run at start", name, trigger)
		}
		switch trigger.Type {
		case "timerTrigger":
			if want := "%" + schedules[name] + "%"; trigger.Schedule != want || trigger.Name != timerBinding || len(bindings) != 1 {
				t.Errorf("%s: %+v: want schedule %s and name %s alone", name, trigger, want, timerBinding)
			}
		case "httpTrigger":
			// The host's condition for passing requests through: one HTTP trigger and one HTTP output.
			if len(bindings) != 2 || bindings[1].Type != "http" || bindings[1].Direction != "out" {
				t.Errorf("%s: %+v: want one HTTP output beside the trigger", name, bindings)
			}
			want := map[string]binding{
				"Results":   {AuthLevel: "function", Methods: []string{"post"}},
				"Query":     {AuthLevel: "function", Methods: []string{"get", "head"}},
				"Dashboard": {AuthLevel: "anonymous", Methods: []string{"get", "head"}}, // a page without data
			}[name]
			if trigger.AuthLevel != want.AuthLevel || !slices.Equal(trigger.Methods, want.Methods) {
				t.Errorf("%s: %+v: want level %q and methods %q", name, trigger, want.AuthLevel, want.Methods)
			}
			routes = append(routes, regexp.MustCompile(`\{\*[a-z]+\}$`).ReplaceAllString(path.Join("/api", trigger.Route), "*"))
		default:
			t.Errorf("%s: trigger %q", name, trigger.Type)
		}
	}
	if len(files) != len(mux.Names()) {
		t.Errorf("%d function.json files, handler has %q", len(files), mux.Names())
	}
	slices.Sort(routes)
	if !slices.Equal(routes, mux.Routes()) {
		t.Errorf("routes %q, handler has %q", routes, mux.Routes())
	}
}

func TestHostJSONAgreesWithTheHandler(t *testing.T) {
	var h struct {
		Version, FunctionTimeout string
		CustomHandler            struct {
			Description               struct{ DefaultExecutablePath string }
			EnableProxyingHTTPRequest bool `json:"enableProxyingHttpRequest"`
		}
		Extensions struct {
			HTTP struct{ RoutePrefix *string }
		}
		ExtensionBundle struct{ ID, Version string }
	}
	readJSON(t, "../host.json", &h)
	timeout, err := parseTimeout(h.FunctionTimeout)
	if err != nil || timeout != functionTimeout {
		t.Errorf("functionTimeout %q (%v), the handler counts on %s", h.FunctionTimeout, err, functionTimeout)
	}
	if h.Version != "2.0" || h.CustomHandler.Description.DefaultExecutablePath != "handler" || !h.CustomHandler.EnableProxyingHTTPRequest {
		t.Errorf("got %+v", h)
	}
	if h.Extensions.HTTP.RoutePrefix != nil {
		t.Errorf("route prefix %q: the handler's paths have the default", *h.Extensions.HTTP.RoutePrefix)
	}
	if h.ExtensionBundle.ID != "Microsoft.Azure.Functions.ExtensionBundle" || h.ExtensionBundle.Version == "" {
		t.Errorf("extension bundle %+v: timers need it", h.ExtensionBundle)
	}
}
