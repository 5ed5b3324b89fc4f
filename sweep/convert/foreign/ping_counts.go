package foreign

import (
	"fmt"
	"math"

	"isochrone/prober/wire"
)

// fill fills in counts and figures, by the statistics where they are there and by the lines else. The
// round trips of the lines are taken only when they are all of what was received.
func (r *pingRun) fill(f *Finding) (faults []*Fault) {
	fault := func(format string, args ...any) {
		faults = append(faults, &Fault{Line: r.line, Offset: NoOffset, Reason: "the run that begins here: " + fmt.Sprintf(format, args...)})
	}
	lines := r.echoes.counts()
	if !r.ended {
		fault("its statistics are missing: it was cut off, and its counts are those of its lines")
		r.countLines(f, lines)
		r.echoes.fill(f)
		return faults
	}
	for _, err := range r.countStatistics(f, lines) {
		if err != nil {
			fault("%v", err)
		}
	}
	whole := lines.received == f.Run.Counts.Received
	switch {
	case whole && lines.received > 0:
		f.Run.Counts.Reordered, f.Counted.Reordered = lines.reordered, lines.inOrder && !r.head.windows
		r.echoes.fill(f)
		if len(f.RTT) > 0 || len(f.Bins) > 0 || r.echoes.censored > 0 {
			r.countFailures(f, lines)
			return faults
		}
	case lines.received > 0:
		fault("the statistics say that %d were received, and %d lines are there: the statistics' figures are taken", f.Run.Counts.Received, lines.received)
	}
	if err := r.fillFigures(f); err != nil {
		fault("%v", err)
	}
	if whole {
		r.countFailures(f, lines)
	}
	return faults
}

// countLines counts by the lines.
func (r *pingRun) countLines(f *Finding, lines echoCounts) {
	c := &f.Run.Counts
	c.Received, c.Duplicate, c.Reordered = lines.received, lines.duplicates, lines.reordered
	c.Sent = r.sentByLines()
	if r.head.windows {
		c.Sent = r.shown
	}
	c.Lost = c.Sent - c.Received
	sure := c.Lost >= 0 && c.Sent <= math.MaxInt32
	inOrder := !r.head.windows && lines.inOrder
	f.Counted = Counted{Sent: sure, Received: true, Lost: sure, Duplicate: inOrder, Reordered: inOrder}
	if !sure {
		c.Sent, c.Lost = c.Received, 0
	}
	f.explain("received_count", Quantity{Text: fmt.Sprintf("%d replies", c.Received), Where: r.echoes.span()})
	f.explain("sent_count", Quantity{Text: fmt.Sprintf("%d requests told of", c.Sent), Where: r.echoes.span()})
}

// countStatistics counts by the statistics.
func (r *pingRun) countStatistics(f *Finding, lines echoCounts) (errs []error) {
	c, known := &f.Run.Counts, &f.Counted
	errs = append(errs, f.count("sent_count", &c.Sent, &known.Sent, r.counts[0]))
	if r.head.windows {
		errs = append(errs, r.countWindows(f, lines))
	} else {
		errs = append(errs, f.count("received_count", &c.Received, &known.Received, r.counts[1]))
		known.Duplicate = known.Received // none are told where there were none
		var told bool
		errs = append(errs, f.count("duplicate_count", &c.Duplicate, &told, r.extras["duplicates"]))
		// Replies that came after -W are counted as received by the BSDs, and told apart.
		if errs = append(errs, f.count("late_count", &c.Late, &known.Late, r.extras["packets out of wait time"])); known.Late {
			c.Received = max(c.Received-c.Late, 0)
		}
	}
	if !known.Sent || !known.Received {
		return errs
	}
	if c.Received > c.Sent {
		return append(errs, fmt.Errorf("%d were received of %d sent", c.Received, c.Sent))
	}
	c.Lost, known.Lost = c.Sent-c.Received, true
	loss := r.extras["packet loss"]
	if !loss.there() || r.head.windows {
		loss = Quantity{Text: fmt.Sprintf("%d sent, %d received", c.Sent, c.Received), Where: r.counts[0].Where}
	}
	f.explain("lost_count", loss)
	return errs
}

// countWindows counts what was received. Windows counts a router's refusal as received too, which the
// target never saw.
func (r *pingRun) countWindows(f *Finding, lines echoCounts) error {
	var told int
	if err := f.count("received_count", &told, &f.Counted.Received, r.counts[1]); err != nil || !f.Counted.Received {
		return err
	}
	if f.Run.Counts.Received = told - len(r.refusals); f.Run.Counts.Received < lines.received || r.shown == f.Run.Counts.Sent {
		f.Run.Counts.Received = lines.received
	}
	if len(r.refusals) > 0 {
		f.explain("received_count", Quantity{Text: fmt.Sprintf("less %d that are a router's: %s", len(r.refusals), r.refusal), Where: r.counts[1].Where})
	}
	return nil
}

// fillFigures takes the figures of the statistics. The mean, the maximum and the deviation of Unix pings
// are over duplicates too, so that they are the samples' only where there are none. The deviation is
// that of the population, and is made that of the sample.
func (r *pingRun) fillFigures(f *Finding) error {
	s := &f.Summary
	figures := make(map[string]Quantity, len(r.figures))
	for name, q := range r.figures {
		if v, err := q.nanoseconds(); err == nil && v != nil && *v == 0 && name != "deviation" {
			f.explain("rtt_"+map[string]string{"min": "min", "avg": "mean", "max": "max"}[name]+"_us", Quantity{Text: q.Text, Unit: "below the tool's resolution: null", Where: q.Where})
			continue
		}
		figures[name] = q
	}
	if err := f.duration("rtt_min_us", &s.Min, figures["min"]); err != nil {
		return err
	}
	if f.Run.Counts.Duplicate > 0 || f.Run.Counts.Late > 0 {
		return nil
	}
	if err := f.duration("rtt_mean_us", &s.Mean, figures["avg"]); err != nil {
		return err
	}
	if err := f.duration("rtt_max_us", &s.Max, figures["max"]); err != nil {
		return err
	}
	n := float64(f.Run.Counts.Received)
	if n < 2 || !figures["deviation"].there() {
		return nil
	}
	q := figures["deviation"]
	q.Unit = "ms"
	v, err := q.nanoseconds()
	if err != nil || v == nil {
		return err
	}
	sample := *v * math.Sqrt(n/(n-1))
	s.Stddev = &sample
	f.explain("rtt_stddev_us", Quantity{Text: q.Text, Unit: fmt.Sprintf("ms, %s of the population: × √(n/(n−1))", r.deviations), Where: q.Where})
	return nil
}

// countFailures counts the samples by failure code, where every line is there.
func (r *pingRun) countFailures(f *Finding, lines echoCounts) {
	lost := f.Run.Counts.Lost
	if !f.Counted.Lost || lost == 0 || r.complaint != "" || !lines.inOrder && lines.received > 0 {
		return
	}
	told := fmt.Sprint(len(r.refusals))
	if !r.head.windows && r.extras["errors"].Text != told && (r.extras["errors"].there() || len(r.refusals) > 0) {
		return
	}
	refused := len(r.refusals)
	if !r.head.windows {
		seqs := make([]int64, 0, len(r.refusals))
		for _, seq := range r.refusals {
			if seq < 0 { // the BSDs do not say to which request a router answered
				return
			}
			seqs = append(seqs, seq)
		}
		refused = r.echoes.unanswered(seqs)
	}
	if refused > lost {
		return
	}
	f.Summary.Failures = map[wire.Failure]int{}
	if refused > 0 {
		f.Summary.Failures[wire.FailureUnreachable] = refused
		f.explain("failed_unreachable_count", Quantity{Text: r.refusal, Where: fmt.Sprintf("the run from line %d", r.line)})
	}
	if lost > refused {
		f.Summary.Failures[wire.FailureTimeout] = lost - refused
		f.explain("failed_timeout_count", Quantity{Text: fmt.Sprintf("%d lost, %d refused", lost, refused), Where: fmt.Sprintf("the run from line %d", r.line)})
	}
}
