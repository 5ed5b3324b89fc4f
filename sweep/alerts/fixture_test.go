package alerts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/sweep/alerts"
	"isochrone/sweep/tables"
)

func TestMain(m *testing.M) { azuritetest.Main(m) }

const environment = "test"

var (
	hour0 = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) // a Monday
	is    = wire.Series{Environment: environment, Source: "westeurope", Target: "eastus", Path: "public", Probe: "tcp-64"}
)

const subject = "westeurope|eastus|public|tcp-64"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hourOf is an hour with a median and a smallest round trip, in ms.
func hourOf(series wire.Series, at time.Time, p50, least float64) tables.Hour {
	n, p, l := 600, p50*1000, least*1000
	return tables.Hour{Series: series, Begin: at, Kind: wire.KindTCP, Inputs: at.String(), Runs: 6, First: at, Last: at.Add(50 * time.Minute),
		Counts: tables.HourCounts{Received: &n}, RTT: tables.RTTs{P50US: &p, MinUS: &l}}
}

// newsOf is what a roller would tell of an hour.
func newsOf(h tables.Hour) tables.Level {
	return tables.Level{Series: h.Series, Kind: h.Kind, Begin: h.Begin, P50US: h.RTT.P50US, MinUS: h.RTT.MinUS, Simulated: h.Simulated > 0}
}

// usual is 80 ms in median, some more by day, and differs a little from week to week.
func usual(at time.Time) float64 {
	week := int(at.Unix()/3600/168) % 5
	v := 80 + 0.05*float64(week)
	if h := at.Hour(); h >= 8 && h < 18 {
		v += 2
	}
	return v
}

// person is whoever evaluates: a program with its own log, on a store and at a time.
type person struct {
	rows alerts.Rows
	from alerts.Configs
	log  bytes.Buffer
	// search says that changes are searched for: most tests are of something else.
	search bool
}

// at is an evaluator for one invocation, as the function makes it.
func (p *person) at(now time.Time) *alerts.Evaluator {
	e := alerts.New(environmentOf(p.rows), p.rows, p.from, func() time.Time { return now }, slog.New(slog.NewJSONHandler(&p.log, nil)))
	if !p.search {
		e.ChangesIn = nil
	}
	return e
}

func environmentOf(rows alerts.Rows) string {
	if m, ok := rows.(*memory); ok {
		return m.environment
	}
	return environment
}

// hear is one invocation shortly after an hour: the hour's news, and what ends by itself.
func (p *person) hear(ctx context.Context, h tables.Hour) error {
	e := p.at(h.Begin.Add(65 * time.Minute))
	if err := e.Watch(ctx, h.Series.Source, []tables.Level{newsOf(h)}); err != nil {
		return err
	}
	return e.Finish(ctx)
}

// lines are the lines about alerts, as "message kind series since".
func (p *person) lines(t testing.TB) (out []string) {
	t.Helper()
	for _, text := range strings.Split(strings.TrimSpace(p.log.String()), "\n") {
		if text == "" {
			continue
		}
		var line struct {
			Msg, Kind, Series string
			Since             time.Time
		}
		must(t, json.Unmarshal([]byte(text), &line))
		if strings.HasPrefix(line.Msg, "alert ") {
			out = append(out, line.Msg+" "+line.Kind+" "+line.Series+" "+line.Since.Format("2006-01-02T15"))
		}
	}
	return out
}

// inMemory is a fake with four weeks of a usual series up to hour0.
func inMemory() *memory {
	m := newMemory(environment)
	for h := 1; h <= 28*24+5; h++ {
		at := hour0.Add(-time.Duration(h) * time.Hour)
		m.put(hourOf(is, at, usual(at), 79))
	}
	return m
}
