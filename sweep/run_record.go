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

	LossRatio *float64 `json:"loss_ratio"`
	LossLow   *float64 `json:"loss_ratio_low"`
	LossHigh  *float64 `json:"loss_ratio_high"`
	MinUS     *float64 `json:"rtt_min_us"`
	MeanUS    *float64 `json:"rtt_mean_us"`
	P50US     *float64 `json:"rtt_p50_us"`
	P90US     *float64 `json:"rtt_p90_us"`
	P95US     *float64 `json:"rtt_p95_us"`
	P99US     *float64 `json:"rtt_p99_us"`
	P999US    *float64 `json:"rtt_p999_us"`
	MaxUS     *float64 `json:"rtt_max_us"`
	StddevUS  *float64 `json:"rtt_stddev_us"`
	JitterUS  *float64 `json:"rtt_jitter_us"`
	PDVUS     *float64 `json:"rtt_pdv_us"`

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
}

func runRecordOf(row *tables.Row) runRecord {
	r := runRecord{
		Environment: row.Series.Environment, Slot: row.Slot.UTC(), Source: row.Series.Source, Target: row.Series.Target,
		Path: row.Series.Path, Probe: row.Series.Probe, Kind: string(row.Kind), Failure: optional(string(row.Failure)),
		PlannedStart: row.PlannedStart.UTC(), Start: row.Start, End: row.End, LatenessUS: row.LatenessUS,
		LossRatio: row.LossRatio, LossLow: row.LossLow, LossHigh: row.LossHigh,
		MinUS: row.MinUS, MeanUS: row.MeanUS, P50US: row.P50US, P90US: row.P90US, P95US: row.P95US, P99US: row.P99US,
		P999US: row.P999US, MaxUS: row.MaxUS, StddevUS: row.StddevUS, JitterUS: row.JitterUS, PDVUS: row.PDVUS,
		Address: optional(row.Address), Assignment: optional(row.Assignment), Attempt: optional(row.Attempt), Part: row.Part,
		Document: optional(row.Document), Tool: optional(row.Tool), Detail: optional(row.Detail),
	}
	r.count(row.Failure, row.Counts)
	r.provenance(row.Provenance)
	return r
}

// runRecordOfResult is what runRecordOf gives for the row that a result is stored as. The store
// keeps times to 100 ns.
func runRecordOfResult(res *result.Result) runRecord {
	run, sum := &res.Run, &res.Summary
	r := runRecord{
		Environment: res.Series.Environment, Slot: res.Slot.UTC(), Source: res.Series.Source, Target: res.Series.Target,
		Path: res.Series.Path, Probe: res.Series.Probe, Kind: string(run.Kind), Failure: optional(string(run.Failure)),
		PlannedStart: stored(run.PlannedStart), Start: storedOptional(run.Start), End: storedOptional(run.End),
		LossRatio: sum.LossRatio, LossLow: sum.LossLow, LossHigh: sum.LossHigh,
		MinUS: microseconds(sum.Min), MeanUS: microseconds(sum.Mean), P50US: microseconds(sum.P50), P90US: microseconds(sum.P90),
		P95US: microseconds(sum.P95), P99US: microseconds(sum.P99), P999US: microseconds(sum.P999), MaxUS: microseconds(sum.Max),
		StddevUS: microseconds(sum.Stddev), JitterUS: microseconds(sum.Jitter), PDVUS: microseconds(sum.PDV),
		Address: optional(run.Address), Assignment: optional(res.Assignment), Attempt: optional(res.Attempt), Part: res.Part,
		Document: optional(res.Document), Tool: optional(res.Tool), Detail: optional(run.Detail),
	}
	if run.Start != nil {
		late := float64(run.Start.Sub(run.PlannedStart)) / 1e3
		r.LatenessUS = &late
	}
	r.count(run.Failure, run.Counts)
	r.provenance(res.Provenance)
	return r
}

// count fills in the counts. Of a run that expired nobody knows them.
func (r *runRecord) count(f wire.Failure, c wire.Counts) {
	if f == wire.FailureExpired {
		return
	}
	r.Warmup, r.Sent, r.Received, r.Lost, r.Late = &c.Warmup, &c.Sent, &c.Received, &c.Lost, &c.Late
	r.Duplicate, r.Reordered, r.PacingViolations = &c.Duplicate, &c.Reordered, &c.PacingViolations
}

func (r *runRecord) provenance(p wire.Provenance) {
	r.ProberVersion, r.ImageDigest, r.VMSize = optional(p.ProberVersion), optional(p.ImageDigest), optional(p.VMSize)
	r.ClockErrorNS, r.CPUSteal = p.ClockErrorNS, p.CPUStealRatio
}

func microseconds(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	us := *ns / 1e3
	return &us
}

func stored(t time.Time) time.Time { return t.UTC().Truncate(100 * time.Nanosecond) }

func storedOptional(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := stored(*t)
	return &cut
}
