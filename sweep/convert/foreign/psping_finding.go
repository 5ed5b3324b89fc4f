package foreign

import (
	"errors"
	"fmt"
	"math"
	"net"

	"isochrone/prober/wire"
)

// finding is what the test came to.
func (r *pspingRun) finding(d *Document) (*Finding, error) {
	f := &Finding{Tool: "PsPing", From: r.source, To: r.destination, Run: wire.Run{Kind: r.kind, Address: r.destination}}
	if r.version != "" {
		f.Tool += " " + r.version
	}
	if host, _, err := net.SplitHostPort(r.destination); err == nil {
		f.To = host
	}
	if r.known && r.kind != wire.KindThroughput {
		f.Run.Counts.Warmup, f.Counted.Warmup = r.warmup, true
		f.explain("warmup_count", Quantity{Text: fmt.Sprint(r.warmup), Where: fmt.Sprintf("the test from line %d", r.begins)})
	}
	told := r.sent.there() && r.mean.there()
	switch {
	case told && r.kind == wire.KindThroughput:
		return f, r.throughput(f)
	case told && !r.received.there():
		return f, r.latency(f)
	case r.received.there():
		return f, r.pings(f)
	case r.echoes > 0:
		d.leave(Fault{Line: r.begins, Offset: NoOffset, Reason: "its statistics are not there: it was stopped, or is cut off"})
		return f, r.stopped(f)
	case r.complaint != "":
		r.failure(f)
		return f, nil
	}
	return nil, errors.New("it ends before the statistics")
}

func (r *pspingRun) failure(f *Finding) {
	f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "no reply"
	if r.complaint != "" {
		f.Run.Failure, f.Run.Detail = failureInWords(r.complaint, wire.FailureLocal), r.complaint
	}
	f.explain("failure", Quantity{Text: f.Run.Detail, Where: r.complaintAt})
}

// pings fills in a test of connects or echoes from its statistics, and the round trips where each is
// there.
func (r *pspingRun) pings(f *Finding) error {
	c, known := &f.Run.Counts, &f.Counted
	for _, count := range []struct {
		column string
		to     *int
		known  *bool
		q      Quantity
	}{{"sent_count", &c.Sent, &known.Sent, r.sent}, {"received_count", &c.Received, &known.Received, r.received}, {"lost_count", &c.Lost, &known.Lost, r.lost}} {
		if err := f.count(count.column, count.to, count.known, count.q); err != nil {
			return err
		}
	}
	if c.Received > c.Sent || c.Lost > c.Sent {
		return r.received.fault("%d received and %d lost of %d", c.Received, c.Lost, c.Sent)
	}
	if c.Received == 0 { // the statistics are zeros then
		r.failure(f)
		return nil
	}
	if r.samples.n == c.Received {
		r.listed(f)
		return nil
	}
	return r.spread(f)
}

func (r *pspingRun) listed(f *Finding) {
	r.samples.into(f, Quantity{fmt.Sprintf("%d times", r.samples.n), "ms", fmt.Sprintf("lines %d to %d", r.firstRow, r.lastRow)})
}

// stopped fills in what the lines of the echoes say.
func (r *pspingRun) stopped(f *Finding) error {
	q := Quantity{Text: fmt.Sprintf("%d lines", r.echoes), Where: fmt.Sprintf("lines %d to %d", r.firstRow, r.lastRow)}
	if r.echoes > math.MaxInt32 {
		return q.fault("more than %d echoes", math.MaxInt32)
	}
	c := &f.Run.Counts
	c.Sent, c.Received, c.Lost = r.echoes, r.echoes-r.failed, r.failed
	f.Counted.Sent, f.Counted.Received, f.Counted.Lost = true, true, true
	for _, column := range []string{"sent_count", "received_count", "lost_count"} {
		f.explain(column, q)
	}
	switch {
	case c.Received == 0:
		r.failure(f)
	case r.unresolved == 0 && r.samples.n == c.Received:
		r.listed(f)
	}
	return nil
}

// latency fills in a test of messages. It says how many were sent, and not how many came back.
func (r *pspingRun) latency(f *Finding) error {
	if err := f.count("sent_count", &f.Run.Counts.Sent, &f.Counted.Sent, r.sent); err != nil {
		return err
	}
	if err := r.spread(f); err != nil {
		return err
	}
	if f.Summary.Mean == nil {
		return r.mean.fault("a mean of %.20s %s cannot be", r.mean.Text, r.mean.Unit)
	}
	return nil
}

// spread fills in the smallest, the largest and the mean. 0.00 is below the resolution.
func (r *pspingRun) spread(f *Finding) error {
	s := &f.Summary
	for _, c := range []struct {
		column string
		to     **float64
		q      Quantity
	}{{"rtt_min_us", &s.Min, r.least}, {"rtt_mean_us", &s.Mean, r.mean}, {"rtt_max_us", &s.Max, r.most}} {
		v, err := c.q.nanoseconds()
		if err != nil {
			return err
		}
		if v != nil && *v > 0 {
			*c.to = v
			f.explain(c.column, c.q)
		}
	}
	return nil
}

// pspingRates are PsPing's units: a KB is 1024 bytes.
var pspingRates = map[string]string{"B/s": "B/s", "KB/s": "KiB/s", "MB/s": "MiB/s", "GB/s": "GiB/s"}

// throughput fills in a test of bandwidth: what the client sent, or, with -r, received.
func (r *pspingRun) throughput(f *Finding) error {
	if r.udp && !r.receiver {
		return errors.New("the bandwidth of a UDP sender is what was sent, and nobody says what arrived")
	}
	unit, ok := pspingRates[r.mean.Unit]
	if !ok {
		return r.mean.fault("the unit %.20q is none of a rate", r.mean.Unit)
	}
	b := f.bulk()
	column, to := "throughput_up_bps", &b.Throughput.UpBPS
	b.Throughput.Direction = wire.DirectionUp
	if r.receiver {
		column, to = "throughput_down_bps", &b.Throughput.DownBPS
		b.Throughput.Direction = wire.DirectionDown
	}
	if err := f.rate(column, to, Quantity{r.mean.Text, unit, r.mean.Where}); err != nil {
		return err
	}
	bytes, err := r.total.bytes()
	if err != nil {
		return err
	}
	if bytes != nil {
		b.MovedBytes = int64(*bytes)
		f.explain("moved_bytes", r.total)
	}
	return nil
}
