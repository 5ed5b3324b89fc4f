package answers

import (
	"context"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/tables"
)

// Distribution is how the round trips of a series are spread, from merged histograms.
type Distribution struct {
	History
	Quantiles Quantiles
	Bins      []Bin // ascending, without gaps
}

// Bin counts round trips of FromUS <= RTT < ToUS; the last bin holds the largest, too.
type Bin struct {
	FromUS, ToUS float64
	Count        int64
}

const (
	// binsToP999 is into how many bins the values up to the 99.9 % quantile are put, and mostBins how many there are:
	// the last takes what lies beyond.
	binsToP999 = 60
	mostBins   = 90
)

// ReadDistribution answers how the round trips of a series are spread.
func ReadDistribution(ctx context.Context, from HourRows, q SeriesQuery, now time.Time) (*Distribution, error) {
	history, hours, err := readHistory(ctx, from, q, tables.Histograms, now)
	if err != nil {
		return nil, err
	}
	d := &Distribution{History: history}
	var sum *wire.HistogramSum
	d.Quantiles, sum = merge(hours)
	d.Bins = binsOf(sum)
	return d, nil
}

// binsOf puts whole buckets of a histogram together: bins of one width would cut buckets, and show teeth that
// are not in the values.
func binsOf(sum *wire.HistogramSum) (bins []Bin) {
	if sum.Total() == 0 {
		return nil
	}
	width := int64(-1)
	var open Bin
	from := int64(0) // of the open bin, ns
	for b := range sum.Buckets() {
		if width < 0 {
			width, from = (sum.AtRank(sum.Total()-sum.Total()/1000)-b.Low)/binsToP999, b.Low
		}
		open.Count += b.N
		open.FromUS, open.ToUS = float64(from)/1000, float64(b.Low+b.Width)/1000
		if b.Low+b.Width-from >= width && len(bins) < mostBins-1 {
			bins, from, open = append(bins, open), b.Low+b.Width, Bin{}
		}
	}
	if open.Count > 0 {
		bins = append(bins, open)
	}
	return bins
}
