package rollup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// hourVersion is part of the hash of an hour's inputs: with another number every hour is written again
// when it is next computed. It rises whenever the same runs come to another row.
const hourVersion = "isochrone hour 1"

// HourOf is what the runs of one series come to in the hour that begins at begin. They must be of that
// series and hour, in any order; without runs there is none.
func HourOf(runs []tables.Row, begin time.Time) (*tables.Hour, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b tables.Row) int { return b.Slot.Compare(a.Slot) })
	var b hourBuilder
	b.reset(sorted[0].Series, begin)
	for i := range sorted {
		b.add(&sorted[i])
	}
	return b.hour()
}

// hourBuilder takes the runs of an hour one by one, newest first, as they are stored. It is used again
// for the next hour, and holds no run: a foreign series may have thousands in an hour.
type hourBuilder struct {
	out    tables.Hour
	inputs hash.Hash
	sum    wire.HistogramSum
	whole  bool // the sum holds every round trip
	// unreadable counts histograms that could not be read.
	unreadable int

	total     float64 // of the round trips of which the mean is known, µs
	of        int64
	mean      bool // each run with a mean says of how many
	lost      int
	countable int
	lossKnown bool
	rates     [5][]float64 // as in rated
}

func (b *hourBuilder) reset(series wire.Series, begin time.Time) {
	b.out = tables.Hour{Series: series, Begin: begin.UTC()}
	if b.inputs == nil {
		b.inputs = sha256.New()
	}
	b.inputs.Reset()
	b.inputs.Write([]byte(hourVersion)) // a hash takes everything
	b.sum.Reset()
	b.whole, b.unreadable = true, 0
	b.total, b.of, b.mean = 0, 0, true
	b.lost, b.countable, b.lossKnown = 0, 0, false
	for i := range b.rates {
		b.rates[i] = b.rates[i][:0]
	}
}

func (b *hourBuilder) add(r *tables.Row) {
	print := tables.Fingerprint(r)
	b.inputs.Write(print[:])
	h := &b.out
	if h.Runs == 0 {
		h.Kind, h.Last = r.Kind, r.Slot
	}
	h.Runs++
	h.First = r.Slot
	if r.Failure != "" {
		h.Failed = tally(h.Failed, r.Failure, 1)
	}
	if len(r.Noise.Degraded) > 0 {
		h.Degraded++
	}
	if r.Simulated {
		h.Simulated++
	}
	b.counts(r)
	b.roundTrips(r)
	if lost, sent, ok := lossOf(r); ok {
		b.lost, b.countable, b.lossKnown = b.lost+lost, b.countable+sent, true
	}
	if m := r.Bulk.MovedBytes; m != nil {
		h.MovedBytes = plus(h.MovedBytes, *m)
	}
	for i, rate := range rated(r) {
		if rate != nil {
			b.rates[i] = append(b.rates[i], *rate)
		}
	}
}

// counts adds what a run tells of its samples.
func (b *hourBuilder) counts(r *tables.Row) {
	for code, n := range r.Failures {
		b.out.Failures = tally(b.out.Failures, code, n)
	}
	if r.Failure == wire.FailureExpired {
		return // nobody knows
	}
	c, k := &r.Counts, r.Counted
	to := &b.out.Counts
	for _, of := range []struct {
		into  **int
		n     int
		known bool
	}{
		{&to.Sent, c.Sent, k == nil || k.Sent}, {&to.Received, c.Received, k == nil || k.Received}, {&to.Lost, c.Lost, k == nil || k.Lost},
		{&to.Late, c.Late, k == nil || k.Late}, {&to.Duplicate, c.Duplicate, k == nil || k.Duplicate}, {&to.Reordered, c.Reordered, k == nil || k.Reordered},
	} {
		if of.known {
			n := of.n
			if *of.into != nil {
				n += **of.into
			}
			*of.into = &n
		}
	}
}

// roundTrips adds a run's round trips, if it has any.
func (b *hourBuilder) roundTrips(r *tables.Row) {
	if r.MinUS == nil && r.MeanUS == nil && r.MaxUS == nil && r.RTTHistogram == "" {
		return
	}
	h := &b.out
	h.RTT.MinUS, h.RTT.MaxUS = least(h.RTT.MinUS, r.MinUS), most(h.RTT.MaxUS, r.MaxUS)
	before, n := b.sum.Total(), int64(0)
	if r.RTTHistogram == "" {
		b.whole = false // another tool told no more than figures
	} else if err := b.sum.Add(r.RTTHistogram); err != nil {
		b.whole = false
		b.unreadable++
	} else {
		n = b.sum.Total() - before
	}
	if r.Counted == nil { // one of ours: its count is of its round trips
		b.whole = b.whole && n == int64(r.Counts.Received)
		n = int64(r.Counts.Received)
	} else if n == 0 && r.Counted.Received {
		n = int64(r.Counts.Received)
	}
	if r.MeanUS == nil || n == 0 {
		b.mean = false
		return
	}
	b.total += *r.MeanUS * float64(n)
	b.of += n
}

// lossOf is how many samples a run lost, of how many that it sent, those left out that were canceled in
// flight. The row has their number in its ratio alone: (lost − c) / (sent − c).
func lossOf(r *tables.Row) (lost, sent int, ok bool) {
	if r.LossRatio == nil || r.Counted != nil && !(r.Counted.Sent && r.Counted.Lost) {
		return 0, 0, false
	}
	lost, sent = r.Counts.Lost, r.Counts.Sent
	canceled, ratio := 0, *r.LossRatio
	switch {
	case r.Failures[wire.FailureCanceled] == 0: // none
	case ratio < 1:
		canceled = int(math.Round((float64(lost) - ratio*float64(sent)) / (1 - ratio)))
	case r.LossLow != nil && *r.LossLow < 1: // of n in n, whose lower end is n / (n + z²)
		const z2 = 1.959963984540054 * 1.959963984540054
		canceled = sent - int(math.Round(*r.LossLow*z2/(1-*r.LossLow)))
	}
	if canceled < 0 || canceled > lost {
		canceled = 0 // a ratio that does not follow from the counts
	}
	return lost - canceled, sent - canceled, sent > canceled
}

// rated are the rates of a run, in the order of rates.
func rated(r *tables.Row) [5]*float64 {
	b := &r.Bulk
	return [...]*float64{b.Throughput.UpBPS, b.Throughput.DownBPS, b.Saturation.BestBPS, b.Stream.ReceiverRate, b.Load.RequestsPerS}
}

// hour is what was added. An error says that the sum of the histograms cannot be written.
func (b *hourBuilder) hour() (*tables.Hour, error) {
	h := b.out
	h.Inputs = hex.EncodeToString(b.inputs.Sum(nil))
	if b.of > 0 && b.mean {
		mean := b.total / float64(b.of)
		h.RTT.MeanUS = &mean
	}
	if b.whole && b.sum.Total() > 0 {
		for p, into := range map[float64]**float64{0.5: &h.RTT.P50US, 0.9: &h.RTT.P90US, 0.95: &h.RTT.P95US, 0.99: &h.RTT.P99US, 0.999: &h.RTT.P999US} {
			*into = micros(b.sum.Quantile(p), h.RTT.MaxUS)
		}
		var err error
		if h.Histogram, err = b.sum.Encode(); err != nil {
			return nil, fmt.Errorf("computing the hour %s of %s: %w", h.Begin.Format(time.RFC3339), h.Series, err)
		}
	}
	h.Loss = lossFrom(b.lost, b.countable, b.lossKnown)
	for i, into := range []*tables.Rates{&h.Up, &h.Down, &h.Best, &h.Taken, &h.Answered} {
		*into = ratesOf(b.rates[i])
	}
	c := &h.Counts
	for _, n := range []**int{&c.Sent, &c.Received, &c.Lost, &c.Late, &c.Duplicate, &c.Reordered, &h.Loss.Sent} {
		if *n != nil && **n > math.MaxInt32 { // a row has no room for more
			*n = nil
		}
	}
	maps.DeleteFunc(h.Failures, func(_ wire.Failure, n int) bool { return n > math.MaxInt32 })
	return &h, nil
}

// micros is a quantile in µs; the top of its bucket may lie above the largest value, which is exact.
func micros(ns, largest *float64) *float64 {
	if ns == nil {
		return nil
	}
	v := *ns / 1000
	if largest != nil {
		v = min(v, *largest)
	}
	return &v
}

func lossFrom(lost, sent int, known bool) tables.Loss {
	if !known || sent == 0 {
		return tables.Loss{}
	}
	ratio, low, high := summary.Wilson(lost, sent)
	return tables.Loss{Sent: &sent, Ratio: &ratio, Low: &low, High: &high}
}

// ratesOf describes rates by their median: an hour has few runs, often one, and one that met a crowded
// network or a slow start must not move the answer. Rates of runs at different times add up to nothing.
func ratesOf(rates []float64) tables.Rates {
	e, ok := trend.Median(rates)
	if !ok {
		return tables.Rates{}
	}
	n, low, high := len(rates), slices.Min(rates), slices.Max(rates)
	return tables.Rates{N: &n, Min: &low, Median: &e.Value, Max: &high}
}

func tally(in map[wire.Failure]int, code wire.Failure, n int) map[wire.Failure]int {
	if in == nil {
		in = map[wire.Failure]int{}
	}
	in[code] += n
	return in
}

func plus(to *float64, v float64) *float64 {
	if to != nil {
		v += *to
	}
	return &v
}

func least(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func most(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
