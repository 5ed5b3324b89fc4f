package summary

import (
	"maps"
	"math"
	"slices"

	"isochrone/prober/wire"
)

// Bin is how many values of a distribution are the same.
type Bin struct {
	Value int64 // nanoseconds
	N     int   // 1 or more
}

// Distribution is a set of round trips of which the order is not known, or no longer: bins in
// ascending order, each value once. It takes the memory of the different values, and not of all.
type Distribution []Bin

// DistributionOf sorts counted values.
func DistributionOf(counts map[int64]int) Distribution {
	out := make(Distribution, 0, len(counts))
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[v]; n > 0 {
			out = append(out, Bin{v, n})
		}
	}
	return out
}

// Len is the number of values.
func (d Distribution) Len() (n int) {
	for _, b := range d {
		n += b.N
	}
	return n
}

// Summary holds the figures that do not rest on the order: all but Jitter, loss and failures.
func (d Distribution) Summary() (out Summary) {
	n := d.Len()
	if n == 0 {
		return out
	}
	mean, stddev := d.moments(n)
	least, most := float64(d[0].Value), float64(d[len(d)-1].Value)
	out.Min, out.Mean, out.Max, out.Stddev = &least, &mean, &most, stddev
	out.P50, out.P90, out.P95 = d.quantile(n, 0.5), d.quantile(n, 0.9), d.quantile(n, 0.95)
	out.P99, out.P999 = d.quantile(n, 0.99), d.quantile(n, 0.999)
	if out.P95.Value != nil {
		pdv := *out.P95.Value - *out.P50.Value
		out.PDV = &pdv
	}
	return out
}

// quantile is QuantileOf of the n values, one by one.
func (d Distribution) quantile(n int, p float64) (q Quantile) {
	if float64(n)*(1-p) < 10-slack {
		return q
	}
	at := func(rank int) *float64 { // from 1
		v := float64(d.at(rank))
		return &v
	}
	q.Value = at(nearest(n, p))
	l, u := Ranks(n, p)
	if l >= 1 {
		q.Low = at(l)
	}
	if u <= n {
		q.High = at(u)
	}
	return q
}

// at is the value of a rank from 1 to the number of values.
func (d Distribution) at(rank int) int64 {
	for _, b := range d {
		if rank -= b.N; rank <= 0 {
			return b.Value
		}
	}
	return d[len(d)-1].Value
}

// moments are the mean and, of two values or more, the standard deviation of the sample.
func (d Distribution) moments(n int) (mean float64, stddev *float64) {
	for _, b := range d {
		mean += float64(b.Value) * (float64(b.N) / float64(n))
	}
	if n < 2 {
		return mean, nil
	}
	var squares float64
	for _, b := range d {
		squares += (float64(b.Value) - mean) * (float64(b.Value) - mean) * float64(b.N)
	}
	s := math.Sqrt(squares / float64(n-1))
	return mean, &s
}

// OfRoundTrips are the figures of round trips in the order in which they were sent, nanoseconds.
func OfRoundTrips(rtt []int64) (out Summary) {
	out.Jitter = jitter(rtt)
	sorted := slices.Clone(rtt)
	slices.Sort(sorted)
	out.roundTrips(sorted)
	return out
}

// Loss fills in the loss ratio of a run that lost so many of what it sent, with its interval.
func (out *Summary) Loss(lost, sent int) {
	if sent <= 0 {
		return
	}
	loss, low, high := Wilson(lost, sent)
	out.LossRatio, out.LossLow, out.LossHigh = &loss, &low, &high
}

// Histograms encodes the values, and the same less the smallest, as wire.Histograms does.
func (d Distribution) Histograms() (whole, excess string, err error) {
	if len(d) == 0 {
		return "", "", nil
	}
	values, counts := make([]int64, len(d)), make([]int64, len(d))
	for i, b := range d {
		values[i], counts[i] = b.Value, int64(b.N)
	}
	if whole, err = wire.EncodeCounts(values, counts); err != nil {
		return "", "", err
	}
	for i := range values {
		values[i] -= d[0].Value
	}
	excess, err = wire.EncodeCounts(values, counts)
	return whole, excess, err
}
