package reply

import (
	"time"

	"isochrone/sweep/answers"
)

// Distribution is how a series' round trips are spread: /api/query/distribution.
type Distribution struct {
	Head
	Series Series `json:"series"`
	Window
	N         int       `json:"n" jsonschema:"round trips in the bins"`
	Bins      []Bin     `json:"bins"`
	Quantiles Quantiles `json:"quantiles"`
}

// Bin counts round trips of from_us <= RTT < to_us.
type Bin struct {
	FromUS float64 `json:"from_us"`
	ToUS   float64 `json:"to_us"`
	Count  int64   `json:"count"`
}

// DistributionOf is the reply of a distribution.
func DistributionOf(environment string, d *answers.Distribution, now time.Time) *Distribution {
	out := &Distribution{Head: headOf(environment, now, &d.Rests), Series: seriesOf(&d.History), Window: windowOf(&d.History),
		N: d.Quantiles.N, Bins: make([]Bin, len(d.Bins)), Quantiles: quantilesOf(&d.Quantiles)}
	for i, b := range d.Bins {
		out.Bins[i] = Bin(b)
	}
	return out
}
