package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Series names a series.
type Series struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Path   string `json:"path"`
	Probe  string `json:"probe"`
	Kind   string `json:"kind" jsonschema:"what the probe measures, of the newest hour; empty without hours"`
}

// Window is of what time an answer over history is, and how much of it has data.
type Window struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until" jsonschema:"the hours begin before it"`
	// HoursInWindow are all, HoursWithData those that have a row: the others are masked.
	HoursInWindow int        `json:"hours_in_window" jsonschema:"hours that begin in the window"`
	HoursWithData int        `json:"hours_with_data" jsonschema:"those of them that have a row; the others are masked"`
	NewestHour    *time.Time `json:"newest_hour" jsonschema:"the newest hour that is rolled up; null without any"`
	Behind        bool       `json:"behind" jsonschema:"hours that have ended lie after the newest one: not measured, or not rolled up yet"`
}

// Quantiles are those of all round trips of a window, from merged histograms.
type Quantiles struct {
	N      int      `json:"n" jsonschema:"round trips in the merged histograms"`
	P50US  *float64 `json:"p50_us"`
	P90US  *float64 `json:"p90_us"`
	P95US  *float64 `json:"p95_us"`
	P99US  *float64 `json:"p99_us"`
	P999US *float64 `json:"p999_us"`
	// Without are hours with round trips whose histogram is missing.
	Without int `json:"hours_without_histogram" jsonschema:"hours with round trips that are not in it"`
}

// Change is where a series got another level.
type Change struct {
	T        time.Time `json:"t" jsonschema:"the first hour of the new level"`
	BeforeUS float64   `json:"before_us"`
	AfterUS  float64   `json:"after_us"`
	P        float64   `json:"p" jsonschema:"of the test that found it"`
	Kind     string    `json:"kind" jsonschema:"rerouted: the least round trips moved; congestion: the medians alone did; step: the least are not known"`
}

func headOf(environment string, now time.Time, r *answers.Rests) Head {
	h := NewHead(environment, now)
	h.Simulated = r.Simulated
	h.RestsOn = restsOn(r)
	return h
}

func restsOn(r *answers.Rests) RestsOn {
	samples, runs, hours := r.Samples, r.Runs, r.Hours
	return RestsOn{Samples: &samples, Runs: &runs, Hours: &hours}
}

func seriesOf(h *answers.History) Series {
	q := &h.Query
	return Series{q.Source, q.Target, q.Path, q.Probe, string(h.Kind)}
}

func windowOf(h *answers.History) Window {
	return Window{Since: h.Query.Since.UTC(), Until: h.Query.Until.UTC(), HoursInWindow: h.InWindow, HoursWithData: h.Rests.Hours,
		NewestHour: utc(h.Newest), Behind: h.Behind}
}

func quantilesOf(q *answers.Quantiles) Quantiles {
	return Quantiles{N: q.N, P50US: rounded(q.P50US, 3), P90US: rounded(q.P90US, 3), P95US: rounded(q.P95US, 3), P99US: rounded(q.P99US, 3),
		P999US: rounded(q.P999US, 3), Without: q.Without}
}

func changeOf(c *answers.Change) Change {
	return Change{c.Time.UTC(), round(c.BeforeUS, 3), round(c.AfterUS, 3), c.P, string(c.Kind)}
}

func changesOf(list []answers.Change) []Change {
	out := make([]Change, len(list))
	for i := range list {
		out[i] = changeOf(&list[i])
	}
	return out
}

func round(v float64, digits int) float64 { return *rounded(&v, digits) }
