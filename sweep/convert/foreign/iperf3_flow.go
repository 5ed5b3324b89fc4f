package foreign

import (
	"fmt"
	"strconv"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// iperf3Flow is one direction of a run, with the figure of it that is to be believed.
type iperf3Flow struct {
	direction wire.Direction
	sends     bool // the document's own side sent
	sum       *iperf3Sum
	// Of the end: what the sender and the receiver counted, and the one sum that UDP has in all versions;
	// absent where the text ends inside it.
	sent, received, total jsontext.Value
	suffix                string // of their names

	rate  Quantity // of payload that arrived; not there where that is not known
	bytes float64  // behind the rate
	moved float64  // as the source knows it, the ramp together
	note  string   // why the rate is not the receiver's own
	none  bool     // it is known that nothing arrived
	// byIntervals says that the end does not tell, but the intervals do.
	byIntervals bool
}

// flows are the directions of the run. The intervals and sums without a suffix are those of
// test_start.reverse; with --bidir they are up, and the suffix means down, at either side.
func (r *iperf3Run) flows() []*iperf3Flow {
	test := r.start.Get("test_start")
	up := &iperf3Flow{direction: wire.DirectionUp, sum: &r.sums[0]}
	flows := []*iperf3Flow{up}
	switch {
	case test.Get("bidir").Text() == "1" || r.sums[1].intervals > 0 || r.end.Has("sum_received_bidir_reverse"):
		flows = append(flows, &iperf3Flow{direction: wire.DirectionDown, sum: &r.sums[1], suffix: "_bidir_reverse"})
	case test.Get("reverse").Text() == "1":
		up.direction = wire.DirectionDown
	}
	for _, f := range flows {
		f.sends = (f.direction == wire.DirectionUp) != r.server()
		f.sent, f.received, f.total = r.whole("sum_sent"+f.suffix), r.whole("sum_received"+f.suffix), r.whole("sum"+f.suffix)
		r.decide(f)
	}
	return flows
}

// whole is a member of the end, unless the text ends inside it.
func (r *iperf3Run) whole(name string) jsontext.Value {
	if v := r.end.Get(name); v.Kind() == jsontext.Object && !v.Cut() {
		return v
	}
	return jsontext.Value{}
}

func (r *iperf3Run) udp() bool { return r.start.Get("test_start", "protocol").Text() == "UDP" }

// decide finds the figure of a direction. What one side counted gets to the other at the very end of a
// run: a server's document never has the client's, and one that was interrupted has zero for it.
func (r *iperf3Run) decide(f *iperf3Flow) {
	received, told := iperf3Number(f.received.Get("bytes"))
	sent, _ := iperf3Number(f.sent.Get("bytes"))
	exchanged := r.ends && r.failed == "" && !r.server()
	name := func(sum, figure string) string { return "end." + sum + f.suffix + "." + figure }
	switch {
	case told && received > 0:
		f.bytes = received
		f.rate = iperf3Rate(f.received, name("sum_received", ""))
	case told && (exchanged || !f.sends):
		f.none = true
	case r.udp() && f.received.Kind() == jsontext.Absent && f.total.Kind() == jsontext.Object:
		r.oldUDP(f, name)
	case r.udp() && f.sends:
		// What was sent says nothing of what arrived.
	case f.sends && sent > 0:
		f.bytes = sent
		f.rate = iperf3Rate(f.sent, name("sum_sent", ""))
		f.note = "the receiver's count is not told: the rate is of what was sent"
	case f.sum.bytes > 0 && f.sum.seconds > 0:
		f.bytes, f.byIntervals = f.sum.bytes, true
		f.rate = Quantity{strconv.FormatFloat(f.sum.rate(), 'f', -1, 64), "bit/s", fmt.Sprintf("intervals[].sum%s, bytes over seconds", f.suffix)}
		f.note = fmt.Sprintf("the end is missing: the rate is of %d whole intervals, as the %s counted", f.sum.intervals, map[bool]string{true: "sender", false: "receiver"}[f.sum.sends])
	}
	if f.moved = f.bytes; f.direction == wire.DirectionUp && f.sends {
		if all, _ := iperf3Number(f.total.Get("bytes")); sent > 0 {
			f.moved = sent
		} else if all > 0 { // of UDP, in all versions
			f.moved = all
		}
	}
	f.moved += f.sum.rampBytes
}

// oldUDP takes the figures of versions that told of UDP in one sum: its bytes are those sent, its
// packets the datagrams, all of one size, and the losses the receiver's.
func (r *iperf3Run) oldUDP(f *iperf3Flow, name func(sum, figure string) string) {
	bytes, told := iperf3Number(f.total.Get("bytes"))
	seconds, timed := iperf3Number(f.total.Get("seconds"))
	packets, counted := iperf3Number(f.total.Get("packets"))
	lost, known := iperf3Number(f.total.Get("lost_packets"))
	if !told || !timed || !counted || !known || bytes <= 0 || seconds <= 0 || packets <= 0 || lost < 0 || lost > packets {
		return
	}
	f.bytes = bytes * (packets - lost) / packets
	f.none = lost == packets
	f.rate = Quantity{strconv.FormatFloat(f.bytes*8/seconds, 'f', -1, 64), "bit/s", name("sum", "bytes") + " · (packets − lost_packets) ÷ packets ÷ seconds"}
}

// iperf3Rate is the rate of a sum: the one it tells, or where that is nan, bytes over seconds.
func iperf3Rate(sum jsontext.Value, name string) Quantity {
	if q := quantityOf(sum.Get("bits_per_second"), "bit/s", name+"bits_per_second"); q.there() {
		return q
	}
	bytes, told := iperf3Number(sum.Get("bytes"))
	seconds, timed := iperf3Number(sum.Get("seconds"))
	if !told || !timed || seconds <= 0 {
		return Quantity{}
	}
	return Quantity{strconv.FormatFloat(bytes*8/seconds, 'f', -1, 64), "bit/s", name + "bytes over seconds"}
}

// streams are the end's, unless the text ends among them.
func (r *iperf3Run) streams() jsontext.Value {
	if v := r.end.Get("streams"); !v.Cut() {
		return v
	}
	return jsontext.Value{}
}
