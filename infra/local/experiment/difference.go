package experiment

import (
	"slices"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// blocks is how many a run is cut into: samples that follow each other share what the machine and
// the network did meanwhile, so the differences of single ones would promise too much.
const blocks = 50

// difference is the median of the differences between two runs, A − B, of the medians of their blocks,
// with its 95 % interval, in ms: the samples of a block were due at the same time in both.
func difference(a, b wire.Samples) (median, low, high float64, ok bool) {
	n := min(a.Len(), b.Len())
	var differences []int64
	for i := range blocks {
		from, to := i*n/blocks, (i+1)*n/blocks
		x, y := middle(a.RTTNS[from:to]), middle(b.RTTNS[from:to])
		if x != wire.Null && y != wire.Null {
			differences = append(differences, x-y)
		}
	}
	slices.Sort(differences)
	if len(differences) == 0 {
		return 0, 0, 0, false
	}
	q := summary.QuantileOf(differences, 0.5)
	if q.Value == nil || q.Low == nil || q.High == nil {
		return 0, 0, 0, false
	}
	return *q.Value / 1e6, *q.Low / 1e6, *q.High / 1e6, true
}

// middle is the median of the round trips that there are, or null.
func middle(rtts []int64) int64 {
	var have []int64
	for _, v := range rtts {
		if v != wire.Null {
			have = append(have, v)
		}
	}
	if len(have) == 0 {
		return wire.Null
	}
	slices.Sort(have)
	return have[(len(have)-1)/2]
}

// extent is the average, minimum and maximum of the round trips, in ms.
func extent(s wire.Samples) (average, least, most float64) {
	n := 0
	for _, v := range s.RTTNS {
		if v == wire.Null {
			continue
		}
		if n == 0 {
			least, most = ms(v), ms(v)
		}
		n++
		average += ms(v)
		least, most = min(least, ms(v)), max(most, ms(v))
	}
	return average / float64(max(n, 1)), least, most
}
