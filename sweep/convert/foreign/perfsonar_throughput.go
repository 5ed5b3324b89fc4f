package foreign

import (
	"fmt"
	"math"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// throughput reads the result of a test of type throughput. The row's rate is what was received.
// throughput-bits is what the sender sent; of TCP, which loses nothing, it stands in where an old
// pScheduler tells no more.
func (r *perfsonarRun) throughput() error {
	f := &r.f
	whole := func(unit, name string) Quantity { return r.told(unit, "summary", "summary", name) }
	udp := r.spec.Get("udp").True()
	rate := whole("bit/s", "receiver-throughput-bits")
	if !rate.there() && !udp && !whole("", "lost").there() {
		rate = whole("bit/s", "throughput-bits")
	}
	b := f.bulk()
	t := &b.Throughput
	column, at, again, retransmits := "throughput_up_bps", &t.UpBPS, "retransmit_up_count", &t.UpRetransmits
	t.Direction = wire.DirectionUp
	if r.spec.Get("reverse").True() { // the source asks the target to send
		column, at, again, retransmits = "throughput_down_bps", &t.DownBPS, "retransmit_down_count", &t.DownRetransmits
		t.Direction = wire.DirectionDown
	}
	if err := f.rate(column, at, rate); err != nil {
		return err
	}
	if err := r.datagrams(whole); err != nil {
		return err
	}
	if *at == nil && !f.Counted.Sent {
		f.Summary.Bulk = nil
		r.fail(wire.FailureProtocol, "the result has no summary", r.at+"summary")
		return nil
	}
	f.explain("direction", Quantity{Text: fmt.Sprint(r.spec.Get("reverse").True()), Where: r.prefix + "test.spec.reverse"})
	n, known := 0, false
	if err := f.count(again, &n, &known, whole("", "retransmits")); err != nil {
		return err
	}
	if known {
		*retransmits = &n
	}
	if streams := r.result.Get("summary", "streams").Len(); streams > 0 {
		t.Streams = &streams
		f.explain("stream_count", Quantity{Text: fmt.Sprint(streams), Where: r.place("summary.streams")})
	}
	if err := r.duration("ramp_us", &t.RampNS, quantityOf(r.spec.Get("omit"), "", r.prefix+"test.spec.omit")); err != nil {
		return err
	}
	if err := r.moved(whole); err != nil {
		return err
	}
	return r.kernelRTT()
}

// datagrams reads the packets of a UDP test.
func (r *perfsonarRun) datagrams(whole func(unit, name string) Quantity) error {
	f := &r.f
	c, k := &f.Run.Counts, &f.Counted
	if err := f.count("sent_count", &c.Sent, &k.Sent, whole("", "sent")); err != nil {
		return err
	}
	if err := f.count("lost_count", &c.Lost, &k.Lost, whole("", "lost")); err != nil {
		return err
	}
	if k.Sent && k.Lost {
		if c.Lost > c.Sent {
			return &Fault{Offset: NoOffset, Where: r.place("summary.summary.lost"), Reason: fmt.Sprintf("%d of %d packets were lost", c.Lost, c.Sent)}
		}
		c.Received, k.Received = c.Sent-c.Lost, true
		f.explain("received_count", Quantity{Text: fmt.Sprintf("%d − %d", c.Sent, c.Lost), Where: r.place("summary.summary.sent, lost")})
	}
	return nil
}

// moved reads throughput-bytes, which the schema calls a rate and iperf3's reader fills with the bytes
// of the whole test: it is believed where rate and time say the same.
func (r *perfsonarRun) moved(whole func(unit, name string) Quantity) error {
	told := whole("bytes", "throughput-bytes")
	bytes, err := told.bytes()
	if err != nil {
		return err
	}
	bits, err := whole("bit/s", "throughput-bits").bitsPerSecond()
	if err != nil {
		return err
	}
	from, err := whole("s", "start").nanoseconds()
	if err != nil {
		return err
	}
	to, err := whole("s", "end").nanoseconds()
	if err != nil || bytes == nil || bits == nil || from == nil || to == nil {
		return err
	}
	if seconds := (*to - *from) / 1e9; seconds > 1.5 && math.Abs(*bits*seconds/8-*bytes) <= 0.01**bytes {
		r.f.bulk().MovedBytes = int64(*bytes)
		r.f.explain("moved_bytes", told)
	}
	return nil
}

// kernelRTT reads the smoothed round trip of the last interval. The unit is known of iperf3 only, and
// of several streams none stands for all.
func (r *perfsonarRun) kernelRTT() error {
	var last jsontext.Value
	n := 0
	for i, v := range r.result.Get("intervals").Values() {
		if streams := v.Get("streams"); streams.Len() == 1 && !v.Get("summary", "omitted").True() {
			last, n = streams.At(0), i
		}
	}
	if r.tool != "iperf3" || last.Kind() != jsontext.Object || r.result.Get("summary", "streams").Len() != 1 {
		return nil
	}
	q := quantityOf(last.Get("rtt"), "µs", r.place(fmt.Sprintf("intervals[%d].streams[0].rtt", n)))
	ns, err := q.nanoseconds()
	if err != nil || ns == nil || *ns < 1000 {
		return err
	}
	r.f.Run.TCPInfo = &wire.TCPInfo{RTTUS: int64(math.Round(*ns / 1e3)), Retransmits: Unknown}
	r.f.explain("tcp_rtt_us", q)
	return nil
}
