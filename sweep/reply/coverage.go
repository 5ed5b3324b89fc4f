package reply

import (
	"slices"
	"strings"
	"time"

	"isochrone/sweep/answers"
)

// Coverage is what became of the planned runs, by prober and hour.
type Coverage struct {
	Head
	Since   time.Time       `json:"since"`
	Until   time.Time       `json:"until"`
	Notes   []string        `json:"notes" jsonschema:"what could not be counted"`
	Probers []CoverageOfOne `json:"probers"`
	Next    *string         `json:"next" jsonschema:"token of the next page; null on the last"`
}

// CoverageCounts counts runs. Planned is the sum of measured, failed, expired, missed, open and lost.
type CoverageCounts struct {
	Planned   int `json:"planned"`
	Received  int `json:"received" jsonschema:"a document came: measured and failed"`
	Measured  int `json:"measured" jsonschema:"the row has figures"`
	Failed    int `json:"failed" jsonschema:"the row has a failure code"`
	Expired   int `json:"expired" jsonschema:"no document came in time"`
	Missed    int `json:"missed" jsonschema:"nobody swept the slot"`
	Open      int `json:"open" jsonschema:"the document is awaited"`
	Lost      int `json:"lost" jsonschema:"the row is not what the ledger says: a fault of the app"`
	Unplanned int `json:"unplanned" jsonschema:"rows that no sweep planned: a fault of the app"`
}

func (c *CoverageCounts) add(r *answers.CoverageRow) {
	c.Planned += r.Planned
	c.Received += r.Measured + r.Failed
	c.Measured += r.Measured
	c.Failed += r.Failed
	c.Expired += r.Expired
	c.Missed += r.Missed
	c.Open += r.Open
	c.Lost += r.Lost
	c.Unplanned += r.Unplanned
}

// CoverageHour is one hour of one prober.
type CoverageHour struct {
	T time.Time `json:"t"`
	CoverageCounts
}

// CoverageOfOne is the coverage of the runs that one prober makes. An hour in which nothing was planned is not there.
type CoverageOfOne struct {
	Prober string `json:"prober"`
	CoverageCounts
	Hours []CoverageHour `json:"hours"`
}

// CoverageOf shapes a coverage by hours.
func CoverageOf(environment string, c *answers.Coverage, q answers.CoverageQuery, now time.Time) *Coverage {
	out := &Coverage{Head: NewHead(environment, now), Since: q.Since.UTC(), Until: q.Until.UTC(), Notes: append([]string{}, c.Notes...), Probers: []CoverageOfOne{}}
	out.Simulated = c.Simulated
	of, runs := map[string]*CoverageOfOne{}, 0
	for i := range c.Rows {
		r := &c.Rows[i]
		one := of[r.Prober]
		if one == nil {
			one = &CoverageOfOne{Prober: r.Prober, Hours: []CoverageHour{}}
			of[r.Prober] = one
		}
		hour := CoverageHour{T: r.From.UTC()}
		hour.add(r)
		one.add(r)
		one.Hours = append(one.Hours, hour)
		runs += r.Planned
	}
	for _, one := range of {
		out.Probers = append(out.Probers, *one)
	}
	slices.SortFunc(out.Probers, func(a, b CoverageOfOne) int { return strings.Compare(a.Prober, b.Prober) })
	out.RestsOn.Runs = &runs
	return out
}
