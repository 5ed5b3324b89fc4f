package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Text is the document as a table for people. Times are in ms; "-" is a value that is absent.
func (d Load) Text() []byte {
	var w bytes.Buffer
	d.title(&w)
	if d.Interrupted && d.Detail == "" {
		w.WriteString("stopped before all requests were sent\n")
	}
	d.requests(&w)
	if d.Counts.Received > 0 {
		d.times(&w)
	}
	kernel(&w, d.TCPInfo)
	if d.MovedBytes > 0 {
		fmt.Fprintf(&w, "\nmoved %s of a budget of %s\n", Bytes(d.MovedBytes), Bytes(d.MaxBytes))
	}
	if d.Counts.Received > 0 {
		w.WriteString("each user waits for its answer: while the server stalls fewer requests are sent, so a stall shows in few of them\n")
	}
	verdict(&w, Document{Degraded: d.Degraded})
	return w.Bytes()
}

// requests says how many there were, and what became of them.
func (d Load) requests(w *bytes.Buffer) {
	c := d.Counts
	fmt.Fprintf(w, "sent %d, answered %d, failed %d (late %d)", c.Sent, c.Received, c.Sent-c.Received, c.Late)
	if d.RequestsPerS != nil {
		fmt.Fprintf(w, "; %s answered a second", strconv.FormatFloat(*d.RequestsPerS, 'f', 1, 64))
	}
	w.WriteByte('\n')
	if d.OpenedCount != nil {
		fmt.Fprintf(w, "connections opened: %d, within the requests that needed them\n", *d.OpenedCount)
	}
	if d.Loss.Ratio != nil {
		fmt.Fprintf(w, "failed %s, 95 %% interval %s to %s\n", percent(d.Loss.Ratio), percent(d.Loss.LowRatio), percent(d.Loss.HighRatio))
	}
	if len(d.Failures) > 0 {
		parts := make([]string, len(d.Failures))
		for i, f := range d.Failures {
			parts[i] = fmt.Sprintf("%d %s", f.Count, FailureText(f.Code))
		}
		fmt.Fprintf(w, "failures: %s\n", strings.Join(parts, ", "))
	}
}

// times puts the total beside its two parts.
func (d Load) times(w *bytes.Buffer) {
	const interval95 = "95 % interval"
	rows := [][]string{{"ms"}, {"min"}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}}
	add := func(name string, t *LoadTimes) {
		if t == nil {
			return
		}
		rows[0] = append(rows[0], name, interval95)
		rows[1] = append(rows[1], ms(t.MinUS), "")
		rows[2] = append(rows[2], ms(t.MeanUS), "")
		for i, p := range t.Percentiles {
			value, note := ms(p.ValueUS), interval(p)
			if p.ValueUS == nil {
				value, note = "few", fmt.Sprintf("needs %d", p.NeedsCount)
			}
			rows[3+i] = append(rows[3+i], value, note)
		}
		rows[6] = append(rows[6], ms(t.MaxUS), "")
	}
	add("total", &d.Total)
	add("server", d.Server)
	add("network", d.Network)
	w.WriteByte('\n')
	grid(w, rows)
	w.WriteByte('\n')
	switch {
	case d.Network == nil && d.Spec.Method != "":
		w.WriteString("the answers do not say what the server took (Server-Timing): its time is in the total, and cannot be told apart\n")
	case d.Network != nil:
		w.WriteString("network is the total less what the server says that it took\n")
	}
	if d.ClientP50US != nil {
		fmt.Fprintf(w, "this program read answers after they had come: p50 %s, p99 %s ms, which is in the network's time\n", ms(d.ClientP50US), msOf(d.ClientP99US, d.Counts.Received, 1000))
	}
	if d.BelowRTTCount != nil && *d.BelowRTTCount > 0 && slices.Contains(d.Degraded, summary.ReasonSplitBelowRTT) {
		fmt.Fprintf(w, "network times below the path's round trip: %d\n", *d.BelowRTTCount)
	}
}

// DescribeLoad says how a load is made.
func DescribeLoad(s wire.Spec) string {
	b := s.Bulk
	parts := []string{fmt.Sprintf("%d users", b.Users)}
	if b.Users == 1 {
		parts[0] = "1 user"
	}
	if b.Ramp > 0 {
		parts[0] += " over " + b.Ramp.String()
	}
	switch {
	case b.Loops == 1:
		parts = append(parts, "1 request each")
	case b.Loops > 1:
		parts = append(parts, fmt.Sprintf("%d requests each", b.Loops))
	default:
		parts = append(parts, "then for "+b.Duration.Round(time.Millisecond).String())
	}
	if s.Method != "" {
		parts = append(parts, s.Method)
	} else {
		parts = append(parts, fmt.Sprintf("%d bytes there and %d back", s.RequestBytes, s.ResponseBytes))
	}
	return strings.Join(append(parts, "timeout "+s.Timeout.String(), "at most "+Bytes(b.MaxBytes)), ", ")
}
