package notebooks

import (
	"context"
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/tables"
)

// window is a line of the table of quantiles.
type window struct {
	RoundTrips int64    `json:"round_trips"`
	Hours      int      `json:"hours"`
	OfHours    int      `json:"of_hours"`
	P50US      *float64 `json:"p50_us"`
	P90US      *float64 `json:"p90_us"`
	P95US      *float64 `json:"p95_us"`
	P99US      *float64 `json:"p99_us"`
	P999US     *float64 `json:"p999_us"`
	Sent       float64  `json:"sent"`
	LossRatio  float64  `json:"loss_ratio"`
}

// The matrix is that of "sweep matrix", the quantiles of the week are those of the merged histograms, to the last digit,
// and lie where the model puts them.
func TestFirstLook(t *testing.T) {
	h := simulated(t)
	e := execute(t, "01-first-look", h.settings(), `SOURCE, TARGET = "westeurope", "eastus"`)
	e.sound(t, "SIMULATED, nobody measured this: ")
	var got struct {
		Origin   string                        `json:"origin"`
		Since    time.Time                     `json:"since"`
		Until    time.Time                     `json:"until"`
		Series   int                           `json:"series"`
		Failed   int                           `json:"failed"`
		Hours    int                           `json:"hours_in_window"`
		WithRuns int                           `json:"hours_with_runs"`
		Runs     int                           `json:"runs_last_day"`
		Matrix   map[string]map[string]float64 `json:"matrix_ms"`
		Window   map[string]window             `json:"window"`
	}
	e.summary(t, &got)
	if !got.Until.Equal(until) || !got.Since.Equal(until.AddDate(0, 0, -7)) || got.Hours != 168 || got.WithRuns != 168 || got.Series != 8 || got.Failed != 0 || got.Runs != 24 {
		t.Errorf("%+v", got)
	}
	if got.Origin != "SIMULATED, nobody measured this: 168 of 168 runs are a model's" {
		t.Errorf("origin %q", got.Origin)
	}

	var matrix struct {
		Matrices []struct {
			Cells []struct {
				Source, Target string
				P50US          float64 `json:"p50_us"`
			}
		}
	}
	must(t, json.Unmarshal(h.sweep(t, "matrix", "--probe", "udp", "--format", "json"), &matrix))
	cells := 0
	for _, c := range matrix.Matrices[0].Cells {
		if ms := got.Matrix[c.Source][c.Target]; math.Abs(ms*1000-c.P50US) > 0.001 {
			t.Errorf("%s to %s: %v ms, and sweep matrix has %v us", c.Source, c.Target, ms, c.P50US)
		}
		cells++
	}
	if cells != 4 || len(got.Matrix) != 2 {
		t.Errorf("%d cells of 4, %d rows of 2", cells, len(got.Matrix))
	}

	for _, target := range []string{"eastus", "southeastasia"} {
		compareWindow(t, target, got.Window[target], h.hours(t, "westeurope", target, "udp", got.Since))
		pair, step := h.pair(t, "westeurope", target), 0.0
		for _, s := range h.truth.Steps { // it is more than a week old
			if s.Source == "westeurope" && s.Target == target {
				step = s.DeltaUS
			}
		}
		quiet := pair.MedianUS + step
		if p := *got.Window[target].P50US; p < quiet || p > quiet+pair.AmplitudeUS {
			t.Errorf("%s: the median is %v us, and the model's goes from %v to %v", target, p, quiet, quiet+pair.AmplitudeUS)
		}
	}
}

// compareWindow holds quantiles and loss to those of the hours, computed with the code that the app uses.
func compareWindow(t *testing.T, target string, got window, hours []tables.Hour) {
	t.Helper()
	var sum wire.HistogramSum
	sent, lost, with := 0, 0.0, 0
	for i := range hours {
		if hours[i].Histogram != "" {
			must(t, sum.Add(hours[i].Histogram))
			with++
		}
		if l := hours[i].Loss; l.Ratio != nil {
			sent += *l.Sent
			lost += *l.Ratio * float64(*l.Sent)
		}
	}
	if got.RoundTrips != sum.Total() || got.Hours != with || got.Sent != float64(sent) || math.Abs(got.LossRatio-lost/float64(sent)) > 1e-12 {
		t.Errorf("%s: %+v, want %d round trips of %d hours, loss %v of %d", target, got, sum.Total(), with, lost/float64(sent), sent)
	}
	for p, us := range map[float64]*float64{0.5: got.P50US, 0.9: got.P90US, 0.95: got.P95US, 0.99: got.P99US, 0.999: got.P999US} {
		want := sum.Quantile(p)
		if want == nil || us == nil || math.Abs(*us-*want/1000) > 1e-9 {
			t.Errorf("%s, p%v: %v us, want %v ns", target, 100*p, us, want)
		}
	}
}

// Who connects to the wrong place is told so. The cells are run without Jupyter, which takes its time to fail.
func TestAnEnvironmentWithoutMeasurementsIsSaidToBeEmpty(t *testing.T) {
	acc, environment := azuritetest.Environment(t)
	script := ""
	_, n := read(t, "01-first-look.ipynb")
	for _, c := range n.Cells {
		if c.Type == "code" && c.ID != "draw" {
			script += string(c.Source) + "\n"
		}
		if c.ID == "series" {
			break
		}
	}
	for _, c := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"nothing was measured", []string{account.EnvEnvironment + "=" + environment, account.EnvConnectionString + "=" + acc.ConnectionString},
			"nothing was ever measured in environment '" + environment + "': is ISOCHRONE_ENVIRONMENT right?"},
		{"no settings", nil, "ISOCHRONE_ENVIRONMENT is not set: run `. .local/env` before Jupyter"},
		{"no account", []string{account.EnvEnvironment + "=" + environment}, "set one of ISOCHRONE_STORAGE_ACCOUNT (to use your identity) and ISOCHRONE_STORAGE_CONNECTION_STRING"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, python, "-c", script)
		cmd.Env = c.settings
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want an error with %q:\n%s", c.name, err, c.want, out)
		}
	}
}
