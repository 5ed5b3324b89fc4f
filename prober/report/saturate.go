package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"

	"isochrone/prober/wire"
)

// SaturateFormat names the document of a saturate run.
const SaturateFormat = "isochrone_saturate"

// Saturate holds the figures of one saturate run, durations in microseconds.
type Saturate struct {
	XMLName xml.Name `json:"-" xml:"isochrone_saturate"`
	Outcome
	Spec     SaturateSpec `json:"spec" xml:"spec"`
	Sent     int          `json:"sent" xml:"sent"`         // requests
	Answered int          `json:"answered" xml:"answered"` // of those, also the ones that no level counts
	Overhead Overhead     `json:"overhead" xml:"overhead"`
	// KneeOutstanding is the last level before the one at which p99 had doubled; null: it never did.
	KneeOutstanding *int            `json:"knee_outstanding" xml:"knee_outstanding,omitempty"`
	Levels          []SaturateLevel `json:"levels" xml:"levels>level"`
}

// SaturateSpec is how it was measured.
type SaturateSpec struct {
	RequestBytes int          `json:"request_bytes" xml:"request_bytes"` // of a transfer
	ReadPercent  int          `json:"read_percent" xml:"read_percent"`
	Outstanding  int          `json:"outstanding" xml:"outstanding"`
	DurationUS   Microseconds `json:"duration_us" xml:"duration_us"` // of a level
	TimeoutUS    Microseconds `json:"timeout_us" xml:"timeout_us"`
}

// SaturateLevel is the run at one number of outstanding requests. Rates are bits/s of payload, and the
// same with both conventions of protocol overhead.
type SaturateLevel struct {
	Outstanding     int          `json:"outstanding" xml:"outstanding,attr"`
	Requests        int          `json:"requests" xml:"requests"`
	Bytes           int64        `json:"bytes" xml:"bytes"`
	CountedUS       Microseconds `json:"counted_us" xml:"counted_us"`
	PayloadBPS      float64      `json:"payload_bps" xml:"payload_bps"`
	OneSegmentBPS   float64      `json:"one_segment_bps" xml:"one_segment_bps"`
	EverySegmentBPS float64      `json:"every_segment_bps" xml:"every_segment_bps"`
	RequestsPerS    float64      `json:"requests_per_s" xml:"requests_per_s"`
	MinUS           Microseconds `json:"min_us" xml:"min_us"`
	MeanUS          Microseconds `json:"mean_us" xml:"mean_us"`
	P50US           Microseconds `json:"p50_us" xml:"p50_us"`
	P99US           Microseconds `json:"p99_us" xml:"p99_us"`
	MaxUS           Microseconds `json:"max_us" xml:"max_us"`
	// P99Few says that p99 is of fewer requests than a 99th percentile takes.
	P99Few bool           `json:"p99_few" xml:"p99_few"`
	Bands  []ResponseBand `json:"bands" xml:"bands>band"`
}

// ResponseBand counts the requests with a response time from FromMS to less than ToMS; null is no end.
type ResponseBand struct {
	FromMS int  `json:"from_ms" xml:"from_ms,attr"`
	ToMS   *int `json:"to_ms" xml:"to_ms,attr,omitempty"`
	Count  int  `json:"count" xml:"count,attr"`
}

// SaturateOf makes the document of a saturate run.
func SaturateOf(in Input) Saturate {
	b := in.Spec.Bulk
	d := Saturate{
		Outcome: outcomeOf(in, SaturateFormat), Sent: in.Run.Counts.Sent, Answered: in.Run.Counts.Received,
		Spec: SaturateSpec{
			RequestBytes: in.Spec.RequestBytes, ReadPercent: b.ReadPercent, Outstanding: b.Outstanding,
			DurationUS: usNS(int64(b.Duration)), TimeoutUS: usNS(int64(in.Spec.Timeout)),
		},
		Overhead: overheadOf(in.Spec.RequestBytes), Levels: []SaturateLevel{},
	}
	if in.Run.Bulk == nil {
		return d
	}
	d.KneeOutstanding = kneeOf(in.Run.Bulk.Levels)
	for _, l := range in.Run.Bulk.Levels {
		d.Levels = append(d.Levels, levelOf(l, d.Overhead))
	}
	return d
}

func levelOf(l wire.Level, o Overhead) SaturateLevel {
	out := SaturateLevel{
		Outstanding: l.Outstanding, Requests: l.Requests, Bytes: l.Bytes, CountedUS: usNS(l.CountedNS),
		PayloadBPS: l.BPS, OneSegmentBPS: with(l.BPS, o.OneSegmentRatio), EverySegmentBPS: with(l.BPS, o.EverySegmentRatio),
		MinUS: usNS(l.MinNS), MeanUS: usNS(l.MeanNS), P50US: usNS(l.P50NS), P99US: usNS(l.P99NS), MaxUS: usNS(l.MaxNS),
		P99Few: l.Requests < p99Needs,
	}
	if l.CountedNS > 0 {
		out.RequestsPerS = float64(l.Requests) * 1e9 / float64(l.CountedNS)
	}
	from := 0
	for i, n := range l.Bands {
		band := ResponseBand{FromMS: from, Count: n}
		if ends := wire.BandEndsMS(); i < len(ends) {
			band.ToMS, from = &ends[i], ends[i]
		}
		out.Bands = append(out.Bands, band)
	}
	return out
}

// JSON is the document as JSON, indented.
func (d Saturate) JSON() ([]byte, error) { return encodeJSON(d, "", nil) }

// XML is the document as XML, indented.
func (d Saturate) XML() ([]byte, error) { return encodeXML(d) }

// Text is the document as tables for people.
func (d Saturate) Text() []byte {
	var w bytes.Buffer
	d.title(&w)
	fmt.Fprintf(&w, "%d bytes a transfer, %d %% read; %d requests sent, %d answered; %s moved\n",
		d.Spec.RequestBytes, d.Spec.ReadPercent, d.Sent, d.Answered, Bytes(d.MovedBytes))
	if len(d.Levels) == 0 {
		return w.Bytes()
	}
	d.rates(&w)
	d.times(&w)
	d.bands(&w)
	d.verdict(&w)
	return w.Bytes()
}

func (d Saturate) rates(w *bytes.Buffer) {
	rows := [][]string{{"outstanding", "requests", "requests/s", "Mbit/s payload", "with headers (1)", "with headers (2)"}}
	for _, l := range d.Levels {
		rows = append(rows, []string{
			strconv.Itoa(l.Outstanding), strconv.Itoa(l.Requests), strconv.FormatFloat(l.RequestsPerS, 'f', 1, 64),
			mbit(l.PayloadBPS), mbit(l.OneSegmentBPS), mbit(l.EverySegmentBPS),
		})
	}
	w.WriteByte('\n')
	grid(w, rows)
	o := d.Overhead
	fmt.Fprintf(w, "(1) %d bytes of headers a transfer, as of one segment: %.3f %% of the wire\n", headerBytes, o.OneSegmentRatio*100)
	fmt.Fprintf(w, "(2) %d bytes of headers for every %d bytes, %d segments a transfer: %.3f %% of the wire\n", headerBytes, segmentBytes, o.Segments, o.EverySegmentRatio*100)
}

func (d Saturate) times(w *bytes.Buffer) {
	rows := [][]string{{"outstanding", "ms: min", "mean", "p50", "p99", "max"}}
	few := slices.ContainsFunc(d.Levels, func(l SaturateLevel) bool { return l.P99Few })
	for _, l := range d.Levels {
		mark := ""
		switch {
		case l.P99Few:
			mark = "?"
		case few: // so that the points stay in line
			mark = " "
		}
		rows = append(rows, []string{strconv.Itoa(l.Outstanding), ms(&l.MinUS), ms(&l.MeanUS), ms(&l.P50US), ms(&l.P99US) + mark, ms(&l.MaxUS)})
	}
	w.WriteByte('\n')
	grid(w, rows)
	if few {
		fmt.Fprintf(w, "? of fewer than %d requests: little more than the largest\n", p99Needs)
	}
}

func (d Saturate) bands(w *bytes.Buffer) {
	head := []string{"ms \\ outstanding"}
	for _, l := range d.Levels {
		head = append(head, strconv.Itoa(l.Outstanding))
	}
	rows := [][]string{head}
	for i, b := range d.Levels[0].Bands {
		label := fmt.Sprintf("%d or more", b.FromMS)
		if b.ToMS != nil {
			label = fmt.Sprintf("%d to %d", b.FromMS, *b.ToMS)
		}
		row := []string{label}
		for _, l := range d.Levels {
			row = append(row, strconv.Itoa(l.Bands[i].Count))
		}
		rows = append(rows, row)
	}
	w.WriteString("\nrequests by response time\n")
	grid(w, rows)
}

// verdict says where the knee is, and what was the most.
func (d Saturate) verdict(w *bytes.Buffer) {
	best := d.Levels[0]
	for i, l := range d.Levels {
		short := i > 0 && 2*l.CountedUS < d.Levels[i-1].CountedUS // cut to where its rate says nothing
		if !short && l.PayloadBPS > best.PayloadBPS {
			best = l
		}
	}
	fmt.Fprintf(w, "\nmost payload: %s Mbit/s with %d outstanding\n", mbit(best.PayloadBPS), best.Outstanding)
	last := d.Levels[len(d.Levels)-1]
	switch {
	case d.KneeOutstanding != nil:
		before := d.Levels[len(d.Levels)-2]
		fmt.Fprintf(w, "the knee is at %d outstanding: with %d p99 is %.1f times as long\n", *d.KneeOutstanding, last.Outstanding, float64(last.P99US)/float64(before.P99US))
	case last.Outstanding == d.Spec.Outstanding && last.CountedUS >= d.Spec.DurationUS: // one that was cut short says nothing
		fmt.Fprintf(w, "no knee up to %d outstanding: p99 did not double from one level to the next\n", last.Outstanding)
	}
}
