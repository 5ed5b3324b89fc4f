package foreign

import (
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// finding is what the run came to; nil where the document says nothing of it that can be trusted.
func (r *iperf3Run) finding(d *Document) (*Finding, error) {
	f := &Finding{Tool: "iperf3", Run: wire.Run{Kind: wire.KindThroughput}}
	if version, ok := strings.CutPrefix(r.start.Get("version").Text(), "iperf "); ok {
		f.Tool += " " + cut(version)
	}
	r.between(f)
	r.began(f, d)
	named, fault := iperf3Names(r.extra, r.start.Get("extra_data").Text(), r.end.Get("extra_data").Text())
	if fault != nil {
		r.leave(d, fault.Where, fault.Reason)
	}
	f.Source, f.Target, f.Path, f.Probe = named.source, named.target, named.path, named.probe
	flows := r.flows()
	arrived, none := false, false
	for _, w := range flows {
		arrived, none = arrived || w.bytes > 0 && w.rate.there(), none || w.none
	}
	switch {
	case r.failed != "" && !arrived:
		f.Run.Failure, f.Run.Detail = iperf3Failure(r.failed), r.failed
		return f, nil
	case r.start.Get("test_start").Kind() != jsontext.Object:
		r.leave(d, "start.test_start", "it is missing: which way the payload went is not known")
		return nil, nil
	case !arrived && none:
		f.Run.Failure, f.Run.Detail = wire.FailureTimeout, "nothing of what was sent arrived"
	case !arrived:
		r.leave(d, "end", "the run does not say how much arrived")
		return nil, nil
	case r.failed != "":
		r.leave(d, "error", "it ended early: "+cut(r.failed))
	}
	return f, r.measured(f, flows, d)
}

func (r *iperf3Run) leave(d *Document, where, reason string) {
	d.leave(Fault{Line: r.line, Offset: NoOffset, Where: where, Reason: reason})
}

// between says whose run it is. The host's own name is in every document, a failed one's too; the
// addresses only where a connection stood.
func (r *iperf3Run) between(f *Finding) {
	host := ""
	if words := strings.Fields(r.start.Get("system_info").Text()); len(words) > 2 {
		host = cut(words[1]) // as uname writes it
	}
	connected := r.start.Get("connected").At(0)
	side, variant := "remote", []string{}
	f.From, f.To = host, cut(r.start.Get("connecting_to", "host").Text())
	switch protocol := r.start.Get("test_start", "protocol").Text(); protocol {
	case "UDP", "SCTP":
		variant = append(variant, strings.ToLower(protocol))
	}
	if r.server() {
		side, variant = "local", append(variant, "server")
		f.From, f.To = cut(r.start.Get("accepted_connection", "host").Text()), host
	}
	f.Variant = strings.Join(variant, "-")
	address, port := connected.Get(side+"_host").Text(), connected.Get(side+"_port").Text()
	if f.To == "" && side == "remote" {
		f.To = cut(address)
	}
	if address == "" {
		address, port = r.start.Get("connecting_to", "host").Text(), r.start.Get("connecting_to", "port").Text()
	}
	if net.ParseIP(address) != nil && port != "" {
		f.Run.Address = net.JoinHostPort(address, cut(port))
		f.explain("address", Quantity{Text: f.Run.Address, Where: "start.connected[0]." + side + "_host"})
	}
}

// began sets when the run began, to the millisecond where the version tells it.
func (r *iperf3Run) began(f *Finding, d *Document) {
	stamp := r.start.Get("timestamp")
	for _, unit := range []struct {
		name, unit string
		perSecond  float64
	}{{"timemillisecs", "ms since 1970", 1000}, {"timesecs", "s since 1970", 1}} {
		v := stamp.Get(unit.name)
		n, ok := iperf3Number(v)
		if !ok {
			continue
		}
		where := "start.timestamp." + unit.name
		ms := n * 1000 / unit.perSecond
		if math.Abs(ms) > 1e15 || time.UnixMilli(int64(ms)).Before(epoch) || time.UnixMilli(int64(ms)).After(horizon) {
			r.leave(d, where, "the time "+cut(v.Text())+" lies outside the years 2000 to 9999")
			continue
		}
		f.began(time.UnixMilli(int64(ms)), quantityOf(v, unit.unit, where))
		return
	}
}

// measured fills in the figures.
func (r *iperf3Run) measured(f *Finding, flows []*iperf3Flow, d *Document) error {
	b, test := f.bulk(), r.start.Get("test_start")
	t := &b.Throughput
	moved := 0.0
	for _, w := range flows {
		column, at := "throughput_up_bps", &t.UpBPS
		if w.direction == wire.DirectionDown {
			column, at = "throughput_down_bps", &t.DownBPS
		}
		if err := f.rate(column, at, w.rate); err != nil {
			return err
		}
		if w.note != "" {
			r.leave(d, column, w.note)
		}
		if t.Direction != "" {
			t.Direction = wire.DirectionBoth
		} else {
			t.Direction = w.direction
		}
		moved += w.moved
	}
	if len(flows) == 1 {
		f.explain("direction", Quantity{Text: test.Get("reverse").Text(), Where: "start.test_start.reverse"})
	} else {
		f.explain("direction", Quantity{Text: "sum_received_bidir_reverse", Where: "end"})
	}
	if moved > maxBytes {
		return &Fault{Offset: NoOffset, Where: "end", Reason: "more bytes were moved than can be believed"}
	}
	b.MovedBytes = int64(moved)
	f.explain("moved_bytes", Quantity{strconv.FormatInt(b.MovedBytes, 10), "B", "end.sum_sent.bytes or sum_received.bytes, and the omitted intervals'"})
	if err := f.duration("ramp_us", &t.RampNS, quantityOf(test.Get("omit"), "s", "start.test_start.omit")); err != nil {
		return err
	}
	var known bool
	var streams int
	if err := f.count("stream_count", &streams, &known, quantityOf(test.Get("num_streams"), "", "start.test_start.num_streams")); err != nil {
		return err
	}
	if known {
		t.Streams = &streams
	}
	if r.udp() {
		return r.datagrams(f, flows, d)
	}
	if cc := r.end.Get("sender_tcp_congestion"); cc.Kind() == jsontext.String {
		t.CongestionControl = cut(cc.Text())
		f.explain("congestion_control", quantityOf(cc, "", "end.sender_tcp_congestion"))
	}
	return r.kernel(f, flows)
}
