package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"isochrone/prober/wire"
)

// StreamFormat names the document of a stream run.
const StreamFormat = "isochrone_stream"

// Stream holds the figures of one stream run: durations in microseconds, rates in messages a second.
type Stream struct {
	XMLName xml.Name `json:"-" xml:"isochrone_stream"`
	Outcome
	Spec StreamSpec `json:"spec" xml:"spec"`
	// Sent is how many messages the connection took, Taken how many the target did.
	Sent  int `json:"sent" xml:"sent"`
	Taken int `json:"taken" xml:"taken"`
	// SourceRate, A, is that at which messages joined the source's queue, TargetRate, B, that at which the
	// target took them. Null: there was one, or all came at once.
	SourceRate *float64 `json:"source_messages_per_s" xml:"source_messages_per_s,omitempty"`
	TargetRate *float64 `json:"target_messages_per_s" xml:"target_messages_per_s,omitempty"`
	// Delays are from when a message was due to when it was taken; they are no more than DelayBoundUS
	// off, by the clocks. PredictedLastUS is N/B - N/A.
	DelayP50US      *Microseconds `json:"delay_p50_us" xml:"delay_p50_us,omitempty"`
	DelayP99US      *Microseconds `json:"delay_p99_us" xml:"delay_p99_us,omitempty"`
	DelayLastUS     *Microseconds `json:"delay_last_us" xml:"delay_last_us,omitempty"`
	DelayBoundUS    *Microseconds `json:"delay_bound_us" xml:"delay_bound_us,omitempty"`
	PredictedLastUS *Microseconds `json:"predicted_last_us" xml:"predicted_last_us,omitempty"`
	MaxBacklog      *int          `json:"max_backlog" xml:"max_backlog,omitempty"` // messages

	Intervals *wire.Intervals `json:"intervals,omitempty" xml:"intervals,omitempty"`
}

// StreamSpec is how it was measured.
type StreamSpec struct {
	RequestBytes int          `json:"request_bytes" xml:"request_bytes"` // of a message
	Messages     int          `json:"messages" xml:"messages"`
	MessageRate  int          `json:"message_rate" xml:"message_rate"`
	Batch        int          `json:"batch" xml:"batch"`
	SinkRate     *int         `json:"sink_rate" xml:"sink_rate,omitempty"` // null: all that the target can
	TimeoutUS    Microseconds `json:"timeout_us" xml:"timeout_us"`
}

// StreamOf makes the document of a stream run.
func StreamOf(in Input) Stream {
	b := in.Spec.Bulk
	d := Stream{
		Outcome: outcomeOf(in, StreamFormat), Sent: in.Run.Counts.Sent, Taken: in.Run.Counts.Received,
		Spec: StreamSpec{
			RequestBytes: in.Spec.RequestBytes, Messages: b.Messages, MessageRate: b.MessageRate, Batch: b.Batch,
			TimeoutUS: usNS(int64(in.Spec.Timeout)),
		},
	}
	if b.SinkRate > 0 {
		d.Spec.SinkRate = &b.SinkRate
	}
	if in.Run.Bulk == nil || in.Run.Bulk.Stream == nil {
		return d
	}
	s := in.Run.Bulk.Stream
	rate := func(v float64) *float64 {
		if v == 0 {
			return nil
		}
		return &v
	}
	d.SourceRate, d.TargetRate, d.Intervals = rate(s.SourceRate), rate(s.ReceiverRate), &s.Intervals
	if s.DelayBoundNS == 0 { // the target gave no account
		return d
	}
	us := func(ns int64) *Microseconds { v := usNS(ns); return &v }
	d.DelayP50US, d.DelayP99US, d.DelayLastUS, d.DelayBoundUS = us(s.DelayP50NS), us(s.DelayP99NS), us(s.DelayLastNS), us(s.DelayBoundNS)
	d.MaxBacklog = &s.MaxBacklog
	if d.SourceRate != nil && d.TargetRate != nil {
		d.PredictedLastUS = us(s.PredictedLastNS)
	}
	return d
}

// JSON is the document as JSON, indented, a column of the intervals on one line each.
func (d Stream) JSON() ([]byte, error) {
	intervals := d.Intervals
	d.Intervals = nil
	if intervals == nil {
		return encodeJSON(d, "", nil)
	}
	return encodeJSON(d, "intervals", intervals)
}

// XML is the document as XML, indented.
func (d Stream) XML() ([]byte, error) { return encodeXML(d) }

// Text is the document as tables for people.
func (d Stream) Text() []byte {
	var w bytes.Buffer
	d.title(&w)
	fmt.Fprintf(&w, "%d messages of %d bytes due; %d sent, %d taken; %s moved\n", d.Spec.Messages, d.Spec.RequestBytes, d.Sent, d.Taken, Bytes(d.MovedBytes))
	if d.Taken == 0 {
		return w.Bytes()
	}
	w.WriteByte('\n')
	t := newTable()
	t.row("rate", "messages/s", "")
	t.row("A, at the source", perSecond(d.SourceRate), "of "+strconv.Itoa(d.Spec.MessageRate)+" asked for")
	limit := ""
	if d.Spec.SinkRate != nil {
		limit = "of at most " + strconv.Itoa(*d.Spec.SinkRate)
	}
	t.row("B, at the target", perSecond(d.TargetRate), limit)
	t.render(&w)
	if d.DelayBoundUS != nil {
		d.delays(&w)
	}
	d.backlog(&w)
	return w.Bytes()
}

func perSecond(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}

func (d Stream) delays(w *bytes.Buffer) {
	w.WriteByte('\n')
	t := newTable()
	t.row("delay", "ms", "from when a message was due to when it was taken, at most "+ms(d.DelayBoundUS)+" off")
	few := func(v *Microseconds, needs int) (string, string) {
		if d.Taken < needs {
			return "few", "needs " + strconv.Itoa(needs) + " messages"
		}
		return ms(v), ""
	}
	value, note := few(d.DelayP50US, 20)
	t.row("p50", value, note)
	value, note = few(d.DelayP99US, p99Needs)
	t.row("p99", value, note)
	t.row("last message", ms(d.DelayLastUS), "")
	note = "what the queue alone makes of the last message"
	if p := d.PredictedLastUS; p != nil && *p > 0 {
		note += fmt.Sprintf("; measured %+.1f %%", (float64(*d.DelayLastUS)/float64(*p)-1)*100)
	}
	t.row("N/B - N/A", ms(d.PredictedLastUS), note)
	t.render(w)
}

// chartRows is how many lines the chart of the backlog has at the most.
const chartRows = 20

// backlog draws the messages that were due and not taken, over time.
func (d Stream) backlog(w *bytes.Buffer) {
	if d.MaxBacklog == nil || d.Intervals == nil || len(d.Intervals.Backlog) == 0 {
		return
	}
	fmt.Fprintf(w, "\nbacklog: at most %d messages\n", *d.MaxBacklog)
	column := d.Intervals.Backlog
	step := (len(column) + chartRows - 1) / chartRows
	most := int64(1)
	for _, n := range column {
		most = max(most, n)
	}
	rows := [][]string{}
	for i := step - 1; ; i += step {
		i = min(i, len(column)-1)
		at := time.Duration(d.Intervals.AtNS[i] + d.Intervals.ForNS[i])
		length := int(math.Ceil(float64(column[i]) * barWidth / float64(most)))
		rows = append(rows, []string{fmt.Sprintf("%.1f s", at.Seconds()), strconv.FormatInt(column[i], 10), strings.Repeat("#", length)})
		if i == len(column)-1 {
			break
		}
	}
	widest := 0
	for _, r := range rows {
		widest = max(widest, len(r[0]))
	}
	digits := len(strconv.FormatInt(most, 10))
	for _, r := range rows {
		w.WriteString(strings.TrimRight(fmt.Sprintf("%*s   %*s %s", widest, r[0], digits, r[1], r[2]), " "))
		w.WriteByte('\n')
	}
}
