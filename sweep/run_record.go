package main

import (
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
	"isochrone/sweep/tables"
)

// runRecord is a run as json and csv hold it: the columns of a row, histograms apart. Nil is
// absent.
type runRecord struct {
	Environment  string     `json:"environment"`
	Slot         time.Time  `json:"slot"`
	Source       string     `json:"source"`
	Target       string     `json:"target"`
	Path         string     `json:"path"`
	Probe        string     `json:"probe"`
	Kind         string     `json:"kind"`
	Failure      *string    `json:"failure"`
	PlannedStart time.Time  `json:"planned_start"`
	Start        *time.Time `json:"start"`
	End          *time.Time `json:"end"`
	LatenessUS   *float64   `json:"lateness_us"`

	Warmup           *int `json:"warmup"`
	Sent             *int `json:"sent"`
	Received         *int `json:"received"`
	Lost             *int `json:"lost"`
	Late             *int `json:"late"`
	Duplicate        *int `json:"duplicate"`
	Reordered        *int `json:"reordered"`
	PacingViolations *int `json:"pacing_violations"`

	LostForward      *int `json:"lost_forward"`
	LostReverse      *int `json:"lost_reverse"`
	DuplicateForward *int `json:"duplicate_forward"`
	DuplicateReverse *int `json:"duplicate_reverse"`
	ReorderedForward *int `json:"reordered_forward"`
	ReorderedReverse *int `json:"reordered_reverse"`

	LossRatio  *float64 `json:"loss_ratio"`
	LossLow    *float64 `json:"loss_ratio_low"`
	LossHigh   *float64 `json:"loss_ratio_high"`
	MinUS      *float64 `json:"rtt_min_us"`
	MeanUS     *float64 `json:"rtt_mean_us"`
	P50US      *float64 `json:"rtt_p50_us"`
	P50LowUS   *float64 `json:"rtt_p50_low_us"`
	P50HighUS  *float64 `json:"rtt_p50_high_us"`
	P90US      *float64 `json:"rtt_p90_us"`
	P90LowUS   *float64 `json:"rtt_p90_low_us"`
	P90HighUS  *float64 `json:"rtt_p90_high_us"`
	P95US      *float64 `json:"rtt_p95_us"`
	P95LowUS   *float64 `json:"rtt_p95_low_us"`
	P95HighUS  *float64 `json:"rtt_p95_high_us"`
	P99US      *float64 `json:"rtt_p99_us"`
	P99LowUS   *float64 `json:"rtt_p99_low_us"`
	P99HighUS  *float64 `json:"rtt_p99_high_us"`
	P999US     *float64 `json:"rtt_p999_us"`
	P999LowUS  *float64 `json:"rtt_p999_low_us"`
	P999HighUS *float64 `json:"rtt_p999_high_us"`
	MaxUS      *float64 `json:"rtt_max_us"`
	StddevUS   *float64 `json:"rtt_stddev_us"`
	JitterUS   *float64 `json:"rtt_jitter_us"`
	PDVUS      *float64 `json:"rtt_pdv_us"`

	runNoise
	runOneWay
	runHTTP
	runBulk

	Address       *string  `json:"address"`
	Assignment    *string  `json:"assignment_id"`
	Attempt       *string  `json:"attempt"`
	Part          int      `json:"part"`
	Document      *string  `json:"document"`
	Tool          *string  `json:"tool"`
	ProberVersion *string  `json:"prober_version"`
	ImageDigest   *string  `json:"image_digest"`
	VMSize        *string  `json:"vm_size"`
	ClockErrorNS  *int64   `json:"clock_error_ns"`
	CPUSteal      *float64 `json:"cpu_steal_ratio"`
	Detail        *string  `json:"detail"`
	Simulated     bool     `json:"simulated"` // a model made it up
}

func runRecordOf(row *tables.Row) runRecord {
	r := runRecord{
		Environment: row.Series.Environment, Slot: row.Slot.UTC(), Source: row.Series.Source, Target: row.Series.Target,
		Path: row.Series.Path, Probe: row.Series.Probe, Kind: string(row.Kind), Failure: optional(string(row.Failure)),
		PlannedStart: row.PlannedStart.UTC(), Start: row.Start, End: row.End, LatenessUS: row.LatenessUS,
		LossRatio: row.LossRatio, LossLow: row.LossLow, LossHigh: row.LossHigh,
		MinUS: row.MinUS, MeanUS: row.MeanUS, P50US: row.P50US, P90US: row.P90US, P95US: row.P95US, P99US: row.P99US,
		P999US:   row.P999US,
		P50LowUS: row.P50Range.LowUS, P50HighUS: row.P50Range.HighUS, P90LowUS: row.P90Range.LowUS, P90HighUS: row.P90Range.HighUS,
		P95LowUS: row.P95Range.LowUS, P95HighUS: row.P95Range.HighUS, P99LowUS: row.P99Range.LowUS, P99HighUS: row.P99Range.HighUS,
		P999LowUS: row.P999Range.LowUS, P999HighUS: row.P999Range.HighUS,
		runNoise: runNoiseOf(&row.Noise), runOneWay: runOneWayOf(&row.OneWay), runHTTP: runHTTPOf(&row.HTTP), runBulk: runBulkOf(&row.Bulk),
		MaxUS: row.MaxUS, StddevUS: row.StddevUS, JitterUS: row.JitterUS, PDVUS: row.PDVUS,
		Address: optional(row.Address), Assignment: optional(row.Assignment), Attempt: optional(row.Attempt), Part: row.Part,
		Document: optional(row.Document), Tool: optional(row.Tool), Detail: optional(row.Detail), Simulated: row.Simulated,
	}
	if row.Failure != wire.FailureExpired { // nobody knows
		r.count(row.Counts, row.Counted)
	}
	r.provenance(row.Provenance)
	return r
}

// runRecordOfResult is what runRecordOf gives for the row that a result is stored as. The store
// keeps times to 100 ns.
func runRecordOfResult(res *result.Result) runRecord {
	row := tables.RowOf(res)
	row.Slot, row.PlannedStart = stored(row.Slot), stored(row.PlannedStart)
	row.Start, row.End = storedOptional(row.Start), storedOptional(row.End)
	return runRecordOf(&row)
}

// count fills in the counts that are known.
func (r *runRecord) count(c wire.Counts, known *result.Counted) {
	if known == nil {
		known = &result.Counted{Warmup: true, Sent: true, Received: true, Lost: true, Late: true, Duplicate: true, Reordered: true, PacingViolations: true}
	}
	for _, n := range []struct {
		to    **int
		v     int
		known bool
	}{{&r.Warmup, c.Warmup, known.Warmup}, {&r.Sent, c.Sent, known.Sent}, {&r.Received, c.Received, known.Received}, {&r.Lost, c.Lost, known.Lost},
		{&r.Late, c.Late, known.Late}, {&r.Duplicate, c.Duplicate, known.Duplicate}, {&r.Reordered, c.Reordered, known.Reordered},
		{&r.PacingViolations, c.PacingViolations, known.PacingViolations}} {
		if n.known {
			*n.to = &n.v
		}
	}
	r.LostForward, r.LostReverse, r.DuplicateForward = c.LostForward, c.LostReverse, c.DuplicateForward
	r.DuplicateReverse, r.ReorderedForward, r.ReorderedReverse = c.DuplicateReverse, c.ReorderedForward, c.ReorderedReverse
}

func (r *runRecord) provenance(p wire.Provenance) {
	r.ProberVersion, r.ImageDigest, r.VMSize = optional(p.ProberVersion), optional(p.ImageDigest), optional(p.VMSize)
	r.ClockErrorNS, r.CPUSteal = p.ClockErrorNS, p.CPUStealRatio
}

func stored(t time.Time) time.Time { return t.UTC().Truncate(100 * time.Nanosecond) }

func storedOptional(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := stored(*t)
	return &cut
}
