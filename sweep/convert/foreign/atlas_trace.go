package foreign

import (
	"errors"
	"fmt"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// atlasProtocols are the kinds of what a traceroute sends: its last hop answers a TCP packet as it
// answers a connect.
var atlasProtocols = map[string]wire.Kind{"ICMP": wire.KindICMP, "UDP": wire.KindUDP, "TCP": wire.KindConnect}

// traceroute reads the hop in which the target itself answered. Where it did not, the last hops tell
// why, and are no round trips to it.
func (r *atlasResult) traceroute() error {
	f := &r.f
	kind, ok := atlasProtocols[r.text("proto")]
	if !ok {
		return fmt.Errorf("the protocol %.20q is none of ICMP, UDP and TCP", r.text("proto"))
	}
	f.Run.Kind = kind
	if why := r.text("dnserr"); why != "" {
		r.fail(wire.FailureDNS, why, "dnserr")
		return nil
	}
	if f.Run.Address == "" {
		return errors.New("it does not say what the target is (dst_addr)")
	}
	complaint, at := "", ""
	for i, hop := range r.v.Get("result").Values() {
		where := fmt.Sprintf("result[%d]", i)
		if e := hop.Get("error").Text(); e != "" {
			complaint, at = e, where+".error"
		}
		for j, v := range hop.Get("result").Values() {
			here := fmt.Sprintf("%s.result[%d]", where, j)
			if e := v.Get("error").Text(); e != "" {
				complaint, at = e, here+".error"
			}
			if e := v.Get("err").Text(); atlasUnreachable[e] != "" {
				complaint, at = atlasUnreachable[e], here+".err"
			}
			if atlasAnswers(v, f.Run.Address) {
				return r.reached(hop.Get("result"), where+".result")
			}
		}
	}
	if complaint == "" {
		r.fail(wire.FailureTimeout, "the target did not answer", "result")
		return nil
	}
	r.fail(failureInWords(complaint, wire.FailureLocal), complaint, at)
	return nil
}

// atlasUnreachable is what a router said in place of the target.
var atlasUnreachable = map[string]string{"N": "network unreachable", "H": "host unreachable", "A": "unreachable: administratively prohibited"}

// atlasAnswers says whether an entry is a reply of the target's own. Late ones are to packets of an
// earlier hop.
func atlasAnswers(v jsontext.Value, target string) bool {
	return v.Has("rtt") && v.Get("from").Text() == target && !v.Has("err") && !v.Has("late") && !v.Has("dup")
}

// reached reads the hop of the target: what it answered, and what was not answered at all.
func (r *atlasResult) reached(list jsontext.Value, where string) error {
	lost := 0
	for i, v := range list.Values() {
		if v.Has("x") {
			lost++
		}
		if atlasAnswers(v, r.f.Run.Address) {
			if err := r.roundTrip(v.Get("rtt"), fmt.Sprintf("%s[%d].rtt", where, i)); err != nil {
				return err
			}
		}
	}
	f := &r.f
	q := Quantity{Text: fmt.Sprintf("%d answered, %d not", r.samples.n, lost), Where: r.prefix + where}
	f.Run.Counts.Sent, f.Run.Counts.Received, f.Run.Counts.Lost = r.samples.n+lost, r.samples.n, lost
	f.Counted.Sent, f.Counted.Received, f.Counted.Lost = true, true, true
	for _, column := range []string{"sent_count", "received_count", "lost_count"} {
		f.explain(column, q)
	}
	r.samples.into(f, Quantity{fmt.Sprintf("%d round trips", r.samples.n), "ms", r.prefix + where + "[].rtt"})
	return nil
}
