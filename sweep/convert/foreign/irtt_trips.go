package foreign

import (
	"fmt"
	"slices"
	"strconv"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
	"isochrone/sweep/convert/jsontext"
)

// irttTrips is what the list of round trips says: one entry a packet that was sent, in that order.
type irttTrips struct {
	rtt                 []int64
	lost, up, down      int
	arrivals            []irttArrival
	samples             wire.Samples
	stamped, dwelt      bool // every reply has the server's times of receiving and sending
	negative            jsontext.Value
	negativeAt          string
	sequenced, complete bool
}

// irttArrival is when a reply came, by the client's monotonic clock.
type irttArrival struct {
	sequence int
	at       int64
}

// irttTripsOf reads the list. One that the text cuts off is not whole, and says so.
func irttTripsOf(root jsontext.Value) (*irttTrips, *Fault) {
	list := root.Get("round_trips")
	t := &irttTrips{stamped: true, sequenced: true, complete: list.Kind() == jsontext.Array && !list.Cut()}
	t.dwelt = root.Get("config", "params", "stamp_at").Text() == "both"
	for i, v := range list.Values() {
		if v.Cut() {
			break
		}
		if err := t.take(i, v); err != nil {
			t.complete = false
			return t, jsonFault(err, v, fmt.Sprintf("round_trips[%d]", i))
		}
	}
	return t, nil
}

// take reads one packet. "lost" is a text in format 1, and was a truth value before.
func (t *irttTrips) take(i int, v jsontext.Value) error {
	switch lost := v.Get("lost").Text(); lost {
	case "false":
	case "true", "true_up", "true_down":
		t.lost++
		if lost == "true_up" {
			t.up++
		}
		if lost == "true_down" {
			t.down++
		}
		return nil
	default:
		return fmt.Errorf("lost is %.20q: want false, true, true_up or true_down", lost)
	}
	rtt, err := quantityOf(v.Get("delay", "rtt"), "ns", fmt.Sprintf("round_trips[%d].delay.rtt", i)).nanoseconds()
	if err != nil {
		return err
	}
	if rtt == nil {
		return fmt.Errorf("a reply without delay.rtt")
	}
	t.rtt = append(t.rtt, int64(*rtt))
	for _, name := range []string{"send", "receive"} {
		if d, ok := int64Of(v.Get("delay", name)); ok && d < 0 && t.negativeAt == "" {
			t.negative, t.negativeAt = v.Get("delay", name), fmt.Sprintf("round_trips[%d].delay.%s", i, name)
		}
	}
	t.stamps(i, v.Get("timestamps"), int64(*rtt))
	return nil
}

// maxMonotonicNS bounds a monotonic clock, at 30 years of running: sums of such times fit.
const maxMonotonicNS = 1e18

// stamps keeps the times of a reply, by the two monotonic clocks. Their difference is any.
func (t *irttTrips) stamps(i int, v jsontext.Value, rtt int64) {
	at := func(end, what string) int64 {
		n, ok := int64Of(v.Get(end, what, "monotonic"))
		if !ok || n < 0 || n > maxMonotonicNS {
			return wire.Null
		}
		return n
	}
	sent, back := at("client", "send"), at("client", "receive")
	if back == wire.Null {
		t.sequenced = false
	}
	t.arrivals = append(t.arrivals, irttArrival{i, back})
	there, away := at("server", "receive"), at("server", "send")
	if sent == wire.Null || back == wire.Null || there == wire.Null || away == wire.Null {
		t.stamped = false
		return
	}
	s := &t.samples
	s.SentNS, s.RTTNS = append(s.SentNS, sent), append(s.RTTNS, rtt)
	s.ForwardNS, s.ReverseNS = append(s.ForwardNS, there-sent), append(s.ReverseNS, back-away)
	s.ServerNS = append(s.ServerNS, away-there)
}

// into hands the round trips to a finding, and what the times say.
func (t *irttTrips) into(f *Finding) {
	f.RTT = t.rtt
	f.computed(len(t.rtt), true, Quantity{fmt.Sprintf("%d round trips", len(t.rtt)), "ns", "round_trips[].delay.rtt"})
	c := &f.Run.Counts
	if t.complete && t.lost == c.Lost && t.up+t.down == t.lost && f.Counted.Lost {
		c.LostForward, c.LostReverse = &t.up, &t.down
		f.explain("lost_forward_count", Quantity{Text: fmt.Sprintf("%d × true_up", t.up), Where: "round_trips[].lost"})
		f.explain("lost_reverse_count", Quantity{Text: fmt.Sprintf("%d × true_down", t.down), Where: "round_trips[].lost"})
	}
	if t.sequenced {
		c.Reordered, f.Counted.Reordered = overtaken(t.arrivals), true
		f.explain("reordered_count", Quantity{Text: fmt.Sprintf("%d replies", len(t.arrivals)), Unit: "ns", Where: "round_trips[].timestamps.client.receive.monotonic"})
	}
	if t.negativeAt != "" {
		irttUnsynchronised(f, t.negative, t.negativeAt)
	}
	if t.stamped && t.dwelt {
		t.directions(f)
	}
}

// directions fills in the server's share, and how far the delays of each direction vary: what needs
// no clock that is right.
func (t *irttTrips) directions(f *Finding) {
	s := &t.samples
	begin, ahead := s.SentNS[0], s.ForwardNS[0]
	for i := range s.SentNS {
		s.SentNS[i] -= begin
		s.ForwardNS[i] -= ahead
		s.ReverseNS[i] += ahead
	}
	run := wire.Run{Kind: wire.KindUDP, Samples: *s}
	sum := summary.Of(&run, &wire.Provenance{})
	explain := func(column string, figure *float64, where string) {
		if figure != nil {
			f.explain(column, Quantity{fmt.Sprintf("%d round trips", len(s.SentNS)), "ns", "round_trips[].timestamps" + where})
		}
	}
	noise := &f.Summary.Noise
	noise.ServerP50, noise.ServerP99 = sum.Noise.ServerP50, sum.Noise.ServerP99
	explain("server_p50_us", noise.ServerP50, ".server: send − receive")
	explain("server_p99_us", noise.ServerP99, ".server: send − receive")
	if o := sum.OneWay; o != nil && o.ForwardPDV95 != nil {
		f.Summary.OneWay = &summary.OneWay{ForwardPDV95: o.ForwardPDV95, ForwardPDV99: o.ForwardPDV99, ReversePDV95: o.ReversePDV95, ReversePDV99: o.ReversePDV99}
		explain("forward_pdv95_us", o.ForwardPDV95, ": server.receive − client.send")
		explain("forward_pdv99_us", o.ForwardPDV99, ": server.receive − client.send")
		explain("reverse_pdv95_us", o.ReversePDV95, ": client.receive − server.send")
		explain("reverse_pdv99_us", o.ReversePDV99, ": client.receive − server.send")
	}
}

// irttUnsynchronised notes a one-way delay below zero: the two clocks do not agree.
func irttUnsynchronised(f *Finding, v jsontext.Value, where string) {
	f.Summary.Noise.Degraded = append(f.Summary.Noise.Degraded, summary.ReasonUnsynchronised)
	f.explain("degraded", Quantity{Text: v.Text(), Unit: "ns", Where: where})
}

// overtaken counts the replies that came behind one to a later packet (RFC 4737, section 3).
func overtaken(arrivals []irttArrival) (n int) {
	slices.SortStableFunc(arrivals, func(a, b irttArrival) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return a.sequence - b.sequence
	})
	latest := -1
	for _, a := range arrivals {
		if a.sequence < latest {
			n++
		}
		latest = max(latest, a.sequence)
	}
	return n
}

// int64Of is a JSON number without a fraction, to the last digit.
func int64Of(v jsontext.Value) (int64, bool) {
	if v.Kind() != jsontext.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}
