package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Recovery is what copying a prober's data to another's place would be like.
type Recovery struct {
	Head
	Source          string    `json:"source"`
	Target          string    `json:"target"`
	Path            string    `json:"path"`
	Probe           string    `json:"probe" jsonschema:"what measures the round trip"`
	ThroughputProbe *string   `json:"throughput_probe" jsonschema:"what measures throughput; null where no probe does"`
	Since           time.Time `json:"since"`
	Until           time.Time `json:"until"`

	ChangeBPS      float64 `json:"change_rate_bps"`
	SizeBytes      float64 `json:"size_bytes"`
	WindowS        float64 `json:"window_s"`
	OutageS        float64 `json:"outage_s"`
	TCPWindowBytes float64 `json:"tcp_window_bytes"`

	Throughput RecoveryThroughput `json:"throughput" jsonschema:"payload to the target, hour by hour the median of the runs"`
	RPOS       *float64           `json:"rpo_s" jsonschema:"age of the oldest change that the target has not acknowledged, at worst in a usual day; null when it is unknown or grows for ever"`
	Sustained  *bool              `json:"sustained" jsonschema:"the line carries the changes at its 5 % quantile; null when that is not known"`
	Commit     RecoveryCommit     `json:"commit_cost" jsonschema:"what a synchronous commit waits for: a round trip"`
	CatchUpS   *float64           `json:"catch_up_s" jsonschema:"how long after the outage the backlog is gone, at the 5 % quantile; null when it is unknown or never"`
	// CatchUpLowS and CatchUpHighS are at the ends of the quantile's interval.
	CatchUpLowS      *float64       `json:"catch_up_low_s"`
	CatchUpHighS     *float64       `json:"catch_up_high_s" jsonschema:"null when at the lower end of the interval it is never, or the interval has no lower end"`
	Seed             []RecoverySeed `json:"seed" jsonschema:"by the hour of the day, UTC, at which the copy begins; 24"`
	WindowLimitedBPS *float64       `json:"window_limited_bps" jsonschema:"what one connection can carry: the TCP window a median round trip"`
	Findings         []Finding      `json:"findings"`
}

// RecoveryThroughput is what the line carries.
type RecoveryThroughput struct {
	P5BPS      *float64 `json:"p5_bps" jsonschema:"from 20 hours on"`
	P5LowBPS   *float64 `json:"p5_low_bps"`
	P5HighBPS  *float64 `json:"p5_high_bps"`
	P50BPS     *float64 `json:"p50_bps"`
	P50LowBPS  *float64 `json:"p50_low_bps"`
	P50HighBPS *float64 `json:"p50_high_bps"`
	N          int      `json:"n" jsonschema:"hours in which it was measured"`
}

// RecoveryCommit is the distribution of the round trip.
type RecoveryCommit struct {
	N         int      `json:"n" jsonschema:"round trips in the merged histograms"`
	P50US     *float64 `json:"p50_us"`
	P50LowUS  *float64 `json:"p50_low_us"`
	P50HighUS *float64 `json:"p50_high_us"`
	P99US     *float64 `json:"p99_us"`
	P99LowUS  *float64 `json:"p99_low_us"`
	P99HighUS *float64 `json:"p99_high_us"`
}

// RecoverySeed is how long a copy takes that begins at an hour of the day.
type RecoverySeed struct {
	StartHour int      `json:"start_hour"`
	N         int      `json:"n" jsonschema:"measured hours of this hour of the day"`
	Seconds   *float64 `json:"seconds" jsonschema:"null when it needs an hour of the day that was not measured"`
	Fits      *bool    `json:"fits" jsonschema:"it is done within the window"`
}

// Finding is what a person should know of an answer before they rely on it.
type Finding struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// RecoveryOf shapes a recovery.
func RecoveryOf(environment string, r *answers.Recovery, now time.Time) *Recovery {
	q := &r.Query
	rests := r.Latency.Rests
	rests.Samples += r.Line.Rests.Samples
	rests.Runs += r.Line.Rests.Runs
	rests.Hours += r.Line.Rests.Hours
	rests.Simulated = rests.Simulated || r.Line.Rests.Simulated
	out := &Recovery{Head: headOf(environment, now, &rests), Source: q.Source, Target: q.Target, Path: q.Path, Probe: q.Probe, ThroughputProbe: optional(q.Throughput),
		Since: q.Since.UTC(), Until: q.Until.UTC(), ChangeBPS: q.ChangeBPS, SizeBytes: q.SizeBytes, WindowS: q.Window.Seconds(), OutageS: q.Outage.Seconds(), TCPWindowBytes: q.TCPWindowBytes,
		RPOS: rounded(r.RPO, 3), Sustained: r.Sustained, CatchUpS: rounded(r.CatchUp, 1), CatchUpLowS: rounded(r.CatchUpLow, 1), CatchUpHighS: rounded(r.CatchUpHigh, 1),
		WindowLimitedBPS: rounded(r.Ceiling, 0), Findings: []Finding{}}
	out.Throughput.N = r.Measured.Hours
	if b := r.Measured.P5; b != nil {
		out.Throughput.P5BPS, out.Throughput.P5LowBPS, out.Throughput.P5HighBPS = rounded(b.Value, 0), rounded(b.Low, 0), rounded(b.High, 0)
	}
	if b := r.Measured.P50; b != nil {
		out.Throughput.P50BPS, out.Throughput.P50LowBPS, out.Throughput.P50HighBPS = rounded(b.Value, 0), rounded(b.Low, 0), rounded(b.High, 0)
	}
	c := &r.Commit
	out.Commit = RecoveryCommit{N: c.N, P50US: rounded(c.P50.Value, 3), P50LowUS: rounded(c.P50.Low, 3), P50HighUS: rounded(c.P50.High, 3),
		P99US: rounded(c.P99.Value, 3), P99LowUS: rounded(c.P99.Low, 3), P99HighUS: rounded(c.P99.High, 3)}
	for h := range r.Seed {
		out.Seed = append(out.Seed, RecoverySeed{h, r.HoursMeasured[h], rounded(r.Seed[h], 0), r.Fits[h]})
	}
	for _, f := range r.Findings() {
		out.Findings = append(out.Findings, Finding(f))
	}
	return out
}
