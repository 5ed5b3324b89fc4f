package tables

import (
	"slices"
	"time"

	"isochrone/prober/wire"
)

// Hour is one series' hour: what its runs come to together. Nil is unknown, or another kind's. An hour
// without runs has no row.
type Hour struct {
	Series wire.Series
	Begin  time.Time // a whole hour, UTC
	Kind   wire.Kind // of the newest run
	Inputs string    // hash of what it was computed from

	Runs        int
	First, Last time.Time            // slots of the oldest and the newest run
	Failed      map[wire.Failure]int // runs that received nothing, by code
	Degraded    int                  // runs that are not to be relied on without a look
	Simulated   int                  // runs that nobody measured: a model made them up

	Counts   HourCounts
	Failures map[wire.Failure]int // samples, by code
	RTT      RTTs
	Loss     Loss
	// Histogram holds all round trips; empty where one of the runs has none of its own.
	Histogram string

	MovedBytes *float64
	// Up and Down are throughput, and Best that of saturate's best level, bit/s; Taken and Answered are
	// messages of stream and requests of load, 1/s.
	Up, Down, Best, Taken, Answered Rates
}

// HourCounts are samples over those runs that tell; nil where none does.
type HourCounts struct{ Sent, Received, Lost, Late, Duplicate, Reordered *int }

// Rates are what the runs of an hour came to, a rate a run; all nil where none has one.
type Rates struct {
	N                *int
	Min, Median, Max *float64
}

// hourFields are the columns of hours.
var hourFields = slices.Concat([]field[Hour]{
	instant("hour", "first instant of the hour; runs belong to that of their slot", func(h *Hour) *time.Time { return &h.Begin }),
}, seriesFields(func(h *Hour) *wire.Series { return &h.Series }, func(h *Hour) *wire.Kind { return &h.Kind }), []field[Hour]{
	text(inputsColumn, "hash of all that the row was computed from: while it stays, the row does", func(h *Hour) *string { return &h.Inputs }),
	count("run_count", "runs", "runs, whatever came of them", func(h *Hour) *int { return &h.Runs }),
	instant("first_slot", "slot of the oldest run", func(h *Hour) *time.Time { return &h.First }),
	instant("last_slot", "slot of the newest run", func(h *Hour) *time.Time { return &h.Last }),
}, tallyFields("runs_%s_count", "runs", "runs that received nothing, for %s", true, func(h *Hour) *map[wire.Failure]int { return &h.Failed }), []field[Hour]{
	count("runs_degraded_count", "runs", "runs that are not to be relied on without a look", func(h *Hour) *int { return &h.Degraded }),
	someCount("runs_simulated_count", "runs", "runs that nobody measured: a model made them up", func(h *Hour) *int { return &h.Simulated }),
	maybeCount("sent_count", "samples", "samples sent, of the runs that tell; absent, as all counts of samples, where none does", func(h *Hour) **int { return &h.Counts.Sent }),
	maybeCount("received_count", "samples", "samples replied to within the timeout", func(h *Hour) **int { return &h.Counts.Received }),
	maybeCount("lost_count", "samples", "samples sent and not received, late ones included", func(h *Hour) **int { return &h.Counts.Lost }),
	maybeCount("late_count", "samples", "samples replied to after the timeout", func(h *Hour) **int { return &h.Counts.Late }),
	maybeCount("duplicate_count", "samples", "further replies to a sample", func(h *Hour) **int { return &h.Counts.Duplicate }),
	maybeCount("reordered_count", "samples", "replies overtaken by a later sample's", func(h *Hour) **int { return &h.Counts.Reordered }),
}, tallyFields("failed_%s_count", "samples", "samples that failed with %s", false, func(h *Hour) *map[wire.Failure]int { return &h.Failures }), []field[Hour]{
	number("rtt_min_us", "µs", "smallest round trip", func(h *Hour) **float64 { return &h.RTT.MinUS }),
	number("rtt_mean_us", "µs", "mean of all round trips; absent where one of the runs does not say of how many its own is", func(h *Hour) **float64 { return &h.RTT.MeanUS }),
	number("rtt_p50_us", "µs", "median by nearest rank, from the merged histograms (0.1 % at most above the exact one); absent, as all quantiles, when fewer than 10 round trips lie above it, and when the histogram is", func(h *Hour) **float64 { return &h.RTT.P50US }),
	number("rtt_p90_us", "µs", "90 % quantile", func(h *Hour) **float64 { return &h.RTT.P90US }),
	number("rtt_p95_us", "µs", "95 % quantile", func(h *Hour) **float64 { return &h.RTT.P95US }),
	number("rtt_p99_us", "µs", "99 % quantile", func(h *Hour) **float64 { return &h.RTT.P99US }),
	number("rtt_p999_us", "µs", "99.9 % quantile", func(h *Hour) **float64 { return &h.RTT.P999US }),
	number("rtt_max_us", "µs", "largest round trip", func(h *Hour) **float64 { return &h.RTT.MaxUS }),
}, lossFields(func(h *Hour) *Loss { return &h.Loss }), []field[Hour]{
	number("moved_bytes", "bytes", "payload that runs of bulk kinds moved, all together", func(h *Hour) **float64 { return &h.MovedBytes }),
},
	ratesFields("throughput_up", "_bps", "bit/s", "payload to the target, a rate a run", func(h *Hour) *Rates { return &h.Up }),
	ratesFields("throughput_down", "_bps", "bit/s", "payload to the source, a rate a run", func(h *Hour) *Rates { return &h.Down }),
	ratesFields("saturate_best", "_bps", "bit/s", "payload at saturate's best level, a rate a run", func(h *Hour) *Rates { return &h.Best }),
	ratesFields("stream_receiver", "_per_s", "1/s", "messages that the target took, a rate a run", func(h *Hour) *Rates { return &h.Taken }),
	ratesFields("load_requests", "_per_s", "1/s", "answered requests, a rate a run", func(h *Hour) *Rates { return &h.Answered }),
	splitText("rtt_histogram", "HdrHistogram V2 compressed, base64, of all round trips in ns; absent where a run has none of its own, or it does not hold what the run received", func(h *Hour) *string { return &h.Histogram }))

func ratesFields(name, suffix, unit, meaning string, at func(*Hour) *Rates) []field[Hour] {
	return []field[Hour]{
		maybeCount(name+"_count", "runs", meaning+": of how many", func(h *Hour) **int { return &at(h).N }),
		number(name+"_min"+suffix, unit, "the smallest", func(h *Hour) **float64 { return &at(h).Min }),
		number(name+"_median"+suffix, unit, "the median; of an even number the mean of the middle two", func(h *Hour) **float64 { return &at(h).Median }),
		number(name+"_max"+suffix, unit, "the largest", func(h *Hour) **float64 { return &at(h).Max }),
	}
}
