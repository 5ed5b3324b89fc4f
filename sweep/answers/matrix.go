package answers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/catalog"
	"isochrone/sweep/config"
	"isochrone/sweep/tables"
)

// MinStretchKM is the least distance over which Stretch says anything: the regions' coordinates
// are a city's, and nearer than this their error is too large a part of the way.
const MinStretchKM = 500

// State says what is known of a cell.
type State string

// The states of a cell.
const (
	// Measured: the newest run received at least one sample.
	Measured State = "measured"
	// Failed: the newest run received nothing; Failure says why.
	Failed State = "failed"
	// Missing: the configuration has the pair, and there is no run of it at all.
	Missing State = "missing"
)

// Cell is the newest run of one ordered pair. Nil figures are absent: the run failed, is
// missing, or has too few samples for the percentile.
type Cell struct {
	Source, Target string
	State          State
	Failure        wire.Failure // set exactly when State is Failed
	Detail         string       // free text that goes with a failure; not to be trusted
	Slot           time.Time    // of the run; zero when it is missing
	Age            time.Duration
	// Older says that another pair of the matrix has a run of a newer slot.
	Older bool
	// Simulated says that nobody measured the run: a model made it up.
	Simulated bool

	N, Sent, Lost                int // samples received, sent, and lost
	P50US, P90US, P99US          *float64
	P50Range, P90Range, P99Range tables.Range // at 95 %
	// Degraded lists why the figures are not to be relied on without a look.
	Degraded []summary.Reason
	// ThroughputUpBPS and ThroughputDownBPS are payload in bit/s, and BestBPS that of saturate's best
	// level; PerSecond is what Rate is.
	ThroughputUpBPS, ThroughputDownBPS, BestBPS, PerSecond *float64
	LossRatio                                              *float64
	LossLow, LossHigh                                      *float64 // Wilson interval at 95 %
	DistanceKM                                             *float64 // great circle between the regions
	FloorUS                                                *float64 // round trip of light in fibre over DistanceKM
	ExcessUS                                               *float64 // P50US − FloorUS
	Stretch                                                *float64 // P50US ÷ FloorUS, from MinStretchKM on
}

// Value is a statistic of the cell, nil when it is absent.
func (c *Cell) Value(s Statistic) *float64 {
	switch s {
	case P50:
		return c.P50US
	case P90:
		return c.P90US
	case P99:
		return c.P99US
	case Loss:
		return c.LossRatio
	case Throughput:
		return first(c.ThroughputUpBPS, c.ThroughputDownBPS, c.BestBPS)
	case Rate:
		return c.PerSecond
	}
	return nil
}

// Matrix is the newest run of every ordered pair that one probe measures over one path.
type Matrix struct {
	Environment string
	Path, Probe string
	Kind        wire.Kind
	// Probers are those of the path, in the configuration's order. Endpoints are those that the probe
	// measures over it, after them: never sources, and without a place that could be compared.
	Probers, Endpoints []string
	// Cells are source by source in that order; a pair that the probe does not measure has none.
	Cells  []Cell
	Newest time.Time // slot of the newest run; zero without any
	// Measured and Failed count the cells of the newest slot, Older those of an older one,
	// whatever came of them, and Missing the rest: the four make up all cells.
	Measured, Older, Failed, Missing int
	Degraded                         int       // cells that are degraded, older ones included
	Oldest                           time.Time // slot of the oldest run; zero without any
}

// Cell finds a pair's cell.
func (m *Matrix) Cell(source, target string) (*Cell, bool) {
	for i := range m.Cells {
		if c := &m.Cells[i]; c.Source == source && c.Target == target {
			return c, true
		}
	}
	return nil, false
}

// Targets are the probers and the endpoints.
func (m *Matrix) Targets() []string { return slices.Concat(m.Probers, m.Endpoints) }

// LatestRows is where the newest run of each series is found. tables.Store satisfies it.
type LatestRows interface {
	Latest(ctx context.Context, path, probe string) ([]tables.Row, error)
}

// ReadMatrix answers what the newest run of every pair said. The path and the probe are the
// configuration's, and the probe measures over the path; anything else is an error.
func ReadMatrix(ctx context.Context, from LatestRows, c *config.Config, path, probe string, now time.Time) (*Matrix, error) {
	p, err := findProbe(c, path, probe)
	if err != nil {
		return nil, err
	}
	rows, err := from.Latest(ctx, path, probe)
	if err != nil {
		return nil, fmt.Errorf("reading the newest runs of probe %q over path %q: %w", probe, path, err)
	}
	type pair struct{ source, target string }
	newest := make(map[pair]*tables.Row, len(rows))
	for i := range rows {
		newest[pair{rows[i].Series.Source, rows[i].Series.Target}] = &rows[i]
	}
	m := &Matrix{Environment: c.Environment, Path: path, Probe: probe, Kind: p.Spec.Kind}
	for _, prober := range c.Probers {
		if _, on := prober.Addresses[path]; on {
			m.Probers = append(m.Probers, prober.ID)
		}
	}
	for _, e := range c.Endpoints {
		if e.Path == path && slices.Contains(p.To, e.Name) {
			m.Endpoints = append(m.Endpoints, e.Name)
		}
	}
	asked := map[pair]bool{}
	for _, of := range c.Pairs(&p) {
		if of.Path == path {
			asked[pair{of.Source, of.Target}] = true
		}
	}
	for _, source := range m.Probers {
		for _, target := range m.Targets() {
			if of := (pair{source, target}); asked[of] {
				m.add(newCell(c, source, target, newest[of], now))
			}
		}
	}
	for i := range m.Cells {
		cell := &m.Cells[i]
		cell.Older = cell.State != Missing && cell.Slot.Before(m.Newest)
	}
	m.count()
	return m, nil
}

// count counts the cells, once it is known which of them are older.
func (m *Matrix) count() {
	for i := range m.Cells {
		if len(m.Cells[i].Degraded) > 0 {
			m.Degraded++
		}
		switch cell := &m.Cells[i]; {
		case cell.State == Missing:
			m.Missing++
		case cell.Older:
			m.Older++
		case cell.State == Failed:
			m.Failed++
		default:
			m.Measured++
		}
	}
}

func findProbe(c *config.Config, path, probe string) (config.Probe, error) {
	for _, p := range c.Probes {
		if p.Name != probe {
			continue
		}
		if slices.Contains(p.Paths, path) {
			return p, nil
		}
		return config.Probe{}, fmt.Errorf("probe %q does not measure over path %q", probe, path)
	}
	return config.Probe{}, fmt.Errorf("probe %q is not in the configuration", probe)
}

func (m *Matrix) add(cell Cell) {
	if cell.State != Missing {
		if cell.Slot.After(m.Newest) {
			m.Newest = cell.Slot
		}
		if m.Oldest.IsZero() || cell.Slot.Before(m.Oldest) {
			m.Oldest = cell.Slot
		}
	}
	m.Cells = append(m.Cells, cell)
}

func newCell(c *config.Config, source, target string, row *tables.Row, now time.Time) Cell {
	cell := Cell{Source: source, Target: target, State: Missing}
	if row != nil {
		cell = cellOf(row, now)
	}
	cell.compare(c)
	return cell
}

func cellOf(row *tables.Row, now time.Time) Cell {
	cell := Cell{
		Source: row.Series.Source, Target: row.Series.Target, State: Measured, Slot: row.Slot, Age: now.Sub(row.Slot), Simulated: row.Simulated,
		N: row.Counts.Received, Sent: row.Counts.Sent, Lost: row.Counts.Lost,
		P50US: row.P50US, P90US: row.P90US, P99US: row.P99US,
		P50Range: row.P50Range, P90Range: row.P90Range, P99Range: row.P99Range, Degraded: row.Noise.Degraded,
		ThroughputUpBPS: row.Bulk.Throughput.UpBPS, ThroughputDownBPS: row.Bulk.Throughput.DownBPS, BestBPS: row.Bulk.Saturation.BestBPS, PerSecond: Rate.of(row),
		LossRatio: row.LossRatio, LossLow: row.LossLow, LossHigh: row.LossHigh,
	}
	if row.Failure != "" {
		cell.State, cell.Failure, cell.Detail = Failed, row.Failure, row.Detail
	}
	return cell
}

// compare fills in what the catalog says of the way. On one machine (loopback) the probers are
// not where their regions are, and there is nothing to compare with; nor is there for an endpoint,
// of which nobody has said where it is.
func (c *Cell) compare(conf *config.Config) {
	if conf.Loopback {
		return
	}
	a, okA := regionOf(conf, c.Source)
	b, okB := regionOf(conf, c.Target)
	if !okA || !okB {
		return
	}
	km := catalog.Distance(a, b)
	floor := float64(catalog.Floor(km)) / float64(time.Microsecond)
	c.DistanceKM, c.FloorUS = &km, &floor
	if c.P50US == nil {
		return
	}
	excess := *c.P50US - floor
	c.ExcessUS = &excess
	if km >= MinStretchKM {
		stretch := *c.P50US / floor
		c.Stretch = &stretch
	}
}

func regionOf(c *config.Config, prober string) (catalog.Region, bool) {
	p, ok := c.Prober(prober)
	if !ok {
		return catalog.Region{}, false
	}
	return catalog.Lookup(p.Region)
}
