package answers

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"isochrone/sweep/tables"
)

// Grain is what one row of an export is.
type Grain string

// The grains.
const (
	GrainRun  Grain = "run"
	GrainHour Grain = "hour"
	GrainDay  Grain = "day" // UTC
)

// Grains lists them in the order of the documentation.
func Grains() []Grain { return []Grain{GrainRun, GrainHour, GrainDay} }

// ExportQuery asks for what is stored, row by row. Empty names stand for all.
type ExportQuery struct {
	Grain                       Grain
	Source, Target, Path, Probe string
	// Since and Until bound the slots, hours or days. Days are whole.
	Since, Until time.Time
	// Histograms says that the columns of histograms are wanted: they are most of the bytes.
	Histograms bool
}

// Export is rows that are read while they are taken.
type Export struct {
	Columns []tables.Column
	// Rows are by source, target, path and probe, and newest first within a series; each has a value a column, as
	// tables.RunValues. The slice is valid until the next.
	Rows iter.Seq2[[]any, error]
	// Rests grows while rows are taken.
	Rests Rests
}

// ExportRows is where what is exported is found. tables.Store satisfies it.
type ExportRows interface {
	RunRows
	SeriesHours
}

// ReadExport begins an export. Hours are kept by source, so that the sources have to be known; of runs they
// are not asked. At any time it holds a page of rows and one day.
func ReadExport(ctx context.Context, from ExportRows, sources []string, q ExportQuery) *Export {
	if q.Source != "" {
		sources = []string{q.Source}
	}
	e := &Export{}
	switch q.Grain {
	case GrainRun:
		e.Columns = tables.Columns()
		e.Rows = e.rows(q, runsOf(ctx, from, q, &e.Rests))
	case GrainDay:
		e.Columns = dayColumns()
		e.Rows = e.rows(q, daysOf(hoursOf(ctx, from, sources, q, &e.Rests)))
	default:
		e.Columns = tables.HourColumns()
		e.Rows = e.rows(q, hourValues(hoursOf(ctx, from, sources, q, &e.Rests)))
	}
	e.Columns = slices.DeleteFunc(e.Columns, func(c tables.Column) bool { return !q.wants(c) })
	return e
}

// wants leaves out what is of use to this program alone.
func (q ExportQuery) wants(c tables.Column) bool {
	return (q.Histograms || !strings.Contains(c.Name, "_histogram")) && c.Name != "inputs_sha256"
}

// rows leaves out the values of columns that are not wanted.
func (e *Export) rows(q ExportQuery, all iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	var keep []bool
	for _, c := range e.Columns {
		keep = append(keep, q.wants(c))
	}
	return func(yield func([]any, error) bool) {
		for values, err := range all {
			at := 0
			if err == nil {
				for i, v := range values {
					if keep[i] {
						values[at] = v
						at++
					}
				}
			}
			if !yield(values[:at], err) || err != nil {
				return
			}
		}
	}
}

func runsOf(ctx context.Context, from RunRows, q ExportQuery, rests *Rests) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var values []any
		for row, err := range from.Runs(ctx, tables.RunQuery{Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe, Since: q.Since, Until: q.Until}) {
			if err != nil {
				yield(nil, fmt.Errorf("exporting runs: %w", err))
				return
			}
			rests.Runs++
			rests.Samples += row.Counts.Received
			rests.Simulated = rests.Simulated || row.Simulated
			if values = tables.RunValues(&row, values); !yield(values, nil) {
				return
			}
		}
	}
}

func hoursOf(ctx context.Context, from HourRows, sources []string, q ExportQuery, rests *Rests) iter.Seq2[tables.Hour, error] {
	return func(yield func(tables.Hour, error) bool) {
		for _, source := range sources {
			for h, err := range from.Hours(ctx, tables.HourQuery{Source: source, Target: q.Target, Path: q.Path, Probe: q.Probe, Since: q.Since, Until: q.Until}) {
				if err != nil {
					yield(h, fmt.Errorf("exporting the hours of %q: %w", source, err))
					return
				}
				rests.add(&h)
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

func hourValues(hours iter.Seq2[tables.Hour, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var values []any
		for h, err := range hours {
			if err == nil {
				values = tables.HourValues(&h, values)
			}
			if !yield(values, err) || err != nil {
				return
			}
		}
	}
}
