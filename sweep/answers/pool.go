package answers

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/tables"
)

// pool gathers the round trips of a series' runs. The figures of one run are those of its row, which are
// exact; of several the percentile comes from their merged histograms, to 0.05 %, and never from
// an average of percentiles.
type pool struct {
	first   *tables.Row
	merged  *hdrhistogram.Histogram
	n       int
	sum     float64 // of round trips, µs
	low, up float64
}

func (p *pool) add(r *tables.Row) error {
	if r.MinUS == nil || r.MeanUS == nil || r.MaxUS == nil {
		return nil // no samples
	}
	n := r.Counts.Received
	if p.first == nil {
		row := *r
		p.first, p.low, p.up = &row, *r.MinUS, *r.MaxUS
	} else {
		if p.merged == nil {
			p.merged = wire.NewHistogram()
			if err := p.merge(p.first.RTTHistogram); err != nil {
				return err
			}
		}
		if err := p.merge(r.RTTHistogram); err != nil {
			return err
		}
	}
	p.n += n
	p.sum += *r.MeanUS * float64(n)
	p.low, p.up = min(p.low, *r.MinUS), max(p.up, *r.MaxUS)
	return nil
}

func (p *pool) merge(encoded string) error {
	if encoded == "" { // a foreign run's may be missing
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return err
	}
	p.merged.Merge(h)
	return nil
}

// finish fills in what the runs' samples say.
func (p *pool) finish(f *PathFigures) {
	if p.first == nil || p.n == 0 {
		return
	}
	mean, low, up := p.sum/float64(p.n), p.low, p.up // copies: the pool is used again
	f.Samples, f.MinUS, f.MeanUS, f.MaxUS = p.n, &low, &mean, &up
	if p.merged == nil {
		f.P50US, f.P50LowUS, f.P50HighUS = p.first.P50US, p.first.P50Range.LowUS, p.first.P50Range.HighUS
		return
	}
	n := int(p.merged.TotalCount())
	if n < 20 || n < p.n { // n(1 − p) < 10; a run without its histogram
		return
	}
	at := func(rank int) *float64 {
		us := float64(p.merged.ValueAtQuantile(100*float64(rank)/float64(n))) / 1000
		return &us
	}
	f.P50US = at((n + 1) / 2)
	l, u := summary.Ranks(n, 0.5)
	if l >= 1 {
		f.P50LowUS = at(l)
	}
	if u <= n {
		f.P50HighUS = at(u)
	}
}
