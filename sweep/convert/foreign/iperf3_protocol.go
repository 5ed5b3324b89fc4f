package foreign

import (
	"math"
	"strconv"
	"strings"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// datagrams fills in what is known of UDP: the sender's count, and the receiver's of what is missing.
func (r *iperf3Run) datagrams(f *Finding, flows []*iperf3Flow, d *Document) error {
	sent, lost, told := 0.0, 0.0, true
	where := ""
	for _, w := range flows {
		packets, missing, place, ok := w.packets()
		if told = told && ok; !ok {
			continue
		}
		if where != "" {
			where += " + "
		}
		sent, lost, where = sent+packets, lost+missing, where+place
		n := int(min(missing, math.MaxInt32))
		if w.direction == wire.DirectionUp {
			f.Run.Counts.LostForward = &n
		} else {
			f.Run.Counts.LostReverse = &n
		}
	}
	if !told || lost > sent {
		f.Run.Counts.LostForward, f.Run.Counts.LostReverse = nil, nil
		r.leave(d, "end", "the counts of datagrams are missing or do not agree")
		return nil
	}
	whole := func(v float64) Quantity { return Quantity{Text: strconv.FormatFloat(v, 'f', -1, 64)} }
	q := whole(sent)
	q.Where = "packets of " + where
	if err := f.count("sent_count", &f.Run.Counts.Sent, &f.Counted.Sent, q); err != nil {
		return err
	}
	q = whole(lost)
	q.Where = "lost_packets of " + strings.ReplaceAll(where, "sum_sent", "sum_received")
	if err := f.count("lost_count", &f.Run.Counts.Lost, &f.Counted.Lost, q); err != nil {
		return err
	}
	if len(flows) != 1 || flows[0].none { // a row has room for one jitter
		return nil
	}
	return r.receiverOnly(f, flows[0])
}

// packets is how many datagrams were sent in a direction, and how many of them are missing. Where all
// are, the receiver does not know of any, and counts none as lost. Where the receiver's word is not
// there, as in the document of a server that sends, its zero losses are none that were counted; and of
// a sender of which nothing is known iperf3 subtracts those of the ramp from zero, unsigned.
func (w *iperf3Flow) packets() (sent, lost float64, where string, ok bool) {
	if w.byIntervals {
		return w.sum.packets, max(w.sum.lost, 0), "intervals[].sum" + w.suffix, !w.sum.sends
	}
	if !w.none && !w.rate.there() {
		return 0, 0, "", false
	}
	for _, sum := range []struct {
		v    jsontext.Value
		name string
	}{{w.sent, "sum_sent"}, {w.total, "sum"}, {w.received, "sum_received"}} {
		if n, counted := iperf3Number(sum.v.Get("packets")); counted && n > 0 && n < 1<<62 {
			sent, ok, where = n, true, "end."+sum.name+w.suffix
			break
		}
	}
	if w.none {
		return sent, sent, where, ok
	}
	for _, sum := range []jsontext.Value{w.received, w.total} {
		if n, counted := iperf3Number(sum.Get("lost_packets")); counted && n >= 0 {
			return sent, n, where, ok
		}
	}
	return 0, 0, "", false
}

// receiverOnly fills in what only the receiver's side of a run knows.
func (r *iperf3Run) receiverOnly(f *Finding, w *iperf3Flow) error {
	jitter := Quantity{w.sum.jitter, "ms", "intervals[last].sum.jitter_ms"}
	if !w.byIntervals {
		jitter = quantityOf(w.received.Get("jitter_ms"), "ms", "end.sum_received.jitter_ms")
		if !jitter.there() {
			jitter = quantityOf(w.total.Get("jitter_ms"), "ms", "end.sum.jitter_ms")
		}
	}
	if err := f.duration("rtt_jitter_us", &f.Summary.Jitter, jitter); err != nil {
		return err
	}
	if w.sends || w.byIntervals { // the sender's document says 0: it is not told
		return nil
	}
	reordered, known := 0.0, false
	for _, s := range r.streams().Values() {
		if n, ok := iperf3Number(s.Get("udp", "out_of_order")); ok && n >= 0 {
			reordered, known = reordered+n, true
		}
	}
	if !known {
		return nil
	}
	return f.count("reordered_count", &f.Run.Counts.Reordered, &f.Counted.Reordered,
		Quantity{Text: strconv.FormatFloat(reordered, 'f', -1, 64), Where: "end.streams[].udp.out_of_order"})
}

// kernel fills in what the senders' kernels say. Round trips there are smoothed: they are no samples.
func (r *iperf3Run) kernel(f *Finding, flows []*iperf3Flow) error {
	for _, w := range flows {
		q := quantityOf(w.sent.Get("retransmits"), "", "end.sum_sent"+w.suffix+".retransmits")
		if bytes, _ := iperf3Number(w.sent.Get("bytes")); bytes <= 0 { // the other end did not tell
			q = Quantity{}
			if w.sum.retransmits != nil && w.sum.sends {
				q = Quantity{Text: strconv.FormatFloat(*w.sum.retransmits, 'f', -1, 64), Where: "intervals[].sum" + w.suffix + ".retransmits"}
			}
		}
		column, at := "retransmit_up_count", &f.bulk().Throughput.UpRetransmits
		if w.direction == wire.DirectionDown {
			column, at = "retransmit_down_count", &f.bulk().Throughput.DownRetransmits
		}
		if n, err := strconv.ParseFloat(q.Text, 64); q.there() && (err != nil || n < 0) {
			q = Quantity{} // −1: its kernel does not tell
		}
		var n int
		var known bool
		if err := f.count(column, &n, &known, q); err != nil {
			return err
		}
		if known {
			*at = &n
		}
		if w.sends {
			r.tcpInfo(f, *at)
		}
	}
	return nil
}

// tcpInfo fills in the sender's TCP_INFO, where the document is the sender's.
func (r *iperf3Run) tcpInfo(f *Finding, retransmits *int) {
	least, mean, n := 0.0, 0.0, 0.0
	for _, s := range r.streams().Values() {
		s = s.Get("sender")
		low, ok := iperf3Number(s.Get("min_rtt"))
		if !ok || low <= 0 || !s.Get("sender").True() { // 0 for the other end's
			continue
		}
		if least == 0 || low < least {
			least = low
		}
		if m, ok := iperf3Number(s.Get("mean_rtt")); ok && m > 0 {
			mean, n = mean+m, n+1
		}
	}
	smoothed := Quantity{r.rtt.text, "µs", "intervals[last].streams[].rtt"}
	if smoothed.Text == "" && n > 0 {
		smoothed = Quantity{strconv.FormatFloat(mean/n, 'f', -1, 64), "µs", "end.streams[].sender.mean_rtt"}
	}
	low := Quantity{strconv.FormatFloat(least, 'f', -1, 64), "µs", "end.streams[].sender.min_rtt, the smallest that was smoothed"}
	if least == 0 {
		least = r.rtt.least
		low = Quantity{strconv.FormatFloat(least, 'f', -1, 64), "µs", "intervals[].streams[].rtt, the smallest that was smoothed"}
	}
	rtt, err := smoothed.nanoseconds()
	minimum, err2 := low.nanoseconds()
	if err != nil || err2 != nil || rtt == nil || minimum == nil || *minimum <= 0 {
		return
	}
	info := &wire.TCPInfo{RTTUS: int64(*rtt/1000 + 0.5), MinRTTUS: int64(*minimum/1000 + 0.5), Retransmits: Unknown}
	f.explain("tcp_rtt_us", smoothed)
	f.explain("tcp_min_rtt_us", low)
	if v := (Quantity{strconv.FormatFloat(r.rtt.variation, 'f', -1, 64), "µs", "intervals[last].streams[].rttvar"}); r.rtt.variation > 0 {
		if ns, err := v.nanoseconds(); err == nil && ns != nil {
			info.RTTVarUS = int64(*ns/1000 + 0.5)
			f.explain("tcp_rttvar_us", v)
		}
	}
	if retransmits != nil {
		info.Retransmits = int64(*retransmits)
	}
	info.CongestionControl = f.bulk().Throughput.CongestionControl
	f.Run.TCPInfo = info
}
