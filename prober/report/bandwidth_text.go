package report

import (
	"bytes"
	"fmt"
	"strconv"

	"isochrone/prober/wire"
)

// Text is the document as a table for people, a column a direction.
func (d Bandwidth) Text() []byte {
	var w bytes.Buffer
	d.title(&w)
	if d.Interrupted && d.Detail == "" {
		w.WriteString("stopped before its time\n")
	}
	fmt.Fprintf(&w, "%s of at most %s moved, ramp and all\n", Bytes(d.MovedBytes), Bytes(d.MaxBytes))
	if d.BudgetReached {
		w.WriteString("the byte budget was used up, and ended it (--max-bytes)\n")
	}
	if len(d.Flows) == 0 {
		return w.Bytes()
	}
	w.WriteByte('\n')
	d.table(&w)
	for _, f := range d.Flows {
		if f.WindowLimited {
			fmt.Fprintf(&w, "%s was window-limited: most of the time the receiver's window or the sender's buffer held it back, not the path; try more --streams\n", f.Direction)
		}
	}
	if d.CPUStealRatio != nil && *d.CPUStealRatio > 0 {
		fmt.Fprintf(&w, "the hypervisor took %s of this machine's time\n", percent(d.CPUStealRatio))
	}
	return w.Bytes()
}

func (d Bandwidth) table(w *bytes.Buffer) {
	t := newTable()
	row := func(label, note string, value func(BandwidthFlow) string) {
		values := make([]string, len(d.Flows))
		for i, f := range d.Flows {
			values[i] = value(f)
		}
		if len(values) == 2 {
			note = fmt.Sprintf("%11s   %s", values[1], note)
		}
		t.row(label, values[0], note)
	}
	row("", "", func(f BandwidthFlow) string { return string(f.Direction) })
	row("Mbit/s", "payload, as its receiver counted it", func(f BandwidthFlow) string { return mbitOf(f.PayloadBPS) })
	row("  on the wire", fmt.Sprintf("with the headers of one segment a write of %s (%.3g %%)", Bytes(int64(d.Spec.RequestBytes)), d.Overhead.OneSegmentRatio*100),
		func(f BandwidthFlow) string { return mbitOf(f.OneSegmentBPS) })
	row("  on the wire", fmt.Sprintf("with the headers of every segment of %d bytes (%.3g %%)", segmentBytes, d.Overhead.EverySegmentRatio*100),
		func(f BandwidthFlow) string { return mbitOf(f.EverySegmentBPS) })
	row("counted", "", func(f BandwidthFlow) string { return Bytes(f.Bytes) })
	row("  in", "", func(f BandwidthFlow) string { return f.CountedUS.span() })
	row("left out", "the ramp at the beginning", func(f BandwidthFlow) string { return Bytes(f.RampBytes) })
	row("  in", "", func(f BandwidthFlow) string { return f.RampUS.span() })
	row("streams", "", func(f BandwidthFlow) string { return strconv.Itoa(f.Streams) })
	row("sent again", "segments, the ramp's too", func(f BandwidthFlow) string {
		if f.Retransmits == nil {
			return "-"
		}
		return strconv.FormatInt(*f.Retransmits, 10)
	})
	row("round trip ms", "under this load, the mean", func(f BandwidthFlow) string { return ms(f.RTTUS) })
	row("congestion", "the sender's control", func(f BandwidthFlow) string {
		if f.CongestionControl == "" {
			return "-"
		}
		return Visible(f.CongestionControl)
	})
	row("window-limited", "of the time, by the receiver's window or the sender's buffer", func(f BandwidthFlow) string { return percent(f.WindowLimitedRatio) })
	t.render(w)
}

func mbitOf(bps *float64) string {
	if bps == nil {
		return "-"
	}
	return mbit(*bps)
}

// DescribeBandwidth says how a throughput spec measures, and what it may cost.
func DescribeBandwidth(s wire.Spec) string {
	b := s.Bulk
	text := fmt.Sprintf("%s for %s after %s of ramp", b.Direction, b.Duration, b.Ramp)
	switch {
	case b.Streams == 1:
		text += ", 1 stream"
	case b.Streams > 0:
		text += fmt.Sprintf(", %d streams", b.Streams)
	}
	if b.RateBPS > 0 {
		text += fmt.Sprintf(", at most %s Mbit/s each way", mbit(float64(b.RateBPS)))
	}
	if b.Congestion != "" {
		text += ", " + b.Congestion
	}
	return text + ", and at most " + Bytes(b.MaxBytes) + " in all (--max-bytes)"
}
