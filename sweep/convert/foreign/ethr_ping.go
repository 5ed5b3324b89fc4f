package foreign

import (
	"fmt"

	"isochrone/prober/wire"
)

// pinged is a connection or an echo that was made; those to warm up do not count.
func (e *ethrReader) pinged(r toldRecord, warmup, took string, icmp bool) error {
	if warmup != "" {
		return nil
	}
	e.pingBegan(r, icmp)
	v, err := Quantity{Text: took, Where: r.where("Message")}.nanoseconds()
	if err != nil || v == nil {
		e.d.tell(r.line, err)
		return nil
	}
	if len(e.run.ping) < wire.MaxSamples*10 {
		e.run.ping = append(e.run.ping, int64(*v))
	}
	return nil
}

// pingLost is one that was not made. The program says "Timed out" of all, and why in brackets.
func (e *ethrReader) pingLost(r toldRecord, warmup, why string, icmp bool) {
	if warmup != "" {
		return
	}
	e.pingBegan(r, icmp)
	e.run.lost++
	e.run.why = why
	if e.run.failures == nil {
		e.run.failures = map[wire.Failure]int{}
	}
	e.run.failures[failureInWords(why, wire.FailureTimeout)]++
}

func (e *ethrReader) pingBegan(r toldRecord, icmp bool) {
	if e.run.first == nil {
		e.run.first, e.run.icmp = &r, icmp
	}
}

// pings ends a series of connections or echoes. What the program says of them is computed from its own
// lines, which are here; its heading says TCP of echoes too.
func (e *ethrReader) pings(r toldRecord) error {
	run := &e.run
	kind := wire.KindConnect
	if run.icmp || r.Get("Protocol").Text() == "ICMP" {
		kind = wire.KindICMP
	}
	f := e.finding(kind, r)
	began := run.first
	if began == nil {
		began = &r
	}
	if at, q, ok := began.time("Time"); ok {
		f.began(at, q)
		if end, _, ok := r.time("Time"); ok && !end.Before(at) {
			f.Run.End = &end
		}
	}
	c := &f.Run.Counts
	if run.stats != nil {
		e.d.tell(r.line, f.count("sent_count", &c.Sent, &f.Counted.Sent, run.stats.sent), f.count("received_count", &c.Received, &f.Counted.Received, run.stats.received),
			f.count("lost_count", &c.Lost, &f.Counted.Lost, run.stats.lost))
	} else {
		c.Sent, c.Received, c.Lost = len(run.ping)+run.lost, len(run.ping), run.lost
		f.Counted = Counted{Sent: true, Received: true, Lost: true}
	}
	if c.Lost > c.Sent || c.Received > c.Sent-c.Lost {
		e.d.leave(Fault{Line: r.line, Offset: NoOffset, Reason: fmt.Sprintf("of %d sent, %d received and %d lost", c.Sent, c.Received, c.Lost)})
		f.Counted, *c = Counted{}, wire.Counts{Received: c.Received}
	}
	f.Summary.Failures = run.failures
	switch {
	case c.Received == 0:
		f.toldFail(failureInWords(run.why, wire.FailureTimeout), fmt.Sprintf("%d of %d lost: %s", c.Lost, c.Sent, run.why))
	case len(run.ping) == c.Received:
		f.RTT = run.ping
		f.explain("rtt_min_us", Quantity{fmt.Sprintf("%d lines", len(run.ping)), "", began.where("Message")})
	default:
		f.ethrFigures(e.d, r, c.Received)
	}
	run.ping, run.lost, run.why, run.failures, run.first, run.stats = nil, 0, "", nil, nil, nil
	return e.add(f)
}
