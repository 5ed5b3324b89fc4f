package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// perfsonarBucket is a bucket's width, in seconds, where the test does not give one (owping, twping
// and powstream alike).
const perfsonarBucket = "0.001"

// latency reads the result of a test of type latency or latencybg: delays one way, which never become
// round trips. They are told only with a bound on the clocks' error.
func (r *perfsonarRun) latency() error {
	f := &r.f
	if err := r.counts("packets-sent", "packets-received", "packets-lost", "packets-duplicated", "packets-reordered"); err != nil {
		return err
	}
	c := &f.Run.Counts
	if r.tool == "owping" || r.tool == "powstream" { // twping and halfping lose packets on the way back too
		for _, one := range []struct {
			known         bool
			from          int
			to            **int
			column, whole string
		}{
			{f.Counted.Lost, c.Lost, &c.LostForward, "lost_forward_count", "lost_count"},
			{f.Counted.Duplicate, c.Duplicate, &c.DuplicateForward, "duplicate_forward_count", "duplicate_count"},
			{f.Counted.Reordered, c.Reordered, &c.ReorderedForward, "reordered_forward_count", "reordered_count"},
		} {
			if !one.known {
				continue
			}
			*one.to = &one.from
			if at := slices.IndexFunc(f.Explained, func(e Explanation) bool { return e.Column == one.whole }); at >= 0 {
				e := f.Explained[at]
				e.Column = one.column
				f.Explained = append(f.Explained, e)
			}
		}
	}
	delays, err := r.delays()
	if err != nil {
		return err
	}
	switch {
	case f.Counted.Received && c.Received == 0:
		r.fail(wire.FailureTimeout, "no packet arrived", r.at+"packets-received")
		return nil
	case !f.Counted.Received && delays.Len() == 0:
		r.fail(wire.FailureProtocol, "the result tells neither packets nor delays", r.at+"packets-received")
		return nil
	}
	return r.oneWay(delays)
}

// oneWay takes over the delays if the clocks' error is told and they do not disprove it: no packet
// arrives before it was sent. An error of 0 is none that was estimated. Their variation is left out:
// without the order of the packets, a clock's drift cannot be told from it.
func (r *perfsonarRun) oneWay(delays summary.Distribution) error {
	if delays.Len() == 0 {
		return nil
	}
	f := &r.f
	told := r.told("ms", "max-clock-error")
	bound, err := told.nanoseconds()
	if err != nil {
		return err
	}
	if bound == nil || *bound == 0 || r.tool == "halfping" || float64(delays[0].Value) < -*bound {
		f.Summary.Noise.Degraded = append(f.Summary.Noise.Degraded, summary.ReasonUnsynchronised)
		return nil
	}
	width, err := r.bucket().nanoseconds()
	if err != nil {
		return err
	}
	// Both are rounded to two decimal places: the error of milliseconds, the delays of buckets.
	*bound += 0.005*1e6 + 0.005**width
	figures := delays.Summary()
	f.Summary.OneWay = &summary.OneWay{Method: summary.OneWayClocks, Bound: bound, ForwardMin: figures.Min, ForwardP50: figures.P50.Value}
	f.explain("oneway_bound_us", told)
	text := func(ns float64) string { return strconv.FormatFloat(ns / *width, 'f', 2, 64) }
	unit := fmt.Sprintf("buckets of %s s", r.bucket().Text)
	f.explain("forward_min_us", Quantity{Text: text(*figures.Min), Unit: unit, Where: r.place("histogram-latency")})
	if p := figures.P50.Value; p != nil {
		f.explain("forward_p50_us", Quantity{Text: text(*p), Unit: unit, Where: r.place("histogram-latency")})
	}
	return nil
}

// bucket is the width of the histogram's buckets; not there when nobody knows.
func (r *perfsonarRun) bucket() Quantity {
	if q := quantityOf(r.spec.Get("bucket-width"), "s", r.prefix+"test.spec.bucket-width"); q.there() {
		return q
	}
	if r.spec.Has("dest") {
		return Quantity{Text: perfsonarBucket, Unit: "s", Where: r.prefix + "test.spec"}
	}
	return Quantity{}
}

// delays are the one-way delays in ns: the histogram counts them by their number of buckets.
func (r *perfsonarRun) delays() (summary.Distribution, error) {
	histogram := r.result.Get("histogram-latency")
	if histogram.Len() == 0 {
		return nil, nil
	}
	width, err := r.bucket().nanoseconds()
	if err != nil {
		return nil, err
	}
	if width == nil {
		r.leave(histogram.Offset(), "its delays are counted in buckets whose width a result alone does not tell: give the whole run")
		return nil, nil
	}
	counts := map[int64]int{}
	total := 0
	for key, v := range histogram.Members() {
		where := r.place("histogram-latency." + cut(key))
		at, err := Quantity{Text: key, Where: where}.in(map[string]float64{"": *width}, -maxDurationNS, maxDurationNS, "a delay")
		if err != nil {
			return nil, err
		}
		n, err := quantityOf(v, "", where).count()
		if err != nil {
			return nil, err
		}
		if at == nil || n == nil {
			return nil, &Fault{Offset: NoOffset, Where: where, Reason: "a bucket without a delay or a number of packets"}
		}
		if total += *n; total > math.MaxInt32 {
			return nil, &Fault{Offset: NoOffset, Where: where, Reason: "more packets than a run can have"}
		}
		counts[int64(math.Round(*at))] += *n
	}
	return summary.DistributionOf(counts), nil
}
