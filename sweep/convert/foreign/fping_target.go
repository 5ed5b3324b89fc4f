package foreign

import (
	"errors"
	"fmt"
	"math"
	"time"

	"isochrone/prober/wire"
)

// fpingTarget is the run of one target while it is read.
type fpingTarget struct {
	host   string
	echoes echoes
	again  int // duplicates that fping told of; it leaves them out of all its figures

	first, last         time.Time
	firstText, lastText Quantity

	summed           bool // its summary is there, in either form
	listed           bool // that of -C, which holds every round trip
	xmt, rcv         Quantity
	least, avg, most Quantity
	sent             int // by the list
	timeouts         int

	refusal, unknown, dead string
	alive                  bool
	place                  string // the last one at which it was told of
}

func (t *fpingTarget) stamped(q Quantity, rtt time.Duration) {
	at, ok := fpingTime(q.Text)
	if !ok {
		return
	}
	q.Unit = "time of the reply or timeout"
	if t.first.IsZero() {
		t.first, t.firstText = at.Add(-rtt), q
	}
	if at.After(t.last) {
		t.last, t.lastText = at, q
	}
}

func (t *fpingTarget) reply(seq int64, q, stamp Quantity) error {
	v, err := q.nanoseconds()
	if err != nil {
		return err
	}
	var rtt time.Duration
	if v != nil {
		rtt = time.Duration(*v)
	}
	t.stamped(stamp, rtt)
	t.echoes.mention(seq)
	return t.echoes.add(seq, false, q)
}

// lost takes a timeout. The request left a period before, which is not told.
func (t *fpingTarget) lost(seq int64, stamp Quantity) {
	t.timeouts++
	t.stamped(stamp, 0)
	t.echoes.mention(seq)
}

// sum takes a summary of counts. Of several the last is that of the whole.
func (t *fpingTarget) sum(xmt, rcv, least, avg, most Quantity) {
	t.summed = true
	t.xmt, t.rcv, t.least, t.avg, t.most = xmt, rcv, least, avg, most
}

// list takes the summary of -C: a round trip or a hyphen for each request, in order. What the lines said
// before is in it.
func (t *fpingTarget) list(values []Quantity) error {
	t.summed, t.listed, t.sent = true, true, len(values)
	t.echoes.budget.replies += len(t.echoes.seq)
	t.echoes = echoes{budget: t.echoes.budget}
	var faults []error
	for i, q := range values {
		t.echoes.mention(int64(i))
		if q.Text == "-" || !q.there() {
			continue
		}
		if err := t.echoes.add(int64(i), false, q); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// finding makes the target's finding; nil when nothing is known of it.
func (t *fpingTarget) finding() (*Finding, []*Fault) {
	f := &Finding{Tool: "fping", To: t.host, Run: wire.Run{Kind: wire.KindICMP, Address: hostAddress(t.host)}}
	if !t.first.IsZero() {
		f.began(t.first, t.firstText)
		if t.last.After(t.first) {
			end := t.last
			f.Run.End = &end
			f.explain("end", t.lastText)
		}
	}
	faults := t.fill(f)
	received := f.Run.Counts.Received > 0 || len(f.RTT) > 0
	switch {
	case received:
		return f, faults
	case t.alive:
		return nil, append(faults, t.fault("it is alive, and no round trip is told: fping -e tells it"))
	case t.unknown != "":
		t.fail(f, wire.FailureDNS, t.unknown)
	case t.refusal != "":
		t.fail(f, wire.FailureUnreachable, t.refusal)
	case t.dead != "":
		t.fail(f, wire.FailureTimeout, t.dead)
	case f.Run.Counts.Sent > 0:
		t.fail(f, wire.FailureTimeout, fmt.Sprintf("nothing was received of %d packets", f.Run.Counts.Sent))
	default:
		return nil, append(faults, t.fault("nothing was sent, or nothing is told of it"))
	}
	return f, faults
}

func (t *fpingTarget) fail(f *Finding, failure wire.Failure, detail string) {
	f.Run.Failure, f.Run.Detail = failure, detail
	f.explain("failure", Quantity{Text: detail, Where: t.place})
}

func (t *fpingTarget) fault(format string, args ...any) *Fault {
	return &Fault{Offset: NoOffset, Where: t.place, Reason: fmt.Sprintf("the target %.60q: ", t.host) + fmt.Sprintf(format, args...)}
}

// fill fills in counts and figures: the list's, else the replies' if they are all that the summary
// counts, else the summary's own.
func (t *fpingTarget) fill(f *Finding) (faults []*Fault) {
	lines := t.echoes.counts()
	c := &f.Run.Counts
	switch {
	case t.listed:
		c.Sent = t.sent
	case t.summed:
		if err := errors.Join(f.count("sent_count", &c.Sent, &f.Counted.Sent, t.xmt), f.count("received_count", &c.Received, &f.Counted.Received, t.rcv)); err != nil {
			return append(faults, t.fault("%v", err))
		}
		if c.Received > c.Sent {
			faults = append(faults, t.fault("%d were received of %d sent", c.Received, c.Sent))
		} else {
			c.Lost, f.Counted.Lost = c.Sent-c.Received, true
		}
		if lines.received != c.Received {
			if t.echoes.mentioned {
				faults = append(faults, t.fault("the summary says that %d were received, and %d replies are there: the summary's figures are taken", c.Received, lines.received))
			}
			return append(faults, t.figures(f)...)
		}
	case t.alive: // how many requests that took is not told
		t.echoes.fill(f)
		return faults
	case t.echoes.mentioned:
		// fping writes its summaries to standard error, so that they are often not there. Replies and
		// timeouts tell the same, if they are of all requests.
		if c.Sent = int(t.echoes.highest) + 1; lines.received+t.timeouts < c.Sent {
			faults = append(faults, t.fault("its summary is missing, and so are replies or timeouts: %d of %d are told of", lines.received+t.timeouts, c.Sent))
		}
	default:
		return faults
	}
	if !t.summed || t.listed {
		c.Received, c.Lost = lines.received, max(c.Sent-lines.received, 0)
		f.Counted = Counted{Sent: c.Sent <= math.MaxInt32, Received: true, Lost: c.Sent <= math.MaxInt32}
		f.explain("sent_count", Quantity{Text: fmt.Sprintf("%d requests told of", c.Sent), Where: t.place})
	}
	c.Duplicate, f.Counted.Duplicate = lines.duplicates+t.again, t.again > 0 || lines.duplicates > 0
	c.Reordered, f.Counted.Reordered = lines.reordered, lines.inOrder && !t.listed && lines.received > 0
	t.echoes.fill(f)
	if t.refusal == "" && f.Counted.Lost && c.Lost > 0 && (t.listed || t.timeouts == c.Lost) {
		f.Summary.Failures = map[wire.Failure]int{wire.FailureTimeout: c.Lost}
		f.explain("failed_timeout_count", Quantity{Text: fmt.Sprintf("%d timed out", c.Lost), Where: t.place})
	}
	return faults
}

// figures takes those of the summary.
func (t *fpingTarget) figures(f *Finding) (faults []*Fault) {
	s := &f.Summary
	for _, x := range []struct {
		column string
		at     **float64
		q      Quantity
	}{{"rtt_min_us", &s.Min, t.least}, {"rtt_mean_us", &s.Mean, t.avg}, {"rtt_max_us", &s.Max, t.most}} {
		if v, err := x.q.nanoseconds(); err == nil && v != nil && *v == 0 {
			continue
		}
		if err := f.duration(x.column, x.at, x.q); err != nil {
			faults = append(faults, t.fault("%v", err))
		}
	}
	return faults
}
