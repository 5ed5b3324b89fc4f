package tables

import (
	"slices"
	"time"

	"isochrone/prober/wire"
)

// Profile is an hour of the day of one series over the trailing days: what such hours are usually
// like. Nil is unknown. An hour of the day without hours has no row.
type Profile struct {
	Series       wire.Series
	HourOfDay    int // 0 to 23, UTC
	Kind         wire.Kind
	Inputs       string
	Since, Until time.Time // the days: Since <= hour < Until

	Hours, Runs int
	Simulated   int    // runs that nobody measured: a model made them up
	P50         Spread // of the hours' medians, µs
	P99US       *float64
	RTTMaxUS    *float64
	Received    *int // round trips that P99US is of
	Loss        Loss
	// Up and Down are of the hours' median throughput, bit/s.
	Up, Down Spread
}

// Spread is how a figure is spread over hours. The quartiles are nil for fewer than four.
type Spread struct {
	N              *int // hours that have the figure
	Q1, Median, Q3 *float64
}

// profileFields are the columns of profiles.
var profileFields = slices.Concat(seriesFields(func(p *Profile) *wire.Series { return &p.Series }, func(p *Profile) *wire.Kind { return &p.Kind }), []field[Profile]{
	count("hour_of_day", "h", "hour of the day, UTC, 0 to 23", func(p *Profile) *int { return &p.HourOfDay }),
	instant("since", "first instant of the trailing 28 days", func(p *Profile) *time.Time { return &p.Since }),
	instant("until", "their end: the beginning of the day on which the row was computed", func(p *Profile) *time.Time { return &p.Until }),
	text(inputsColumn, "hash of all that the row was computed from", func(p *Profile) *string { return &p.Inputs }),
	count("hour_count", "hours", "hours with runs", func(p *Profile) *int { return &p.Hours }),
	count("run_count", "runs", "their runs", func(p *Profile) *int { return &p.Runs }),
	someCount("runs_simulated_count", "runs", "runs that nobody measured: a model made them up", func(p *Profile) *int { return &p.Simulated }),
},
	spreadFields("rtt_p50", "_us", "µs", "hourly medians of the round trip", func(p *Profile) *Spread { return &p.P50 }),
	[]field[Profile]{
		maybeCount("rtt_count", "samples", "round trips in the merged histograms; absent where an hour with round trips has none", func(p *Profile) **int { return &p.Received }),
		number("rtt_p99_us", "µs", "99 % quantile of all of these; absent when fewer than 10 lie above it", func(p *Profile) **float64 { return &p.P99US }),
		number("rtt_max_us", "µs", "largest round trip", func(p *Profile) **float64 { return &p.RTTMaxUS }),
	},
	lossFields(func(p *Profile) *Loss { return &p.Loss }),
	spreadFields("throughput_up", "_bps", "bit/s", "hourly medians of payload to the target", func(p *Profile) *Spread { return &p.Up }),
	spreadFields("throughput_down", "_bps", "bit/s", "hourly medians of payload to the source", func(p *Profile) *Spread { return &p.Down }))

func spreadFields(name, suffix, unit, meaning string, at func(*Profile) *Spread) []field[Profile] {
	return []field[Profile]{
		maybeCount(name+"_hour_count", "hours", meaning+": of how many hours", func(p *Profile) **int { return &at(p).N }),
		number(name+"_q1"+suffix, unit, "lower quartile; absent for fewer than four hours", func(p *Profile) **float64 { return &at(p).Q1 }),
		number(name+"_median"+suffix, unit, "median", func(p *Profile) **float64 { return &at(p).Median }),
		number(name+"_q3"+suffix, unit, "upper quartile; between two values of the order, as the median, by linear interpolation", func(p *Profile) **float64 { return &at(p).Q3 }),
	}
}
