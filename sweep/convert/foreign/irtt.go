package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// irtt sends UDP packets at an even pace. Its times are nanoseconds; the server's own time is taken
// out of its round trips where the server tells it. Absolute one-way delays are never taken over:
// the file does not say how far the two clocks are apart.
//
// Source: heistp/irtt, result.go and recorder.go.
var irtt = &Format{Name: "irtt", Title: "irtt client -o",
	recognise: func(h *Head) bool {
		o := h.json
		return o.Get("version", "irtt").Kind() == jsontext.String && o.Get("config").Has("remote_address", "params") && o.Has("system_info")
	},
	read: readIRTT,
}

func readIRTT(in io.Reader, d *Document) error {
	text, err := readText(in)
	if err != nil {
		return err
	}
	t, cut := jsontext.Parse(text, jsontext.Options{})
	root, stats := t.Root(), t.Root().Get("stats")
	if cut != nil {
		d.leave(Fault{Line: cut.Line, Offset: cut.Offset, Reason: cut.Text})
	}
	if stats.Kind() != jsontext.Object || stats.Cut() {
		d.leave(Fault{Line: max(root.Line(), 1), Offset: root.Offset(), Where: "stats", Reason: "its statistics are not there, or not whole"})
		return nil
	}
	f := Finding{Tool: "irtt"}
	if v := root.Get("version", "irtt").Text(); v != "" {
		f.Tool += " " + cut40(v)
	}
	f.Run.Kind = wire.KindUDP
	irttEnds(&f, root)
	if err := irttTimes(&f, stats); err != nil {
		return err
	}
	if err := irttCounts(&f, stats); err != nil {
		return err
	}
	trips, left := irttTripsOf(root)
	if left != nil {
		d.leave(*left)
	}
	switch {
	case f.Run.Counts.Received == 0:
		irttFailure(&f, root)
	case len(trips.rtt) == f.Run.Counts.Received:
		trips.into(&f)
	default:
		if len(trips.rtt) > 0 {
			d.leave(Fault{Line: 1, Offset: NoOffset, Where: "round_trips", Reason: fmt.Sprintf("%d of %d replies are there: the statistics are taken", len(trips.rtt), f.Run.Counts.Received)})
		}
		if err := irttPrinted(&f, stats); err != nil {
			return err
		}
	}
	return d.add(f)
}

// cut40 shortens a name that a document gives.
func cut40(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40])
	}
	return s
}

// irttEnds fills in the two ends: the names by which they were called, where it tells them.
func irttEnds(f *Finding, root jsontext.Value) {
	config := root.Get("config")
	host := func(v jsontext.Value) string {
		h, _, err := net.SplitHostPort(v.Text())
		if err != nil {
			return v.Text()
		}
		return h
	}
	f.Run.Address = config.Get("remote_address").Text()
	if f.To = host(config.Get("supplied", "remote_address")); f.To == "" {
		f.To = host(config.Get("remote_address"))
	}
	if f.From = root.Get("system_info", "hostname").Text(); f.From == "" {
		f.From = host(config.Get("local_address"))
	}
}

func irttTimes(f *Finding, stats jsontext.Value) error {
	v := stats.Get("start_time")
	if v.Text() == "" {
		return nil
	}
	start, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil || start.Before(epoch) {
		return jsonFault(fmt.Errorf("%.60q is no time", v.Text()), v, "stats.start_time")
	}
	f.began(start, Quantity{Text: v.Text(), Where: "stats.start_time"})
	duration := quantityOf(stats.Get("duration"), "ns", "stats.duration")
	ns, err := duration.nanoseconds()
	if err != nil || ns == nil {
		return err
	}
	end := f.Run.Start.Add(time.Duration(*ns))
	f.Run.End = &end
	f.explain("end", duration)
	return nil
}

// irttCounts fills in the counts. packets_received counts duplicates too, and so does each of the
// loss percentages by direction; the number of round trips does not. late_packets are those behind
// the packet that came last before them, and not late in time.
func irttCounts(f *Finding, stats jsontext.Value) error {
	c, known := &f.Run.Counts, &f.Counted
	if err := f.count("sent_count", &c.Sent, &known.Sent, quantityOf(stats.Get("packets_sent"), "", "stats.packets_sent")); err != nil {
		return err
	}
	received := quantityOf(stats.Get("rtt", "n"), "", "stats.rtt.n")
	if err := f.count("received_count", &c.Received, &known.Received, received); err != nil {
		return err
	}
	if !known.Received {
		return &Fault{Offset: NoOffset, Where: "stats.rtt.n", Reason: "the number of round trips is not there"}
	}
	if known.Sent {
		if c.Received > c.Sent {
			return received.fault("%d replies to %d packets", c.Received, c.Sent)
		}
		c.Lost, known.Lost = c.Sent-c.Received, true
		f.explain("lost_count", Quantity{Text: fmt.Sprintf("%d − %d", c.Sent, c.Received), Where: "stats.packets_sent − stats.rtt.n"})
	}
	return f.count("duplicate_count", &c.Duplicate, &known.Duplicate, quantityOf(stats.Get("duplicates"), "", "stats.duplicates"))
}

// irttFailure says why there is no round trip.
func irttFailure(f *Finding, root jsontext.Value) {
	for _, name := range []string{"send_err", "receive_err"} {
		v := root.Get(name)
		if v.Kind() == jsontext.Absent || v.Kind() == jsontext.Null {
			continue
		}
		var raw bytes.Buffer
		if json.Compact(&raw, v.Raw()) != nil {
			continue
		}
		f.Run.Detail = name + " " + cut(raw.String())
		f.Run.Failure = failureInWords(raw.String(), wire.FailureLocal)
		f.explain("failure", Quantity{Text: raw.String(), Where: name})
		return
	}
	if f.Counted.Sent && f.Run.Counts.Sent == 0 {
		f.Run.Failure, f.Run.Detail = wire.FailureLocal, "irtt sent no packet"
		f.explain("failure", Quantity{Text: "0", Where: "stats.packets_sent"})
		return
	}
	f.Run.Failure, f.Run.Detail = wire.FailureTimeout, fmt.Sprintf("no reply to any of %d packets", f.Run.Counts.Sent)
	f.explain("failure", Quantity{Text: "0", Where: "stats.rtt.n"})
}

// irttPrinted fills in the statistics, where the round trips are not there.
func irttPrinted(f *Finding, stats jsontext.Value) error {
	s, n := &f.Summary, f.Run.Counts.Received
	for _, c := range []struct {
		column, name string
		to           **float64
		least        int
	}{{"rtt_min_us", "min", &s.Min, 1}, {"rtt_mean_us", "mean", &s.Mean, 1}, {"rtt_max_us", "max", &s.Max, 1},
		{"rtt_stddev_us", "stddev", &s.Stddev, 2}, {"rtt_p50_us", "median", &s.P50.Value, 20}} {
		if n < c.least {
			continue
		}
		if err := f.duration(c.column, c.to, quantityOf(stats.Get("rtt", c.name), "ns", "stats.rtt."+c.name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"send_delay", "receive_delay"} {
		if least, ok := int64Of(stats.Get(name, "min")); ok && least < 0 {
			irttUnsynchronised(f, stats.Get(name, "min"), "stats."+name+".min")
			break
		}
	}
	return nil
}
