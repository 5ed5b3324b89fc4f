package convert

import (
	"errors"
	"fmt"
	"math"
	"time"

	"isochrone/prober/wire"
)

// The largest figures of a bulk run that are believed. They are far above what any network or
// machine does, and far below what would overflow when it is added up.
const (
	maxBulkMoved = 1 << 50 // bytes of one run: a thousand times the largest budget
	maxBulkRate  = 1e15    // bit/s, or messages or requests a second
	maxBulkTime  = int64(24 * time.Hour)
	maxBulkCount = math.MaxInt32
	// maxIntervals bounds the intervals and levels of a document. A bulk document has one run, with two
	// directions at the most.
	maxIntervals = 2*wire.MaxFlowIntervals + wire.MaxLevels
)

// normalizeBulk makes an empty list and none the same.
func normalizeBulk(b *wire.BulkResult) {
	if b == nil {
		return
	}
	if len(b.Flows) == 0 {
		b.Flows = nil
	}
	if len(b.Levels) == 0 {
		b.Levels = nil
	}
	for i := range b.Flows {
		normalizeIntervals(&b.Flows[i].Intervals)
	}
	if b.Stream != nil {
		normalizeIntervals(&b.Stream.Intervals)
	}
}

func normalizeIntervals(v *wire.Intervals) {
	for _, c := range v.Columns() {
		if len(*c.Values) == 0 {
			*c.Values = nil
		}
	}
}

// bulkChecker gathers what cannot be in a run's figures that are no samples, each with its place.
type bulkChecker struct {
	place  string
	faults []error
}

func (c *bulkChecker) fault(name, format string, args ...any) {
	if len(c.faults) < 20 { // a hostile document can have thousands
		c.faults = append(c.faults, fmt.Errorf(c.place+name+": "+format, args...))
	}
}

func (c *bulkChecker) whole(name string, v, least, most int64) {
	if v < least || v > most {
		c.fault(name, "%d: want %d to %d", v, least, most)
	}
}

func (c *bulkChecker) rate(name string, v, most float64) {
	if !(v >= 0 && v <= most) { // NaN as well
		c.fault(name, "%g: want 0 to %g", v, most)
	}
}

// checkBulk refuses what wire's own Validate leaves to the reader: figures that no run can have come
// to. Nothing is added up before it has passed.
func checkBulk(d *wire.Document) error {
	c, intervals := &bulkChecker{}, 0
	for i := range d.Runs {
		r := &d.Runs[i]
		c.place = fmt.Sprintf("runs[%d].", i)
		if r.Kind.IsBulk() && !r.Kind.HasSamples() {
			c.counts(r)
		}
		if r.Bulk != nil {
			c.place = fmt.Sprintf("runs[%d].bulk.", i)
			c.result(r.Kind, r.Bulk)
			if intervals += lengths(r.Bulk); intervals > maxIntervals {
				c.fault("flows", "more than %d intervals and levels in one document", maxIntervals)
				break
			}
		}
	}
	return errors.Join(c.faults...)
}

// lengths is how many intervals and levels a result has.
func lengths(b *wire.BulkResult) int {
	n := len(b.Levels)
	for i := range b.Flows {
		n += len(b.Flows[i].Intervals.AtNS)
	}
	if b.Stream != nil {
		n += len(b.Stream.Intervals.AtNS)
	}
	return n
}

// counts are those of requests or messages; no samples are there to hold them against.
func (c *bulkChecker) counts(r *wire.Run) {
	if n := r.Samples.Len(); n > 0 {
		c.fault("samples", "%d entries: kind %q has none", n, r.Kind)
	}
	n, received := r.Counts, r.Counts.Sent
	if r.Kind == wire.KindStream { // a batch whose writing ended in an error may have been taken in part
		received = maxBulkCount
	}
	for _, v := range []struct {
		name     string
		is, most int
	}{
		{"sent", n.Sent, maxBulkCount}, {"received", n.Received, received}, {"lost", n.Lost, n.Sent}, {"late", n.Late, n.Lost}, {"warmup", n.Warmup, maxBulkCount},
		{"duplicate", n.Duplicate, maxBulkCount}, {"reordered", n.Reordered, n.Received}, {"pacing_violations", n.PacingViolations, n.Sent},
	} {
		c.whole("counts."+v.name, int64(v.is), 0, int64(v.most))
	}
	for _, p := range []*int{n.LostForward, n.LostReverse, n.DuplicateForward, n.DuplicateReverse, n.ReorderedForward, n.ReorderedReverse} {
		if p != nil {
			c.fault("counts", "counts by direction: kind %q has none", r.Kind)
			return
		}
	}
}

func (c *bulkChecker) result(k wire.Kind, b *wire.BulkResult) {
	c.whole("bytes", b.Bytes, 0, maxBulkMoved)
	for _, part := range []struct {
		name  string
		of    wire.Kind
		there bool
	}{
		{"flows", wire.KindThroughput, len(b.Flows) > 0}, {"levels", wire.KindSaturate, len(b.Levels) > 0},
		{"stream", wire.KindStream, b.Stream != nil}, {"load", wire.KindLoad, b.Load != nil},
	} {
		if part.there && part.of != k {
			c.fault(part.name, "kind %q has none", k)
		}
	}
	for i := range b.Flows {
		c.flow(fmt.Sprintf("flows[%d].", i), &b.Flows[i])
	}
	if len(b.Flows) == 2 && b.Flows[0].Direction == b.Flows[1].Direction {
		c.fault("flows", "two of direction %q", b.Flows[0].Direction)
	}
	for i := range b.Levels {
		c.level(fmt.Sprintf("levels[%d].", i), &b.Levels[i])
		if i > 0 && b.Levels[i].Outstanding <= b.Levels[i-1].Outstanding {
			c.fault(fmt.Sprintf("levels[%d].outstanding", i), "%d after %d: want numbers that rise", b.Levels[i].Outstanding, b.Levels[i-1].Outstanding)
		}
	}
	if b.Stream != nil {
		c.stream(b.Stream)
	}
	if b.Load != nil {
		c.load(b.Load)
	}
}

func (c *bulkChecker) flow(at string, f *wire.Flow) {
	c.whole(at+"streams", int64(f.Streams), 0, wire.MaxStreams)
	c.rate(at+"bps", f.BPS, maxBulkRate)
	c.whole(at+"bytes", f.Bytes, 0, maxBulkMoved)
	c.whole(at+"ramp_bytes", f.RampBytes, 0, maxBulkMoved)
	c.whole(at+"counted_ns", f.CountedNS, 0, maxBulkTime)
	c.whole(at+"ramp_ns", f.RampNS, 0, maxBulkTime)
	if f.Retransmits != nil {
		c.whole(at+"retransmits", *f.Retransmits, 0, maxBulkCount)
	}
	if f.WindowLimitedRatio != nil {
		c.rate(at+"window_limited_ratio", *f.WindowLimitedRatio, 1)
	}
	if n := len(f.CongestionControl); n > maxNameBytes {
		c.fault(at+"congestion_control", "a name of %d bytes: want at most %d", n, maxNameBytes)
	}
	c.intervals(at, &f.Intervals)
}

func (c *bulkChecker) level(at string, l *wire.Level) {
	c.whole(at+"outstanding", int64(l.Outstanding), 1, wire.MaxOutstanding)
	c.whole(at+"requests", int64(l.Requests), 0, maxBulkCount)
	c.whole(at+"bytes", l.Bytes, 0, maxBulkMoved)
	c.whole(at+"counted_ns", l.CountedNS, 0, maxBulkTime)
	c.rate(at+"bps", l.BPS, maxBulkRate)
	for _, v := range []struct {
		name string
		ns   int64
	}{{"min_ns", l.MinNS}, {"mean_ns", l.MeanNS}, {"p50_ns", l.P50NS}, {"p99_ns", l.P99NS}, {"max_ns", l.MaxNS}} {
		c.whole(at+v.name, v.ns, 0, maxBulkTime)
	}
	for i, n := range l.Bands {
		c.whole(fmt.Sprintf("%sbands[%d]", at, i), int64(n), 0, maxBulkCount)
	}
}

func (c *bulkChecker) stream(s *wire.StreamResult) {
	c.rate("stream.source_rate", s.SourceRate, maxBulkRate)
	c.rate("stream.receiver_rate", s.ReceiverRate, maxBulkRate)
	c.whole("stream.messages", int64(s.Messages), 0, wire.MaxMessages)
	c.whole("stream.max_backlog", int64(s.MaxBacklog), 0, wire.MaxMessages)
	c.whole("stream.delay_bound_ns", s.DelayBoundNS, 0, maxBulkTime)
	for _, v := range []struct {
		name string
		ns   int64
	}{{"delay_p50_ns", s.DelayP50NS}, {"delay_p99_ns", s.DelayP99NS}, {"delay_last_ns", s.DelayLastNS}, {"predicted_last_ns", s.PredictedLastNS}} {
		c.whole("stream."+v.name, v.ns, -maxBulkTime, maxBulkTime) // the clocks' error may make a delay negative
	}
	c.intervals("stream.", &s.Intervals)
}

func (c *bulkChecker) load(l *wire.LoadResult) {
	c.whole("load.users", int64(l.Users), 0, wire.MaxUsers)
	c.rate("load.requests_per_s", l.RequestsPerS, maxBulkRate)
	for _, v := range []struct {
		name string
		ns   *int64
	}{{"network_p50_ns", l.NetworkP50NS}, {"network_p99_ns", l.NetworkP99NS}, {"server_p50_ns", l.ServerP50NS}} {
		if v.ns != nil {
			c.whole("load."+v.name, *v.ns, -maxBulkTime, maxBulkTime)
		}
	}
}

// intervals follow each other; what they count is known or null, and never negative.
func (c *bulkChecker) intervals(at string, v *wire.Intervals) {
	for _, column := range v.Columns() {
		for i, n := range *column.Values {
			name := fmt.Sprintf("%sintervals.%s[%d]", at, column.Name, i)
			switch {
			case n == wire.Null && column.Optional:
				continue
			case n < 0 || n > maxBulkMoved:
				c.fault(name, "%d: want 0 to %d", n, int64(maxBulkMoved))
			case column.Name == "at_ns" && i > 0 && n <= v.AtNS[i-1]:
				c.fault(name, "%d after %d: want numbers that rise", n, v.AtNS[i-1])
			case !column.Optional && n > maxBulkTime:
				c.fault(name, "%d: want at most a day", n)
			default:
				continue
			}
			return // one is enough
		}
	}
}
