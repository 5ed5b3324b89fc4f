package answers

import (
	"iter"
	"math"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/tables"
	"isochrone/sweep/trend"
)

// A day is an hour that lasts longer: its quantiles come from the merged histograms of its hours, and where one of
// them is missing there are none.

// dayColumns are the columns of hours, with the day in the place of the hour, and how many hours it has.
func dayColumns() []tables.Column {
	out := tables.HourColumns()
	out[0] = tables.Column{Name: "day", Type: tables.DateTime, Unit: "UTC", Meaning: "first instant of the day"}
	return append(out, tables.Column{Name: "hour_count", Type: tables.Int32, Unit: "hours", Meaning: "hours of the day that have a row"})
}

// daysOf gives the days of hours that come by series and newest first.
func daysOf(hours iter.Seq2[tables.Hour, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var d dayBuilder
		var values []any
		give := func() bool {
			if d.hours == 0 {
				return true
			}
			day, err := d.day()
			if err == nil {
				values = append(tables.HourValues(&day, values), d.hours)
			}
			return yield(values, err) && err == nil
		}
		for h, err := range hours {
			if err != nil {
				yield(nil, err)
				return
			}
			begin := h.Begin.UTC().Truncate(24 * time.Hour)
			if d.hours > 0 && (d.out.Series != h.Series || !d.out.Begin.Equal(begin)) {
				if !give() {
					return
				}
				d.hours = 0
			}
			d.add(&h, begin)
		}
		give()
	}
}

// dayBuilder takes the hours of a day, newest first.
type dayBuilder struct {
	out   tables.Hour
	hours int
	sum   wire.HistogramSum
	whole bool // the sum holds every round trip

	total, of  float64 // of the means, µs
	mean       bool
	lost, sent float64
	rates      [5]rateSum
}

func (d *dayBuilder) add(h *tables.Hour, begin time.Time) {
	o := &d.out
	if d.hours == 0 {
		d.sum.Reset()
		*d = dayBuilder{out: tables.Hour{Series: h.Series, Begin: begin, Kind: h.Kind, Last: h.Last}, sum: d.sum, whole: true, mean: true}
	}
	d.hours++
	o.First = h.First
	o.Runs, o.Degraded, o.Simulated = o.Runs+h.Runs, o.Degraded+h.Degraded, o.Simulated+h.Simulated
	o.Failed, o.Failures = addTally(o.Failed, h.Failed), addTally(o.Failures, h.Failures)
	c := &h.Counts
	for i, into := range []**int{&o.Counts.Sent, &o.Counts.Received, &o.Counts.Lost, &o.Counts.Late, &o.Counts.Duplicate, &o.Counts.Reordered} {
		addCount(into, [...]*int{c.Sent, c.Received, c.Lost, c.Late, c.Duplicate, c.Reordered}[i])
	}
	if h.RTT.MinUS != nil || h.RTT.MaxUS != nil || h.Histogram != "" {
		d.roundTrips(h)
	}
	if l := h.Loss; l.Sent != nil && l.Ratio != nil {
		d.lost, d.sent = d.lost+math.Round(*l.Ratio*float64(*l.Sent)), d.sent+float64(*l.Sent)
	}
	if h.MovedBytes != nil {
		moved := *h.MovedBytes
		if o.MovedBytes != nil {
			moved += *o.MovedBytes
		}
		o.MovedBytes = &moved
	}
	for i, r := range []*tables.Rates{&h.Up, &h.Down, &h.Best, &h.Taken, &h.Answered} {
		d.rates[i].add(r)
	}
}

func (d *dayBuilder) roundTrips(h *tables.Hour) {
	r := &d.out.RTT
	if h.RTT.MinUS != nil && (r.MinUS == nil || *h.RTT.MinUS < *r.MinUS) {
		r.MinUS = h.RTT.MinUS
	}
	if h.RTT.MaxUS != nil && (r.MaxUS == nil || *h.RTT.MaxUS > *r.MaxUS) {
		r.MaxUS = h.RTT.MaxUS
	}
	if h.Histogram == "" || d.sum.Add(h.Histogram) != nil {
		d.whole = false
	}
	if h.RTT.MeanUS == nil || h.Counts.Received == nil {
		d.mean = false
		return
	}
	d.total, d.of = d.total+*h.RTT.MeanUS*float64(*h.Counts.Received), d.of+float64(*h.Counts.Received)
}

func (d *dayBuilder) day() (tables.Hour, error) {
	o := d.out
	if d.mean && d.of > 0 {
		mean := d.total / d.of
		o.RTT.MeanUS = &mean
	}
	if d.whole && d.sum.Total() > 0 {
		q := quantilesFrom(&d.sum, o.RTT.MaxUS)
		o.RTT.P50US, o.RTT.P90US, o.RTT.P95US, o.RTT.P99US, o.RTT.P999US = q.P50US, q.P90US, q.P95US, q.P99US, q.P999US
		var err error
		if o.Histogram, err = d.sum.Encode(); err != nil {
			return o, err
		}
	}
	if d.sent > 0 && d.sent <= math.MaxInt32 {
		sent := int(d.sent)
		ratio, low, high := summary.Wilson(int(d.lost), sent)
		o.Loss = tables.Loss{Sent: &sent, Ratio: &ratio, Low: &low, High: &high}
	}
	for i, into := range []*tables.Rates{&o.Up, &o.Down, &o.Best, &o.Taken, &o.Answered} {
		*into = d.rates[i].rates()
	}
	return o, nil
}

// rateSum is what is known of the rates of several hours. Their median is known only where each hour had one run:
// a median of medians is none.
type rateSum struct {
	values    []float64
	n         int
	several   bool
	low, high float64
}

func (s *rateSum) add(r *tables.Rates) {
	if r.N == nil || r.Min == nil || r.Median == nil || r.Max == nil {
		return
	}
	if s.n == 0 {
		s.low, s.high = *r.Min, *r.Max
	}
	s.n += *r.N
	s.low, s.high = min(s.low, *r.Min), max(s.high, *r.Max)
	s.several = s.several || *r.N > 1
	s.values = append(s.values, *r.Median)
}

func (s *rateSum) rates() tables.Rates {
	if s.n == 0 {
		return tables.Rates{}
	}
	n, low, high := s.n, s.low, s.high
	out := tables.Rates{N: &n, Min: &low, Max: &high}
	if e, ok := trend.Median(s.values); ok && !s.several {
		out.Median = &e.Value
	}
	return out
}

func addTally(to, more map[wire.Failure]int) map[wire.Failure]int {
	for code, n := range more {
		if to == nil {
			to = map[wire.Failure]int{}
		}
		to[code] += n
	}
	return to
}

func addCount(into **int, n *int) {
	if n == nil {
		return
	}
	sum := *n
	if *into != nil {
		sum += **into
	}
	*into = &sum
}
