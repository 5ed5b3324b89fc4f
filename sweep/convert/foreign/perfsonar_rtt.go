package foreign

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/jsontext"
)

// perfsonarTrip is one entry of roundtrips that was answered.
type perfsonarTrip struct {
	sequence, ns float64
	text, where  string
}

// roundTrips reads the result of a test of type rtt. The list of round trips goes before the figures
// that the tool made of it; the ratio called loss is 100.0 where the tool found none, and is read only
// where the counts are missing.
func (r *perfsonarRun) roundTrips() error {
	f := &r.f
	trips, unreachable, err := r.trips()
	if err != nil {
		return err
	}
	if err := r.counts("sent", "received", "lost", "duplicates", "reorders"); err != nil {
		return err
	}
	if !f.Counted.Lost {
		if loss := r.told("ratio", "loss"); loss.there() && loss.Text != "100.0" && loss.Text != "100" {
			if err := f.ratio("loss_ratio", &f.Summary.LossRatio, loss); err != nil {
				return err
			}
		}
	}
	if len(trips) == 0 {
		if err := r.rttFigures(); err != nil {
			return err
		}
		if f.Summary.Min == nil && f.Summary.Mean == nil {
			code, why := wire.FailureTimeout, "no reply"
			if unreachable != "" {
				code, why = wire.FailureUnreachable, unreachable
			}
			r.fail(code, why, r.at+"roundtrips")
		}
		return nil
	}
	r.keep(trips)
	return nil
}

// keep takes over the round trips, in the order in which they were sent.
func (r *perfsonarRun) keep(trips []perfsonarTrip) {
	f := &r.f
	least := slices.MinFunc(trips, func(a, b perfsonarTrip) int { return cmp.Compare(a.ns, b.ns) })
	most := slices.MaxFunc(trips, func(a, b perfsonarTrip) int { return cmp.Compare(a.ns, b.ns) })
	f.explain("rtt_min_us", Quantity{Text: least.text, Unit: "ISO 8601", Where: least.where})
	f.explain("rtt_max_us", Quantity{Text: most.text, Unit: "ISO 8601", Where: most.where})
	if len(trips) <= wire.MaxSamples*10 {
		f.RTT = make([]int64, len(trips))
		for i, t := range trips {
			f.RTT[i] = int64(t.ns)
		}
		return
	}
	counts := map[int64]int{}
	for _, t := range trips {
		counts[int64(t.ns)]++
	}
	f.Bins = summary.DistributionOf(counts)
}

// trips are the answered round trips. Unreachable is what a router answered instead, if one did.
func (r *perfsonarRun) trips() (out []perfsonarTrip, unreachable string, err error) {
	ordered := true
	for i, v := range r.result.Get("roundtrips").Values() {
		if e := v.Get("error").Text(); e != "" {
			if strings.Contains(e, "unreachable") || strings.Contains(e, "prohibited") {
				unreachable = e
			}
			continue
		}
		q := quantityOf(v.Get("rtt"), "", r.place(fmt.Sprintf("roundtrips[%d].rtt", i)))
		ns, err := perfsonarDuration(q)
		if err != nil {
			return nil, "", err
		}
		if ns == nil {
			continue
		}
		seq, err := quantityOf(v.Get("seq"), "", r.place(fmt.Sprintf("roundtrips[%d].seq", i))).count()
		if err != nil {
			return nil, "", err
		}
		t := perfsonarTrip{ns: *ns, text: q.Text, where: q.Where}
		if seq == nil {
			ordered = false
		} else {
			t.sequence = float64(*seq)
		}
		if ip := v.Get("ip").Text(); ip != "" && r.f.Run.Address == "" && r.f.Run.Kind == wire.KindICMP {
			r.f.Run.Address = ip
			r.f.explain("address", Quantity{Text: ip, Where: r.place(fmt.Sprintf("roundtrips[%d].ip", i))})
		}
		out = append(out, t)
	}
	if ordered { // replies stand in the order of their arrival, further ones to a packet among them
		slices.SortStableFunc(out, func(a, b perfsonarTrip) int { return cmp.Compare(a.sequence, b.sequence) })
		out = slices.CompactFunc(out, func(a, b perfsonarTrip) bool { return a.sequence == b.sequence })
	}
	return out, unreachable, nil
}

// rttFigures are the tool's own, where it tells no round trips.
func (r *perfsonarRun) rttFigures() error {
	s := &r.f.Summary
	for _, c := range []struct {
		column, name string
		at           **float64
	}{{"rtt_min_us", "min", &s.Min}, {"rtt_mean_us", "mean", &s.Mean}, {"rtt_max_us", "max", &s.Max}, {"rtt_stddev_us", "stddev", &s.Stddev}} {
		if err := r.duration(c.column, c.at, r.told("", c.name)); err != nil {
			return err
		}
	}
	return nil
}

// duration fills in a figure that is written as an ISO 8601 duration.
func (r *perfsonarRun) duration(column string, at **float64, q Quantity) error {
	ns, err := perfsonarDuration(q)
	if err != nil || ns == nil {
		return err
	}
	*at = ns
	q.Unit = "ISO 8601"
	r.f.explain(column, q)
	return nil
}

// counts reads what was sent and what came of it.
func (r *perfsonarRun) counts(sent, received, lost, duplicate, reordered string) error {
	f := &r.f
	c, k := &f.Run.Counts, &f.Counted
	for _, one := range []struct {
		column, name string
		at           *int
		known        *bool
	}{
		{"sent_count", sent, &c.Sent, &k.Sent}, {"received_count", received, &c.Received, &k.Received}, {"lost_count", lost, &c.Lost, &k.Lost},
		{"duplicate_count", duplicate, &c.Duplicate, &k.Duplicate}, {"reordered_count", reordered, &c.Reordered, &k.Reordered},
	} {
		if err := f.count(one.column, one.at, one.known, r.told("", one.name)); err != nil {
			return err
		}
	}
	if k.Sent && (k.Received && c.Received > c.Sent || k.Lost && c.Lost > c.Sent) {
		return &Fault{Offset: NoOffset, Where: r.place(sent), Reason: fmt.Sprintf("of %d that were sent, %d were received and %d lost", c.Sent, c.Received, c.Lost)}
	}
	if k.Sent && k.Received && !k.Lost {
		c.Lost, k.Lost = c.Sent-c.Received, true
		f.explain("lost_count", Quantity{Text: fmt.Sprintf("%d − %d", c.Sent, c.Received), Where: r.place(sent) + ", " + received})
	}
	return nil
}

// trace reads the result of a test of type trace: one round trip a path, that of the last hop, if it
// is the target.
func (r *perfsonarRun) trace() error {
	f := &r.f
	var trips []perfsonarTrip
	sent := 0
	for i, path := range r.result.Get("paths").Values() {
		var last jsontext.Value
		n := 0
		for j, hop := range path.Values() {
			last, n = hop, j
		}
		if last.Kind() != jsontext.Object {
			continue
		}
		sent++
		if last.Get("error").Text() != "" || !r.arrived(last) {
			continue
		}
		q := quantityOf(last.Get("rtt"), "", r.place(fmt.Sprintf("paths[%d][%d].rtt", i, n)))
		ns, err := perfsonarDuration(q)
		if err != nil {
			return err
		}
		if ns != nil {
			trips = append(trips, perfsonarTrip{ns: *ns, text: q.Text, where: q.Where})
		}
	}
	f.Run.Counts = wire.Counts{Sent: sent, Received: len(trips), Lost: sent - len(trips)}
	f.Counted.Sent, f.Counted.Received, f.Counted.Lost = sent > 0, sent > 0, sent > 0
	if len(trips) == 0 {
		r.fail(wire.FailureTimeout, "no path reached the target", r.at+"paths")
		return nil
	}
	r.keep(trips)
	return nil
}

// arrived says whether a path's last hop is the target. A target that is given by name is believed to
// have been reached by a last hop that answers: a trace goes no further than its target.
func (r *perfsonarRun) arrived(last jsontext.Value) bool {
	ip, err := netip.ParseAddr(last.Get("ip").Text())
	if err != nil {
		return false
	}
	dest, err := netip.ParseAddr(r.spec.Get("dest").Text())
	return err != nil || ip.Unmap() == dest.Unmap()
}
