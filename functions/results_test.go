package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/convert"
	"isochrone/sweep/dispatch"
	"isochrone/sweep/ingest"
	"isochrone/sweep/rollup"
)

// fake stands in for dispatch and ingest.
type fake struct {
	calls   []string
	slot    time.Time
	missed  []time.Time
	body    []byte
	with    ingest.Parameters
	outcome ingest.Outcome

	owed    []time.Time // what was recorded as missed, late
	unswept []time.Time // what the ledger lacks
	looks   int         // how often that was asked

	oweErr, sweepErr, deliverErr, resumeErr, drainErr, foreignErr, rollErr, alertErr error
}

func (f *fake) Sweep(_ context.Context, slot time.Time, missed []time.Time) (dispatch.Report, error) {
	f.calls, f.slot, f.missed = append(f.calls, "sweep"), slot, missed
	return dispatch.Report{}, f.sweepErr
}

func (f *fake) Miss(_ context.Context, slots []time.Time) (dispatch.Report, error) {
	f.calls, f.missed = append(f.calls, "miss"), slots
	return dispatch.Report{Missed: len(slots)}, f.sweepErr
}

func (f *fake) Owe(_ context.Context, slots []time.Time) (dispatch.Report, error) {
	f.calls, f.owed = append(f.calls, "owe"), append(f.owed, slots...)
	return dispatch.Report{Missed: len(slots)}, f.oweErr
}

func (f *fake) Unswept(context.Context, time.Time, func(after, before time.Time) []time.Time) ([]time.Time, error) {
	f.looks++
	return f.unswept, nil
}

func (f *fake) Deliver(context.Context) (dispatch.Report, error) {
	f.calls = append(f.calls, "deliver")
	return dispatch.Report{}, f.deliverErr
}

func (f *fake) Resume(context.Context) (dispatch.Report, error) {
	f.calls = append(f.calls, "resume")
	return dispatch.Report{}, f.resumeErr
}

func (f *fake) Drain(context.Context) (ingest.Report, error) {
	f.calls = append(f.calls, "drain")
	return ingest.Report{}, f.drainErr
}

func (f *fake) Run(context.Context) (rollup.Report, error) {
	f.calls = append(f.calls, "rollup")
	return rollup.Report{Written: 3}, f.rollErr
}

func (f *fake) Finish(context.Context) error {
	f.calls = append(f.calls, "alerts")
	return f.alertErr
}

func (f *fake) Report() alerts.Report { return alerts.Report{Raised: 7} }

func (f *fake) Foreign(_ context.Context, body []byte, p ingest.Parameters) (ingest.Outcome, error) {
	f.calls, f.body, f.with = append(f.calls, "foreign"), body, p
	return f.outcome, f.foreignErr
}

// faked is the app on fakes, and what it logs.
func faked(t *testing.T, f *fake, now time.Time) (*app, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	a := newApp(settings{Environment: "dev", Sweep: schedule(t, "0 */10 * * * *"), Timeout: time.Minute},
		func() time.Time { return now }, slog.New(slog.NewJSONHandler(log, nil)))
	a.dispatcher = func(context.Context, *slog.Logger) (dispatcher, error) { return f, nil }
	a.ingester = func(context.Context, *slog.Logger) (ingester, error) { return f, nil }
	a.roller = func(context.Context, *slog.Logger) (roller, alerter, error) { return f, f, nil }
	return a, log
}

// unhurried is a recorder that takes a deadline for reading as a connection does, and needs none.
type unhurried struct{ *httptest.ResponseRecorder }

func (unhurried) SetReadDeadline(time.Time) error { return nil }

// answerTo is what the app answers to a request.
func answerTo(a *app, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.handler().ServeHTTP(unhurried{w}, r)
	return w
}

func post(a *app, target, body string, header ...string) *httptest.ResponseRecorder {
	return request(a, http.MethodPost, target, body, header...)
}

func request(a *app, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return answerTo(a, r)
}

func decode(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	var m map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	return m
}

func TestResultsHandsTheDocumentOver(t *testing.T) {
	f := &fake{outcome: ingest.Outcome{Stored: true, Document: "raw-dev/foreign/x.json", Rows: 3}}
	a, log := faked(t, f, time.Now())
	w := post(a, "/api/results?source=westeurope&target=eastus&path=public&probe=iperf&code=s3cret-key", `{"a":1}`, "Content-Type", "application/json")
	if w.Code != http.StatusCreated {
		t.Fatalf("answered %d %s", w.Code, w.Body)
	}
	if got := decode(t, w); got["stored"] != true || got["rows"] != 3.0 || got["document"] != "raw-dev/foreign/x.json" {
		t.Errorf("answered %v", got)
	}
	want := ingest.Parameters{Source: "westeurope", Target: "eastus", Path: "public", Probe: "iperf"}
	if f.with != want || string(f.body) != `{"a":1}` {
		t.Errorf("handed over %q with %+v", f.body, f.with)
	}
	if strings.Count(log.String(), "\n") != 1 || strings.Contains(log.String(), "s3cret") {
		t.Errorf("logged %s", log)
	}
}

func TestResultsThatWaitAreAccepted(t *testing.T) {
	a, _ := faked(t, &fake{}, time.Now())
	w := post(a, "/api/results", "{}")
	if got := decode(t, w); w.Code != http.StatusAccepted || got["stored"] != false {
		t.Errorf("answered %d %v", w.Code, got)
	}
}

// asIngest is the error that ingest makes of a body that convert refuses.
func asIngest(t *testing.T, body string, status int) error {
	t.Helper()
	_, err := convert.Document([]byte(body))
	if err == nil {
		t.Fatalf("%.40q is accepted", body)
	}
	return fmt.Errorf("taking it: %w", &ingest.Refused{Status: status, Reason: err.Error(), Cause: err})
}

func TestResultsRefuseWithPlaceAndRemedy(t *testing.T) {
	packed := func(size int) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const future = `{"version":2,"environment":"dev","slot":"2026-11-30T10:20:00Z","source":"a","probe":"b","part":0,"assignment_id":"","attempt":"",` +
		`"provenance":{"prober_version":""},"runs":[]}`
	for name, c := range map[string]struct {
		target string
		header []string
		body   string
		says   int // the status that ingest says; 0 for a body that does not come so far
		other  error
		status int
		where  string
	}{
		"not recognised":      {body: "hello", says: 415, status: 415},
		"damaged gzip":        {body: packed(1000)[:20], says: 400, status: 400, where: "byte 1000"},
		"bomb":                {body: packed(wire.MaxDocumentBytes + 1), says: 413, status: 413},
		"malformed":           {body: `{"version": x}`, says: 400, status: 400, where: "version at byte 12"},
		"cannot be":           {body: future, says: 422, status: 422},
		"refused by ingest":   {body: future, other: &ingest.Refused{Status: 422, Reason: "times ahead"}, status: 422},
		"unknown parameter":   {target: "/api/results?sorce=westeurope", status: 400, where: "query"},
		"parameter twice":     {target: "/api/results?source=a&source=b", status: 400, where: "query parameter source"},
		"parameter that lies": {target: "/api/results?source=West%20Europe", status: 400, where: "query parameter source"},
		"query that is none":  {target: "/api/results?%zz", status: 400, where: "query"},
		"unknown encoding":    {header: []string{"Content-Encoding", "br"}, status: 415, where: "header Content-Encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{foreignErr: c.other}
			if c.says != 0 {
				f.foreignErr = asIngest(t, c.body, c.says)
			}
			a, log := faked(t, f, time.Now())
			if c.target == "" {
				c.target = "/api/results"
			}
			w := post(a, c.target, c.body, c.header...)
			got := decode(t, w)
			where, _ := got["where"].(string)
			if w.Code != c.status || where != c.where || got["error"] == "" {
				t.Errorf("answered %d %v; want %d at %q", w.Code, got, c.status, c.where)
			}
			if c.says != 0 && got["remedy"] == nil {
				t.Errorf("answered %v; want a remedy", got)
			}
			if f.foreignErr == nil && len(f.calls) != 0 {
				t.Error("it was handed over all the same")
			}
			if n := strings.Count(log.String(), "\n"); n != 1 {
				t.Errorf("%d log lines, want 1:\n%s", n, log)
			}
		})
	}
}

func TestResultsTooLargeAreNotReadToTheirEnd(t *testing.T) {
	f := &fake{}
	a, _ := faked(t, f, time.Now())
	endless := &counted{}
	r := httptest.NewRequest(http.MethodPost, "/api/results", endless)
	w := answerTo(a, r)
	if got := decode(t, w); w.Code != http.StatusRequestEntityTooLarge || got["remedy"] == nil || len(f.calls) != 0 {
		t.Errorf("answered %d %v, handed over %v", w.Code, got, f.calls)
	}
	if endless.n > 2*wire.MaxDocumentBytes {
		t.Errorf("%d bytes were read", endless.n)
	}
}

// counted is a body without end.
type counted struct{ n int }

func (c *counted) Read(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

func TestResultsThatStorageCannotKeepAskForARetryAndTellNothing(t *testing.T) {
	f := &fake{foreignErr: errors.New("PUT https://account.blob.core.windows.net/inbox-dev: 503 ServerBusy")}
	a, log := faked(t, f, time.Now())
	w := post(a, "/api/results", "{}")
	got := decode(t, w)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "30" || strings.Contains(w.Body.String(), "windows.net") {
		t.Errorf("answered %d %v %v", w.Code, got, w.Header())
	}
	if !strings.Contains(log.String(), "ServerBusy") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged %s", log)
	}
}

func TestResultsTakePOSTAlone(t *testing.T) {
	f := &fake{}
	a, _ := faked(t, f, time.Now())
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		w := answerTo(a, httptest.NewRequest(method, "/api/results", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: answered %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	if len(f.calls) != 0 {
		t.Errorf("called %v", f.calls)
	}
}

func TestResultsCutOffAreRefused(t *testing.T) {
	f := &fake{}
	a, _ := faked(t, f, time.Now())
	r := httptest.NewRequest(http.MethodPost, "/api/results", io.MultiReader(strings.NewReader("{"), cut{}))
	w := answerTo(a, r)
	if w.Code != http.StatusBadRequest || len(f.calls) != 0 {
		t.Errorf("answered %d, handed over %v", w.Code, f.calls)
	}
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestDocumentsBeyondTheRoomWaitTheirTurn(t *testing.T) {
	f := &fake{outcome: ingest.Outcome{Stored: true}}
	a, _ := faked(t, f, time.Now())
	for range maxBodies {
		a.bodies <- struct{}{}
	}
	a.settings.Timeout = 50 * time.Millisecond
	if w := post(a, "/api/results", "{}"); w.Code != http.StatusServiceUnavailable || len(f.calls) != 0 {
		t.Errorf("with no room: answered %d, handed over %v", w.Code, f.calls)
	}
	<-a.bodies
	if w := post(a, "/api/results", "{}"); w.Code != http.StatusCreated {
		t.Errorf("with room: answered %d", w.Code)
	}
}
