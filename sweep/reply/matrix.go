package reply

import (
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/answers"
	"isochrone/sweep/catalog"
)

// Cell is the newest run of one pair. Nil is absent.
type Cell struct {
	Environment string     `json:"environment"`
	Path        string     `json:"path"`
	Probe       string     `json:"probe"`
	Source      string     `json:"source"`
	Target      string     `json:"target"`
	State       string     `json:"state" jsonschema:"measured; failed: the newest run received nothing; missing: there is no run"`
	Failure     *string    `json:"failure" jsonschema:"failure code, when the state is failed"`
	Slot        *time.Time `json:"slot"`
	AgeS        *float64   `json:"age_s"`
	Stale       bool       `json:"stale" jsonschema:"older than the newest slot of the matrix"`
	N           *int       `json:"n" jsonschema:"samples received"`
	Sent        *int       `json:"sent"`
	Lost        *int       `json:"lost"`
	P50US       *float64   `json:"p50_us"`
	P50LowUS    *float64   `json:"p50_low_us"`
	P50HighUS   *float64   `json:"p50_high_us"`
	P90US       *float64   `json:"p90_us"`
	P90LowUS    *float64   `json:"p90_low_us"`
	P90HighUS   *float64   `json:"p90_high_us"`
	P99US       *float64   `json:"p99_us"`
	P99LowUS    *float64   `json:"p99_low_us"`
	P99HighUS   *float64   `json:"p99_high_us"`
	LossRatio   *float64   `json:"loss_ratio"`
	LossLow     *float64   `json:"loss_ratio_low"`
	LossHigh    *float64   `json:"loss_ratio_high"`
	UpBPS       *float64   `json:"throughput_up_bps"`
	DownBPS     *float64   `json:"throughput_down_bps"`
	BestBPS     *float64   `json:"saturate_best_bps"`
	PerSecond   *float64   `json:"rate_per_s"`
	DistanceKM  *float64   `json:"distance_km" jsonschema:"great circle between the regions"`
	FloorUS     *float64   `json:"floor_us" jsonschema:"round trip of light in fibre over the distance"`
	ExcessUS    *float64   `json:"excess_us" jsonschema:"p50 less the floor"`
	Stretch     *float64   `json:"stretch" jsonschema:"p50 over the floor, from 500 km on"`
	Degraded    *string    `json:"degraded" jsonschema:"reasons with commas between them"`
	Detail      *string    `json:"detail" jsonschema:"free text that goes with a failure"`
}

// CellOf is a cell of a matrix.
func CellOf(m *answers.Matrix, c *answers.Cell) Cell {
	out := Cell{Environment: m.Environment, Path: m.Path, Probe: m.Probe, Source: c.Source, Target: c.Target, State: string(c.State),
		P50US: c.P50US, P50LowUS: c.P50Range.LowUS, P50HighUS: c.P50Range.HighUS, P90US: c.P90US, P90LowUS: c.P90Range.LowUS, P90HighUS: c.P90Range.HighUS,
		P99US: c.P99US, P99LowUS: c.P99Range.LowUS, P99HighUS: c.P99Range.HighUS, Degraded: optional(Reasons(c.Degraded)), LossRatio: c.LossRatio, LossLow: c.LossLow, LossHigh: c.LossHigh,
		UpBPS: c.ThroughputUpBPS, DownBPS: c.ThroughputDownBPS, BestBPS: c.BestBPS, PerSecond: c.PerSecond,
		// No more digits than the coordinates and the clock can mean.
		DistanceKM: rounded(c.DistanceKM, 1), FloorUS: rounded(c.FloorUS, 3), ExcessUS: rounded(c.ExcessUS, 3), Stretch: rounded(c.Stretch, 3),
		Failure: optional(c.Failure), Detail: optional(c.Detail)}
	if c.State == answers.Missing {
		return out
	}
	age := c.Age.Seconds()
	out.Slot, out.AgeS, out.Stale = utc(c.Slot), &age, c.Older
	if c.Failure != wire.FailureExpired { // of a run that never came nobody knows the counts
		out.N, out.Sent, out.Lost = &c.N, &c.Sent, &c.Lost
	}
	return out
}

// Reasons writes why a run is degraded, with commas between.
func Reasons(list []summary.Reason) string {
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = string(r)
	}
	return strings.Join(words, ",")
}

// Matrix is the head of a matrix, which all of its forms share.
type Matrix struct {
	Path     string     `json:"path"`
	Probe    string     `json:"probe"`
	Kind     string     `json:"kind"`
	Newest   *time.Time `json:"newest_slot"`
	Series   int        `json:"series"`
	Oldest   *time.Time `json:"oldest_slot"`
	Measured int        `json:"measured"`
	Stale    int        `json:"stale"`
	Failed   int        `json:"failed"`
	Missing  int        `json:"missing"`
	Degraded int        `json:"degraded"`
	Probers  []string   `json:"probers"`
	// Endpoints are targets alone.
	Endpoints []string `json:"endpoints" jsonschema:"targets alone"`
}

// MatrixOf is the head of a matrix.
func MatrixOf(m *answers.Matrix) Matrix {
	return Matrix{Path: m.Path, Probe: m.Probe, Kind: string(m.Kind), Newest: utc(m.Newest), Series: len(m.Cells),
		Oldest: utc(m.Oldest), Measured: m.Measured, Stale: m.Older, Failed: m.Failed, Missing: m.Missing, Degraded: m.Degraded,
		Probers: append([]string{}, m.Probers...), Endpoints: append([]string{}, m.Endpoints...)}
}

// MatrixAnswer is Query's matrix of one probe over one path.
type MatrixAnswer struct {
	Head
	Matrix
	Cells []MatrixCell `json:"cells"`
}

// MatrixCell is a cell with what only Query says of it.
type MatrixCell struct {
	Cell
	PublishedP95MS *float64 `json:"published_p95_ms" jsonschema:"what Azure publishes for the two regions"`
	Simulated      bool     `json:"simulated"`
}

// MatrixAnswerOf shapes a matrix. Regions are the probers' by id, without those of a loopback configuration.
func MatrixAnswerOf(m *answers.Matrix, regions map[string]string, now time.Time) *MatrixAnswer {
	out := &MatrixAnswer{Head: NewHead(m.Environment, now), Matrix: MatrixOf(m), Cells: make([]MatrixCell, 0, len(m.Cells))}
	samples, runs := 0, 0
	for i := range m.Cells {
		c := &m.Cells[i]
		cell := MatrixCell{Cell: CellOf(m, c), Simulated: c.Simulated}
		if ms, ok := catalog.PublishedP95(regions[c.Source], regions[c.Target]); ok {
			cell.PublishedP95MS = &ms
		}
		out.Simulated = out.Simulated || c.Simulated
		if c.State != answers.Missing {
			samples, runs = samples+c.N, runs+1
		}
		out.Cells = append(out.Cells, cell)
	}
	out.RestsOn.Samples, out.RestsOn.Runs = &samples, &runs
	return out
}

// Still is the answer without what the passing of time alone changes.
func (a *MatrixAnswer) Still() any {
	out := *a
	out.Cells = make([]MatrixCell, len(a.Cells))
	copy(out.Cells, a.Cells)
	for i := range out.Cells {
		out.Cells[i].AgeS = nil
	}
	return &out
}
