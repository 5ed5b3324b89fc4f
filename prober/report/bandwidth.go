package report

import (
	"encoding/xml"
	"time"

	"isochrone/prober/wire"
)

// BandwidthFormat names the document of a throughput run.
const BandwidthFormat = "isochrone_bandwidth"

// Bandwidth holds the figures of one throughput run: durations in microseconds, rates in bits/s of
// payload as its receiver counted it.
type Bandwidth struct {
	XMLName xml.Name `json:"-" xml:"isochrone_bandwidth"`
	Outcome
	Spec     BandwidthSpec   `json:"spec" xml:"spec"`
	Overhead Overhead        `json:"overhead" xml:"overhead"` // of one write
	Flows    []BandwidthFlow `json:"flows" xml:"flows>flow"`
	// Intervals are the flows' (see wire.Intervals), where they were asked for.
	Intervals []BandwidthIntervals `json:"intervals,omitempty" xml:"intervals>of,omitempty"`
}

// BandwidthSpec is how it was measured.
type BandwidthSpec struct {
	Direction    wire.Direction `json:"direction" xml:"direction"`
	Streams      *int           `json:"streams" xml:"streams,omitempty"` // null: by the path's bandwidth-delay product
	RequestBytes int            `json:"request_bytes" xml:"request_bytes"`
	DurationUS   Microseconds   `json:"duration_us" xml:"duration_us"`
	RampUS       Microseconds   `json:"ramp_us" xml:"ramp_us"`
	RateBPS      *int64         `json:"rate_bps" xml:"rate_bps,omitempty"` // null: no cap
	Congestion   string         `json:"congestion,omitempty" xml:"congestion,omitempty"`
	TimeoutUS    Microseconds   `json:"timeout_us" xml:"timeout_us"`
}

// BandwidthFlow is one direction. Null is unknown.
type BandwidthFlow struct {
	Direction wire.Direction `json:"direction" xml:"direction,attr"`
	Streams   int            `json:"streams" xml:"streams"`
	// PayloadBPS is Bytes over CountedUS; null: nothing was counted. The others have the headers on
	// top, in both conventions.
	PayloadBPS      *float64     `json:"payload_bps" xml:"payload_bps,omitempty"`
	OneSegmentBPS   *float64     `json:"one_segment_bps" xml:"one_segment_bps,omitempty"`
	EverySegmentBPS *float64     `json:"every_segment_bps" xml:"every_segment_bps,omitempty"`
	Bytes           int64        `json:"bytes" xml:"bytes"`
	CountedUS       Microseconds `json:"counted_us" xml:"counted_us"`
	RampBytes       int64        `json:"ramp_bytes" xml:"ramp_bytes"` // left out
	RampUS          Microseconds `json:"ramp_us" xml:"ramp_us"`
	// Of the sender's kernel: RTTUS is the mean of its smoothed round trips over the count.
	RTTUS              *Microseconds `json:"rtt_us" xml:"rtt_us,omitempty"`
	Retransmits        *int64        `json:"retransmits" xml:"retransmits,omitempty"` // segments, ramp included
	CongestionControl  string        `json:"congestion_control,omitempty" xml:"congestion_control,omitempty"`
	WindowLimitedRatio *float64      `json:"window_limited_ratio" xml:"window_limited_ratio,omitempty"`
	WindowLimited      bool          `json:"window_limited" xml:"window_limited"`
}

// BandwidthIntervals are those of one direction.
type BandwidthIntervals struct {
	Direction wire.Direction `json:"direction" xml:"direction,attr"`
	wire.Intervals
}

// BandwidthOf makes the document of a throughput run.
func BandwidthOf(in Input) Bandwidth {
	b := in.Spec.Bulk
	d := Bandwidth{
		Outcome: outcomeOf(in, BandwidthFormat), Overhead: overheadOf(in.Spec.RequestBytes), Flows: []BandwidthFlow{},
		Spec: BandwidthSpec{
			Direction: b.Direction, RequestBytes: in.Spec.RequestBytes, DurationUS: usNS(int64(b.Duration)), RampUS: usNS(int64(b.Ramp)),
			Congestion: b.Congestion, TimeoutUS: usNS(int64(in.Spec.Timeout)),
		},
	}
	if b.Streams > 0 {
		d.Spec.Streams = &b.Streams
	}
	if b.RateBPS > 0 {
		d.Spec.RateBPS = &b.RateBPS
	}
	if in.Run.Bulk == nil {
		return d
	}
	for _, f := range in.Run.Bulk.Flows {
		d.Flows = append(d.Flows, d.flow(f))
		if in.Samples {
			d.Intervals = append(d.Intervals, BandwidthIntervals{f.Direction, f.Intervals})
		}
	}
	return d
}

func (d Bandwidth) flow(f wire.Flow) BandwidthFlow {
	out := BandwidthFlow{
		Direction: f.Direction, Streams: f.Streams, Bytes: f.Bytes, CountedUS: usNS(f.CountedNS), RampBytes: f.RampBytes, RampUS: usNS(f.RampNS),
		RTTUS: underLoad(f), Retransmits: f.Retransmits, CongestionControl: Visible(f.CongestionControl),
		WindowLimitedRatio: f.WindowLimitedRatio, WindowLimited: f.WindowLimited,
	}
	if f.CountedNS > 0 {
		one, every := with(f.BPS, d.Overhead.OneSegmentRatio), with(f.BPS, d.Overhead.EverySegmentRatio)
		out.PayloadBPS, out.OneSegmentBPS, out.EverySegmentBPS = &f.BPS, &one, &every
	}
	return out
}

// underLoad is the mean of the sender's round trips over the intervals that were counted.
func underLoad(f wire.Flow) *Microseconds {
	sum, n := int64(0), int64(0)
	for i, rtt := range f.Intervals.RTTNS {
		if rtt != wire.Null && f.Intervals.AtNS[i] >= f.RampNS {
			sum += rtt
			n++
		}
	}
	if n == 0 {
		return nil
	}
	v := usNS(sum / n)
	return &v
}

// JSON is the document as JSON, indented, a column of the intervals on one line each.
func (d Bandwidth) JSON() ([]byte, error) {
	intervals := d.Intervals
	d.Intervals = nil
	if intervals == nil {
		return encodeJSON(d, "", nil)
	}
	return encodeJSON(d, "intervals", intervals)
}

// XML is the document as XML, indented.
func (d Bandwidth) XML() ([]byte, error) { return encodeXML(d) }

// span is a duration for people.
func (v Microseconds) span() string {
	return (time.Duration(v) * time.Microsecond).Round(10 * time.Millisecond).String()
}
