package foreign

import (
	"fmt"
	"strconv"
	"strings"

	"isochrone/prober/wire"
)

// ntttcpEnd is what one document says: one end of a run.
type ntttcpEnd struct {
	root, host, version string
	linux               bool
	line                int

	figures map[string]Quantity // by XML's name, and metric in brackets
	threads int
	// The rates of the quickest thread as numbers, which tell MB of 1000² from MB of 1024².
	kilobytes, megabytes float64

	more []*ntttcpEnd // further samples of the run
}

func newNtttcpEnd(root, host, version string) *ntttcpEnd {
	return &ntttcpEnd{root: root, host: cut(host), version: cut(version), linux: strings.HasSuffix(version, "-linux"), figures: map[string]Quantity{}}
}

// ntttcpTaken are the figures that are looked at. All others are of the machine, or of no use: many are
// hard-coded zeros on Linux, and the latencies of Windows may be of a send call as well as of a round trip.
var ntttcpTaken = map[string]bool{
	"parameters/udp": true, "parameters/warmup_time": true, "total_bytes[MB]": true, "realtime[s]": true,
	"throughput[MB/s]": true, "throughput[mbps]": true, "throughput[Bps]": true, "conns_tested": true, "packets_retransmitted": true,
	"tcp_average_rtt": true,
}

// take notes a figure, the first of its name.
func (e *ntttcpEnd) take(path, metric, text string) {
	switch path {
	case "thread":
		e.threads++
		return
	case "thread/throughput":
		v, err := strconv.ParseFloat(strings.TrimSuffix(text, " bps"), 64) // a thread's MB/s in JSON has a unit that it is not
		if err == nil && metric == "KB/s" && v > e.kilobytes {
			e.kilobytes, e.megabytes = v, 0
		} else if err == nil && metric == "MB/s" && e.megabytes == 0 {
			e.megabytes = v
		}
		return
	case "tcp_average_rtt":
		text, metric = strings.TrimSuffix(text, " us"), ""
	}
	name := path
	if metric != "" {
		name += "[" + metric + "]"
	}
	if _, twice := e.figures[name]; ntttcpTaken[name] && !twice {
		e.figures[name] = Quantity{Text: cut(text), Where: e.root + "/" + name}
	}
}

// get is a figure in a unit.
func (e *ntttcpEnd) get(name, unit string) Quantity {
	q := e.figures[name]
	if q.Unit = unit; !q.there() {
		return Quantity{}
	}
	return q
}

// mega is what M means in the document's MB and, before Linux versions told bytes too, in its mbps:
// 1024² on Windows and on Linux once, 1000² on Linux now. Empty where it cannot be told.
func (e *ntttcpEnd) mega() string {
	switch {
	case !e.linux:
		return "Mi"
	case e.figures["throughput[Bps]"].there():
		return "M"
	case e.megabytes <= 0:
		return ""
	}
	if ratio := e.kilobytes / e.megabytes; ratio > 1012 && ratio < 1036 {
		return "Mi"
	} else if ratio > 990 && ratio < 1010 {
		return "M"
	}
	return ""
}

// rate is the payload's, by the most exact figure of which the unit is known.
func (e *ntttcpEnd) rate() Quantity {
	if q := e.get("throughput[Bps]", "B/s"); q.there() {
		return q
	}
	if !e.linux {
		return e.get("throughput[mbps]", "Mbit/s")
	}
	if mega := e.mega(); mega != "" {
		return e.get("throughput[mbps]", mega+"bit/s")
	}
	return Quantity{}
}

// samplesRate is the rate over all samples of the run, by the time that each took.
func (e *ntttcpEnd) samplesRate() (Quantity, error) {
	if len(e.more) == 0 {
		return e.rate(), nil
	}
	bits, seconds := 0.0, 0.0
	for _, s := range append([]*ntttcpEnd{e}, e.more...) {
		bps, err := s.rate().bitsPerSecond()
		if err != nil {
			return Quantity{}, err
		}
		ns, err := s.get("realtime[s]", "s").nanoseconds()
		if err != nil {
			return Quantity{}, err
		}
		if bps != nil && ns != nil {
			bits, seconds = bits+*bps**ns/1e9, seconds+*ns/1e9
		}
	}
	if seconds <= 0 {
		return Quantity{}, nil
	}
	return Quantity{strconv.FormatFloat(bits/seconds, 'f', 3, 64), "bit/s",
		fmt.Sprintf("samples/%s/throughput of %d samples, by their realtime", e.root, len(e.more)+1)}, nil
}

// finding is what the end came to; nil where it does not say.
func (e *ntttcpEnd) finding(d *Document) (*Finding, error) {
	if e == nil {
		d.leave(Fault{Offset: NoOffset, Where: "samples", Reason: "they are empty"})
		return nil, nil
	}
	f := &Finding{Tool: strings.TrimSpace("ntttcp " + e.version), From: e.host, Variant: "sender", Run: wire.Run{Kind: wire.KindThroughput}}
	sends, udp := e.root == "ntttcps", strings.EqualFold(e.figures["parameters/udp"].Text, "true")
	if !sends {
		f.From, f.To, f.Variant = "", e.host, "receiver"
	}
	if udp {
		f.Variant = "udp-" + f.Variant
	}
	rate, err := e.samplesRate()
	if err != nil {
		return nil, err
	}
	bps, err := rate.bitsPerSecond()
	if err != nil {
		return nil, err
	}
	if bps == nil {
		reason := "its throughput is missing"
		if e.figures["throughput[mbps]"].there() {
			reason = "whether its mbps are of 1000² or 1024² bits is not told: run it with -V"
		}
		d.leave(Fault{Line: e.line, Offset: NoOffset, Where: e.root + "/throughput", Reason: reason})
		return nil, nil
	}
	if *bps == 0 { // both write a document of zeros when nothing was connected
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "nothing was "+map[bool]string{true: "sent", false: "received"}[sends]+"; ntttcp does not say why"
		return f, nil
	}
	t := &f.bulk().Throughput
	t.Direction = wire.DirectionUp
	f.explain("direction", Quantity{Text: e.root, Where: "root"})
	if !udp || !sends { // what is sent over UDP says nothing of what arrives
		if err := f.rate("throughput_up_bps", &t.UpBPS, rate); err != nil {
			return nil, err
		}
	}
	return f, e.others(f, sends, udp)
}

// others fills in what is known beside the rate.
func (e *ntttcpEnd) others(f *Finding, sends, udp bool) error {
	t := &f.bulk().Throughput
	all := append([]*ntttcpEnd{e}, e.more...)
	moved, retransmitted, original := 0.0, 0.0, Quantity{}
	for _, s := range all {
		q := s.get("total_bytes[MB]", s.mega()+"B")
		if s.mega() == "" {
			q = Quantity{}
		}
		n, err := q.bytes()
		if err != nil {
			return err
		}
		if n != nil {
			moved, original = moved+*n, q
		}
		again, err := s.get("packets_retransmitted", "").count()
		if err != nil {
			return err
		}
		if again != nil {
			retransmitted += float64(*again)
		}
	}
	f.bulk().MovedBytes = int64(min(moved, maxBytes))
	if len(all) > 1 {
		original.Text, original.Unit = strconv.FormatFloat(moved, 'f', 0, 64), "B"
	}
	if moved > 0 {
		f.explain("moved_bytes", original)
	}
	unit := "ms"
	if e.linux {
		unit = "s"
	}
	if err := f.duration("ramp_us", &t.RampNS, e.get("parameters/warmup_time", unit)); err != nil {
		return err
	}
	streams := e.get("conns_tested", "")
	if !e.linux && e.threads > 0 { // one connection each
		streams = Quantity{Text: strconv.Itoa(e.threads), Where: e.root + "/thread"}
	}
	n, err := streams.count()
	if err != nil {
		return err
	}
	if n != nil && *n > 0 {
		t.Streams = n
		f.explain("stream_count", streams)
	}
	if !sends || udp {
		return nil
	}
	if e.figures["packets_retransmitted"].there() {
		var again int
		var known bool
		q := Quantity{Text: strconv.FormatFloat(retransmitted, 'f', 0, 64), Where: e.root + "/packets_retransmitted, of the whole machine"}
		if err := f.count("retransmit_up_count", &again, &known, q); err != nil {
			return err
		}
		t.UpRetransmits = &again
	}
	return e.rtt(f)
}

// rtt fills in the mean of the kernel's smoothed round trips. It is 2³² − 1 where no connection told any.
func (e *ntttcpEnd) rtt(f *Finding) error {
	q := e.get("tcp_average_rtt", "us")
	ns, err := q.nanoseconds()
	if err != nil || ns == nil || *ns == 0 || *ns >= (1<<32-1)*1000 {
		return err
	}
	f.Run.TCPInfo = &wire.TCPInfo{RTTUS: int64(*ns/1000 + 0.5), Retransmits: Unknown}
	f.explain("tcp_rtt_us", q)
	return nil
}
