package questions

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/functions/host"
	"isochrone/prober/wire"
	"isochrone/sweep/archive"
	"isochrone/sweep/ledger"
	"isochrone/sweep/tables"
)

// noon is when the tests ask.
var noon = time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)

const configuration = `version: 1
environment: dev
probers:
  - region: westeurope
    addresses: {public: [20.50.0.0/16], peering: [10.0.0.0/16]}
  - region: eastus
    addresses: {public: [20.60.0.0/16], peering: [10.1.0.0/16]}
  - region: southeastasia
    addresses: {public: [20.70.0.0/16]}
budget: {sweep: 200GB, month: 5TB}
endpoints:
  - {name: db, path: public, address: "db.example.net:5432"}
probes:
  - {name: up, kind: throughput, schedule: "5 1 * * *", paths: [public], max_bytes: 2GB}
  - {name: tcp-64, kind: tcp, schedule: "*/10 * * * *", paths: [public, peering], count: 100, interval: 20ms, request: 64}
  - {name: handshake, kind: connect, schedule: "*/10 * * * *", paths: [public], count: 10, interval: 20ms, to: [db]}
`

// stores are Rows and Blobs in memory.
type stores struct {
	latest  []tables.Row
	runs    []tables.Row // in the order of Runs
	hours   []tables.Hour
	probers []wire.Registration
	alerts  []tables.Alert
	config  string
	err     error
	block   chan struct{} // Latest waits for it where there is one
}

func (s *stores) Latest(ctx context.Context, path, probe string) (out []tables.Row, err error) {
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for _, r := range s.latest {
		if r.Series.Path == path && r.Series.Probe == probe {
			out = append(out, r)
		}
	}
	return out, s.err
}

// each yields what fits, and the error at the end.
func each[T any](list []T, err error, fits func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if fits(v) && !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func fits(series wire.Series, source, target, path, probe string) bool {
	is := func(want, has string) bool { return want == "" || want == has }
	return is(source, series.Source) && is(target, series.Target) && is(path, series.Path) && is(probe, series.Probe)
}

func (s *stores) Runs(_ context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error] {
	return each(s.runs, s.err, func(r tables.Row) bool {
		return fits(r.Series, q.Source, q.Target, q.Path, q.Probe) && !r.Slot.Before(q.Since) && r.Slot.Before(q.Until)
	})
}

func (s *stores) Outcomes(ctx context.Context, q tables.RunQuery) iter.Seq2[tables.Row, error] {
	return s.Runs(ctx, q)
}

func (s *stores) Sweeps(context.Context, time.Time, time.Time) ([]ledger.Header, error) {
	return nil, s.err
}

func (s *stores) Entries(context.Context, string, time.Time, time.Time) iter.Seq2[ledger.Entry, error] {
	return each([]ledger.Entry{}, s.err, func(ledger.Entry) bool { return true })
}

func (s *stores) Probers(context.Context) ([]wire.Registration, error) { return s.probers, s.err }

func (s *stores) Hours(_ context.Context, q tables.HourQuery) iter.Seq2[tables.Hour, error] {
	return each(s.hours, s.err, func(h tables.Hour) bool {
		return fits(h.Series, q.Source, q.Target, q.Path, q.Probe) && !h.Begin.Before(q.Since) && h.Begin.Before(q.Until)
	})
}

func (s *stores) SeriesOf(_ context.Context, source string) (out []wire.Series, err error) {
	for _, h := range s.hours {
		if h.Series.Source == source && !slices.Contains(out, h.Series) {
			out = append(out, h.Series)
		}
	}
	return out, s.err
}

func (s *stores) Config(context.Context) ([]byte, bool, error) {
	return []byte(s.config), s.config != "", s.err
}

func (s *stores) PinnedConfig(context.Context, string) ([]byte, bool, error) {
	return []byte(s.config), s.config != "", s.err
}

func (s *stores) Registrations(context.Context) ([]archive.Registered, error) { return nil, s.err }

func (s *stores) Quarantined(context.Context, time.Time, string) iter.Seq2[archive.Held, error] {
	return each([]archive.Held{}, s.err, func(archive.Held) bool { return true })
}

func pointer[T any](v T) *T { return &v }

func series(source, target, path, probe string) wire.Series {
	return wire.Series{Environment: "dev", Source: source, Target: target, Path: path, Probe: probe}
}

// measured is a run of a round trip.
func measured(s wire.Series, slot time.Time, us float64) tables.Row {
	return tables.Row{Series: s, Slot: slot, Kind: wire.KindTCP, Counts: wire.Counts{Sent: 100, Received: 100}, MinUS: pointer(us), MeanUS: pointer(us), P50US: pointer(us),
		MaxUS: pointer(us), LossRatio: pointer(0.0), LossLow: pointer(0.0), LossHigh: pointer(0.04)}
}

// filled are stores with something to answer for every question.
func filled() *stores {
	s := &stores{config: configuration}
	slot := noon.Truncate(10 * time.Minute)
	for _, pair := range [][2]string{{"eastus", "westeurope"}, {"westeurope", "eastus"}} {
		for _, path := range []string{"peering", "public"} {
			is := series(pair[0], pair[1], path, "tcp-64")
			s.latest = append(s.latest, measured(is, slot, 80_000))
			for back := range 8 { // newest first
				us := 80_000.0
				if path == "peering" {
					us = 79_000
				}
				s.runs = append(s.runs, measured(is, slot.Add(-time.Duration(back)*10*time.Minute), us))
			}
		}
	}
	s.probers = []wire.Registration{{Version: 1, Environment: "dev", Prober: "westeurope", Region: "westeurope", Started: noon.Add(-time.Hour), Heartbeat: noon.Add(-20 * time.Second),
		HeartbeatInterval: 30 * time.Second, Addresses: []wire.PathAddress{{Path: "public", Host: "20.50.0.4", TCPPort: 7700}},
		Provenance: wire.Provenance{ProberVersion: "1.2.3", VMSize: "Standard_F2s_v2", ClockErrorNS: pointer(int64(250_000))}}}
	return s
}

// server is the handler behind the same Mux as in the app.
type server struct {
	t      testing.TB
	mux    *host.Mux
	stores *stores
	now    *time.Time
	h      *Handler
}

func serve(t testing.TB, s *stores) *server {
	t.Helper()
	now := noon
	of := &server{t: t, stores: s, now: &now}
	of.h = New("dev", 5*time.Second, func() time.Time { return *of.now }, func(context.Context) (Rows, Blobs, error) { return s, s, nil })
	of.mux = host.NewMux(host.Options{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Timeout: time.Minute, MaxBody: 1 << 20})
	of.mux.HTTPBelow("Query", "/api/query", time.Minute, of.h)
	return of
}

// get asks, with header names and values.
func (s *server) get(target string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.send(http.MethodGet, target, header...)
}

func (s *server) send(method, target string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "/api/query/"+target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

func decoded(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("status %d, body %.300q: %v", w.Code, w.Body, err)
	}
	return out
}

// faults are the parameters at fault and the whole text of a refusal.
func faults(t *testing.T, w *httptest.ResponseRecorder) (parameters []string, text string) {
	t.Helper()
	var out failure
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("status %d, body %.300q: %v", w.Code, w.Body, err)
	}
	for _, f := range out.Error.Faults {
		parameters = append(parameters, f.Parameter)
	}
	return parameters, strings.Join([]string{out.Error.Message, out.Error.Remedy}, "\n")
}
