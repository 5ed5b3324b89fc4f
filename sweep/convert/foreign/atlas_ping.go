package foreign

import (
	"fmt"
	"math"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// ping reads a ping: its round trips where they are told one by one, else the smallest, the mean and
// the largest.
func (r *atlasResult) ping() error {
	f := &r.f
	f.Run.Kind = wire.KindICMP
	if why := r.text("dnserr"); why != "" {
		r.fail(wire.FailureDNS, why, "dnserr")
		return nil
	}
	c, known := &f.Run.Counts, &f.Counted
	for _, count := range []struct {
		column, name string
		to           *int
		known        *bool
	}{{"sent_count", "sent", &c.Sent, &known.Sent}, {"received_count", "rcvd", &c.Received, &known.Received}, {"duplicate_count", "dup", &c.Duplicate, &known.Duplicate}} {
		if err := f.count(count.column, count.to, count.known, r.quantity(count.name, "")); err != nil {
			return err
		}
	}
	if !known.Received {
		return fmt.Errorf("it does not say how many replies came (rcvd)")
	}
	if known.Sent {
		if c.Received > c.Sent {
			return fmt.Errorf("%d replies to %d packets", c.Received, c.Sent)
		}
		c.Lost, known.Lost = c.Sent-c.Received, true
		f.explain("lost_count", Quantity{Text: fmt.Sprintf("%d − %d", c.Sent, c.Received), Where: r.prefix + "sent − rcvd"})
	}
	complaint, at, err := r.replies(r.v.Get("result"), "result")
	if err != nil {
		return err
	}
	switch {
	case c.Received == 0 && r.samples.n == 0:
		if complaint != "" {
			r.fail(failureInWords(complaint, wire.FailureLocal), complaint, at)
		} else {
			r.fail(wire.FailureTimeout, "no reply", "rcvd")
		}
		return nil
	case r.v.Get("result").Kind() != jsontext.Array: // firmware 1
		return r.printed()
	case r.samples.n != c.Received:
		return fmt.Errorf("rcvd is %d, and its list has %d round trips", c.Received, r.samples.n)
	}
	r.samples.into(f, Quantity{fmt.Sprintf("%d round trips", r.samples.n), "ms", r.prefix + "result[].rtt"})
	return nil
}

// replies gathers the round trips of a list, and what the probe's system said where it said something.
// A reply that came again stands there too, marked.
func (r *atlasResult) replies(list jsontext.Value, where string) (complaint, at string, err error) {
	for i, v := range list.Values() {
		here := fmt.Sprintf("%s[%d]", where, i)
		if e := v.Get("error").Text(); e != "" && complaint == "" {
			complaint, at = e, here+".error"
		}
		if v.Has("dup") || !v.Has("rtt") {
			continue
		}
		if err := r.roundTrip(v.Get("rtt"), here+".rtt"); err != nil {
			return "", "", err
		}
	}
	return complaint, at, nil
}

// roundTrip takes one, in ms.
func (r *atlasResult) roundTrip(v jsontext.Value, where string) error {
	q := quantityOf(v, "ms", r.prefix+where)
	ns, err := q.nanoseconds()
	if err != nil {
		return err
	}
	if ns == nil || *ns <= 0 {
		return q.fault("%.20q is no round trip", v.Text())
	}
	if err := r.samples.add(int64(math.Round(*ns))); err != nil {
		return q.fault("%v", err)
	}
	return nil
}

func (r *atlasResult) printed() error {
	s := &r.f.Summary
	for _, c := range []struct {
		column, name string
		to           **float64
	}{{"rtt_min_us", "min", &s.Min}, {"rtt_mean_us", "avg", &s.Mean}, {"rtt_max_us", "max", &s.Max}} {
		if err := r.f.duration(c.column, c.to, r.quantity(c.name, "ms")); err != nil {
			return err
		}
	}
	return nil
}
