package report

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Text is the document as a table for people. Times are in ms; "-" is a value that is absent.
func (d Document) Text() []byte {
	var w bytes.Buffer
	title(&w, d)
	counts(&w, d)
	if d.Counts.Received > 0 {
		roundTrips(&w, d)
		oneWay(&w, d.OneWay, d.Counts.Received)
		phases(&w, d.HTTP, d.Counts.Received)
		bars(&w, d.Histogram)
	}
	kernel(&w, d.TCPInfo)
	if d.Counts.Sent > 0 {
		noise(&w, d)
	}
	verdict(&w, d)
	return w.Bytes()
}

func title(w *bytes.Buffer, d Document) {
	fmt.Fprintf(w, "--- %s of %s", d.Kind, Visible(d.Target))
	if d.Address != "" && d.Address != d.Target {
		fmt.Fprintf(w, " (%s)", Visible(d.Address))
	}
	w.WriteString(" ---\n")
	if d.Interrupted && d.Detail == "" {
		w.WriteString("stopped before all samples were sent\n")
	}
}

func counts(w *bytes.Buffer, d Document) {
	c := d.Counts
	fmt.Fprintf(w, "sent %d, received %d, lost %d (late %d), duplicate %d, reordered %d",
		c.Sent, c.Received, c.Lost, c.Late, c.Duplicate, c.Reordered)
	if c.Warmup > 0 {
		fmt.Fprintf(w, "; %d more first, to warm up", c.Warmup)
	}
	w.WriteByte('\n')
	if d.Loss.Ratio != nil {
		fmt.Fprintf(w, "loss %s, 95 %% interval %s to %s\n", percent(d.Loss.Ratio), percent(d.Loss.LowRatio), percent(d.Loss.HighRatio))
	}
	for _, direction := range []struct {
		name                       string
		lost, duplicate, reordered *int
	}{{"there", c.LostForward, c.DuplicateForward, c.ReorderedForward}, {"back", c.LostReverse, c.DuplicateReverse, c.ReorderedReverse}} {
		if direction.lost != nil || direction.duplicate != nil || direction.reordered != nil {
			fmt.Fprintf(w, "on the way %-5s lost %s, duplicate %s, reordered %s\n", direction.name,
				number(direction.lost), number(direction.duplicate), number(direction.reordered))
		}
	}
	if len(d.Failures) > 0 {
		parts := make([]string, len(d.Failures))
		for i, f := range d.Failures {
			parts[i] = fmt.Sprintf("%d %s", f.Count, FailureText(f.Code))
		}
		fmt.Fprintf(w, "failures: %s\n", strings.Join(parts, ", "))
	}
	if d.Detail != "" {
		fmt.Fprintf(w, "%s\n", Visible(d.Detail))
	}
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// table is an aligned table whose lines do not end in a blank.
type table struct {
	text bytes.Buffer
	tabs *tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 1, 3, ' ', 0)
	return t
}

// row takes a label, a number that lines up on its right, and what is said of it.
func (t *table) row(label, value, note string) {
	fmt.Fprintf(t.tabs, "%s\t%11s\t%s\n", label, value, note)
}

func (t *table) render(w *bytes.Buffer) {
	_ = t.tabs.Flush() // writes to memory
	for line := range strings.Lines(t.text.String()) {
		w.WriteString(strings.TrimRight(line, " \n"))
		w.WriteByte('\n')
	}
}

func roundTrips(w *bytes.Buffer, d Document) {
	t := newTable()
	w.WriteByte('\n')
	t.row("round trip", "ms", "95 % interval")
	t.row("min", ms(d.RTT.MinUS), "")
	t.row("mean", ms(d.RTT.MeanUS), "")
	for _, p := range d.RTT.Percentiles {
		switch {
		case p.ValueUS != nil:
			t.row(p.Name, ms(p.ValueUS), interval(p))
		case p.Name != "p99.9": // nobody at a terminal expects it
			t.row(p.Name, "few", fmt.Sprintf("needs %d received samples", p.NeedsCount))
		}
	}
	t.row("max", ms(d.RTT.MaxUS), "")
	t.row("jitter", ms(d.RTT.JitterUS), "RFC 3550, smoothed")
	if d.RTT.PDVUS != nil {
		t.row("variation", ms(d.RTT.PDVUS), "p95 - p50 (RFC 5481)")
	} else {
		t.row("variation", "few", "p95 - p50 (RFC 5481)")
	}
	t.render(w)
}

// interval is the interval of a percentile; one side is open where no sample can be the bound.
func interval(p Percentile) string {
	switch {
	case p.LowUS != nil && p.HighUS != nil:
		return ms(p.LowUS) + " to " + ms(p.HighUS)
	case p.LowUS != nil:
		return "from " + ms(p.LowUS)
	case p.HighUS != nil:
		return "up to " + ms(p.HighUS)
	}
	return ""
}

// oneWay says what is known of the directions: absolute delays only with their bound.
func oneWay(w *bytes.Buffer, o *OneWay, received int) {
	if o == nil {
		return
	}
	w.WriteByte('\n')
	t := newTable()
	row := func(label string, needs int, there, back *Microseconds, note string) {
		t.row(label, msOf(there, received, needs), fmt.Sprintf("%11s   %s", msOf(back, received, needs), note))
	}
	t.row("one way, ms", "there", fmt.Sprintf("%11s", "back"))
	if o.BoundUS != nil {
		basis := "as the smallest delays both ways add up to the round trip"
		if o.Method == summary.OneWayClocks {
			basis = "as both clocks say of themselves"
		}
		row("min", 1, o.ForwardMinUS, o.ReverseMinUS, "at most "+ms(o.BoundUS)+" off, "+basis)
		row("p50", 20, o.ForwardP50US, o.ReverseP50US, "")
	}
	over := ""
	if o.BoundUS == nil {
		over = "only the variation is known"
	}
	row("p95 - min", 200, o.ForwardPDV95US, o.ReversePDV95US, over)
	row("p99 - min", 1000, o.ForwardPDV99US, o.ReversePDV99US, "")
	t.render(w)
	if o.ClockOffsetUS != nil {
		clock(w, *o.ClockOffsetUS, o.ClockSkewPPM)
	}
}

func clock(w *bytes.Buffer, offset Microseconds, skew *float64) {
	side, size := "ahead of", offset
	if offset < 0 {
		side, size = "behind", -offset
	}
	fmt.Fprintf(w, "the target's clock is %s ms %s this one", ms(&size), side)
	if skew != nil {
		fmt.Fprintf(w, ", and drifts by %.1f ppm", *skew)
	}
	w.WriteByte('\n')
}

func phases(w *bytes.Buffer, h *HTTP, received int) {
	if h == nil {
		return
	}
	w.WriteByte('\n')
	t := newTable()
	t.row("phase", "p50 ms", "")
	for _, p := range []struct {
		name  string
		value *Microseconds
		note  string
	}{
		{"name", h.DNSP50US, ""}, {"connect", h.ConnectP50US, ""}, {"TLS", h.TLSP50US, ""},
		{"first byte", h.FirstByteP50US, "from the request's last byte"},
		{"network", h.NetworkP50US, "whole less the server's own time (Server-Timing)"},
	} {
		t.row(p.name, msOf(p.value, received, 20), p.note)
	}
	t.render(w)
}

func kernel(w *bytes.Buffer, i *wire.TCPInfo) {
	if i == nil {
		return
	}
	fmt.Fprintf(w, "\nkernel (TCP_INFO): rtt %.3f ms, min %.3f ms, variation %.3f ms, %d retransmitted, mss %d bytes, window %d segments",
		float64(i.RTTUS)/1000, float64(i.MinRTTUS)/1000, float64(i.RTTVarUS)/1000, i.Retransmits, i.MSSBytes, i.CongestionWindow)
	if i.CongestionControl != "" {
		fmt.Fprintf(w, ", %s", Visible(i.CongestionControl))
	}
	w.WriteByte('\n')
}
