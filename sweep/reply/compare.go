package reply

import (
	"time"

	"isochrone/sweep/answers"
	"isochrone/sweep/trend"
)

// Compare is by how much one path's figure differs from another's: the first less the second, in the slots in
// which both were measured.
type Compare struct {
	Head
	PathA     string         `json:"path_a"`
	PathB     string         `json:"path_b"`
	Probe     string         `json:"probe"`
	Kind      *string        `json:"kind" jsonschema:"null when no pair was measured over both paths"`
	Statistic *string        `json:"statistic" jsonschema:"the figure that is compared"`
	Since     time.Time      `json:"since"`
	Until     time.Time      `json:"until"`
	Pairs     []ComparedPair `json:"pairs"`
	All       *Difference    `json:"all" jsonschema:"all pairs together, one observation a slot"`
	Next      *string        `json:"next" jsonschema:"token of the next page; null on the last"`
}

// ComparedPair is the difference of one pair.
type ComparedPair struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Difference
}

// Difference is path A less path B: Hodges and Lehmann's estimate with its interval at 95 % (Wilcoxon's signed
// ranks). It is in the one of the units that the statistic has; the others are null. Low and high are
// null for fewer than six slots.
type Difference struct {
	N            int      `json:"n" jsonschema:"slots measured over both paths"`
	OnlyA        int      `json:"only_a" jsonschema:"slots measured over the first alone"`
	OnlyB        int      `json:"only_b" jsonschema:"slots measured over the second alone"`
	DifferenceUS *float64 `json:"difference_us"`
	LowUS        *float64 `json:"low_us"`
	HighUS       *float64 `json:"high_us"`
	MedianAUS    *float64 `json:"median_a_us"`
	MedianBUS    *float64 `json:"median_b_us"`

	DifferenceBPS *float64 `json:"difference_bps"`
	LowBPS        *float64 `json:"low_bps"`
	HighBPS       *float64 `json:"high_bps"`

	DifferencePerS *float64 `json:"difference_per_s"`
	LowPerS        *float64 `json:"low_per_s"`
	HighPerS       *float64 `json:"high_per_s"`
}

func differenceOf(s answers.Statistic, d *answers.PairDifference) Difference {
	out := Difference{N: d.Slots, OnlyA: d.OnlyA, OnlyB: d.OnlyB}
	value, low, high := parts(d.Difference)
	switch s {
	case answers.Throughput:
		out.DifferenceBPS, out.LowBPS, out.HighBPS = value, low, high
	case answers.Rate:
		out.DifferencePerS, out.LowPerS, out.HighPerS = value, low, high
	default:
		out.DifferenceUS, out.LowUS, out.HighUS = value, low, high
		out.MedianAUS, out.MedianBUS = d.MedianA, d.MedianB
	}
	return out
}

func parts(e *trend.Estimate) (value, low, high *float64) {
	if e == nil {
		return nil, nil, nil
	}
	return &e.Value, e.Low, e.High
}

// CompareOf shapes the differences of one probe.
func CompareOf(environment string, d *answers.PathDifferences, q answers.PathQuery, now time.Time) *Compare {
	out := &Compare{Head: NewHead(environment, now), PathA: d.A, PathB: d.B, Probe: q.Probe, Since: q.Since.UTC(), Until: q.Until.UTC(), Pairs: []ComparedPair{}}
	runs, samples := 0, 0
	for i := range d.Probes {
		p := &d.Probes[i]
		out.Kind, out.Statistic = optional(p.Kind), optional(p.Statistic)
		for j := range p.Pairs {
			pair := &p.Pairs[j]
			out.Pairs = append(out.Pairs, ComparedPair{pair.Source, pair.Target, differenceOf(p.Statistic, pair)})
			runs += pair.A.Runs + pair.B.Runs
			samples += pair.A.Samples + pair.B.Samples
			out.Simulated = out.Simulated || pair.A.Simulated || pair.B.Simulated
		}
		all := differenceOf(p.Statistic, &p.All)
		out.All = &all
	}
	out.RestsOn.Runs, out.RestsOn.Samples = &runs, &samples
	return out
}
