package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Rank is which places would do for a copy of what is at one, those that would first.
type Rank struct {
	Head
	From            string    `json:"from"`
	Path            string    `json:"path"`
	Probe           *string   `json:"probe" jsonschema:"what measures the round trip; null where no probe does"`
	ThroughputProbe *string   `json:"throughput_probe"`
	Since           time.Time `json:"since"`
	Until           time.Time `json:"until"`

	MinKM         *float64 `json:"min_km" jsonschema:"what was asked for, as the three after it"`
	P95BelowUS    *float64 `json:"p95_below_us"`
	ThroughputBPS *float64 `json:"throughput_above_bps"`
	SameGeography bool     `json:"same_geography"`

	Regions []RankedRegion `json:"regions"`
}

// RankedRegion is one place. Nil is unknown.
type RankedRegion struct {
	Target      string   `json:"target"`
	Geography   *string  `json:"geography"`
	DistanceKM  *float64 `json:"distance_km"`
	P95US       *float64 `json:"p95_us" jsonschema:"95 % quantile of the round trip at the busiest hour of the day, from merged histograms"`
	P95LowUS    *float64 `json:"p95_low_us"`
	P95HighUS   *float64 `json:"p95_high_us"`
	BusiestHour *int     `json:"busiest_hour" jsonschema:"UTC"`
	N           int      `json:"n" jsonschema:"round trips of that hour of the day"`

	ThroughputBPS       *float64 `json:"throughput_bps"`
	ThroughputLowBPS    *float64 `json:"throughput_low_bps"`
	ThroughputHighBPS   *float64 `json:"throughput_high_bps"`
	ThroughputStatistic *string  `json:"throughput_statistic" jsonschema:"p5 of the hours from 20 on, median below that"`
	ThroughputHours     int      `json:"throughput_hours" jsonschema:"hours in which throughput was measured"`

	Satisfies *bool    `json:"satisfies" jsonschema:"null when what is asked for was not measured"`
	WhyNot    []string `json:"why_not" jsonschema:"what is not satisfied, or unknown"`
}

// RankOf shapes a ranking.
func RankOf(environment string, r *answers.Rank, now time.Time) *Rank {
	q := &r.Query
	out := &Rank{Head: headOf(environment, now, &r.Rests), From: q.From, Path: q.Path, Probe: optional(q.Probe), ThroughputProbe: optional(q.Throughput), Since: q.Since.UTC(), Until: q.Until.UTC(),
		MinKM: q.MinKM, P95BelowUS: q.P95BelowUS, ThroughputBPS: q.ThroughputBPS, SameGeography: q.SameGeography, Regions: []RankedRegion{}}
	for i := range r.Regions {
		g := &r.Regions[i]
		out.Regions = append(out.Regions, RankedRegion{Target: g.Target, Geography: optional(g.Geography), DistanceKM: rounded(g.DistanceKM, 1),
			P95US: rounded(g.P95.Value, 3), P95LowUS: rounded(g.P95.Low, 3), P95HighUS: rounded(g.P95.High, 3), BusiestHour: g.BusiestHour, N: g.N,
			ThroughputBPS: rounded(g.Throughput.Value, 0), ThroughputLowBPS: rounded(g.Throughput.Low, 0), ThroughputHighBPS: rounded(g.Throughput.High, 0),
			ThroughputStatistic: optional(g.ThroughputIs), ThroughputHours: g.ThroughputHours, Satisfies: g.Satisfies, WhyNot: append([]string{}, g.WhyNot...)})
	}
	return out
}
