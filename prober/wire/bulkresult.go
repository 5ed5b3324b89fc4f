package wire

import (
	"errors"
	"fmt"
)

// BulkResult is what a run of a bulk kind came to. Rates are of payload, in bits/s, as the
// receiver counted it.
type BulkResult struct {
	// Bytes is the payload that was moved in both directions, ramp included, as far as the source
	// knows: what it sent and what it received.
	Bytes int64 `json:"bytes" xml:"bytes"`
	// BudgetReached says that the run stopped because its byte budget was used up.
	BudgetReached bool          `json:"budget_reached" xml:"budget_reached"`
	Flows         []Flow        `json:"flows,omitempty" xml:"flows>flow,omitempty"`    // of throughput: one a direction
	Levels        []Level       `json:"levels,omitempty" xml:"levels>level,omitempty"` // of saturate, in the order made
	Stream        *StreamResult `json:"stream,omitempty" xml:"stream,omitempty"`
	Load          *LoadResult   `json:"load,omitempty" xml:"load,omitempty"`
}

// Flow is one direction of a throughput run. Null is unknown.
type Flow struct {
	Direction Direction `json:"direction" xml:"direction"` // up or down
	Streams   int       `json:"streams" xml:"streams"`
	// BPS is Bytes over Counted: what came to the receiver after the ramp.
	BPS       float64 `json:"bps" xml:"bps"`
	Bytes     int64   `json:"bytes" xml:"bytes"`
	CountedNS int64   `json:"counted_ns" xml:"counted_ns"`
	RampBytes int64   `json:"ramp_bytes" xml:"ramp_bytes"`
	RampNS    int64   `json:"ramp_ns" xml:"ramp_ns"`
	// The rest is the sender's, over all streams: Retransmits are segments, WindowLimitedRatio the part
	// of the time in which the receiver's window or the sender's buffer held it back (Linux TCP_INFO:
	// rwnd_limited and sndbuf_limited over busy_time), WindowLimited whether that is most of it.
	Retransmits        *int64   `json:"retransmits,omitempty" xml:"retransmits,omitempty"`
	CongestionControl  string   `json:"congestion_control,omitempty" xml:"congestion_control,omitempty"`
	WindowLimitedRatio *float64 `json:"window_limited_ratio,omitempty" xml:"window_limited_ratio,omitempty"`
	WindowLimited      bool     `json:"window_limited,omitempty" xml:"window_limited,omitempty"`
	// Intervals are the receiver's count over the whole run, ramp included, with the sender's TCP_INFO.
	Intervals Intervals `json:"intervals" xml:"intervals"`
}

// Intervals are columns of equal length, one entry an interval of a run, from its start on. A column
// is empty where it is not known.
type Intervals struct {
	AtNS  Column `json:"at_ns" xml:"at_ns"` // its beginning, since the run's start
	ForNS Column `json:"for_ns" xml:"for_ns"`
	Bytes Column `json:"bytes,omitempty" xml:"bytes,omitempty"` // payload received
	// Of the sender's kernel at the interval's end: mean over the streams of RTTNS, sum of the others.
	RTTNS            Column `json:"rtt_ns,omitempty" xml:"rtt_ns,omitempty"`
	CongestionWindow Column `json:"congestion_window_bytes,omitempty" xml:"congestion_window_bytes,omitempty"`
	Retransmits      Column `json:"retransmits,omitempty" xml:"retransmits,omitempty"` // segments, since the beginning
	DeliveryRateBPS  Column `json:"delivery_rate_bps,omitempty" xml:"delivery_rate_bps,omitempty"`
	// Of a stream, messages.
	Sent     Column `json:"sent,omitempty" xml:"sent,omitempty"`
	Received Column `json:"received,omitempty" xml:"received,omitempty"`
	Backlog  Column `json:"backlog,omitempty" xml:"backlog,omitempty"` // due or sent and not yet received, at the interval's end
}

// Level is a saturate run at one number of outstanding requests.
type Level struct {
	Outstanding int   `json:"outstanding" xml:"outstanding"`
	Requests    int   `json:"requests" xml:"requests"` // answered
	Bytes       int64 `json:"bytes" xml:"bytes"`       // payload of the transfers
	CountedNS   int64 `json:"counted_ns" xml:"counted_ns"`
	// BPS is Bytes over CountedNS.
	BPS float64 `json:"bps" xml:"bps"`
	// Response times, from the request's first octet handed to the kernel to the answer's last.
	MinNS  int64 `json:"min_ns" xml:"min_ns"`
	MeanNS int64 `json:"mean_ns" xml:"mean_ns"`
	P50NS  int64 `json:"p50_ns" xml:"p50_ns"`
	P99NS  int64 `json:"p99_ns" xml:"p99_ns"`
	MaxNS  int64 `json:"max_ns" xml:"max_ns"`
	// Bands are the requests by response time: see BandEndsMS. They sum to Requests.
	Bands []int `json:"bands" xml:"bands>band"`
}

// BandEndsMS are the upper ends, in ms and exclusive, of the fixed bands of response time. One more
// band holds what took longer.
func BandEndsMS() []int { return []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000} }

// StreamResult is a stream run. Rates are messages a second.
type StreamResult struct {
	SourceRate   float64 `json:"source_rate" xml:"source_rate"`     // A: messages over the time in which they joined the source's queue; 0: all at once
	ReceiverRate float64 `json:"receiver_rate" xml:"receiver_rate"` // B: the same as they were taken at the target
	Messages     int     `json:"messages" xml:"messages"`           // taken at the target
	// Delays, from when a message was due at the source to when the target took it. They hold the
	// error of the clocks' offset, which is no more than DelayBoundNS.
	DelayP50NS   int64 `json:"delay_p50_ns" xml:"delay_p50_ns"`
	DelayP99NS   int64 `json:"delay_p99_ns" xml:"delay_p99_ns"`
	DelayLastNS  int64 `json:"delay_last_ns" xml:"delay_last_ns"`
	DelayBoundNS int64 `json:"delay_bound_ns" xml:"delay_bound_ns"`
	// PredictedLastNS is N/B − N/A: what a queue that fills at A and empties at B makes of the last
	// message's delay, beside the path's own.
	PredictedLastNS int64     `json:"predicted_last_ns" xml:"predicted_last_ns"`
	MaxBacklog      int       `json:"max_backlog" xml:"max_backlog"`
	Intervals       Intervals `json:"intervals" xml:"intervals"`
}

// LoadResult is a load run; its requests are the run's samples, in the order in which they were sent, of
// which ServerNS is the server's own time and RTTNS the whole.
type LoadResult struct {
	Users        int     `json:"users" xml:"users"`
	RequestsPerS float64 `json:"requests_per_s" xml:"requests_per_s"` // answered, over the time from the first request to the last answer
	// Network time is RTT less the server's; null where no answer says what the server took.
	NetworkP50NS *int64 `json:"network_p50_ns,omitempty" xml:"network_p50_ns,omitempty"`
	NetworkP99NS *int64 `json:"network_p99_ns,omitempty" xml:"network_p99_ns,omitempty"`
	ServerP50NS  *int64 `json:"server_p50_ns,omitempty" xml:"server_p50_ns,omitempty"`
}

// summarised says whether a run of the kind has no samples: its counts are of requests or messages
// that are told in sums.
func (k Kind) summarised() bool {
	return k == KindThroughput || k == KindSaturate || k == KindStream
}

// HasSamples says whether a run of the kind tells each of its requests apart.
func (k Kind) HasSamples() bool { return !k.summarised() }

// received says whether anything came of the run.
func (r *Run) received() bool {
	if r.Kind.summarised() {
		return r.Bulk != nil && r.Bulk.Bytes > 0
	}
	return r.Counts.Received > 0
}

// MaxFlowIntervals bounds the intervals of a flow or stream, and MaxLevels the levels of a saturate run.
const (
	MaxFlowIntervals = 10_000
	MaxLevels        = 16
)

func (r *Run) validateBulk() error {
	b := r.Bulk
	switch {
	case b == nil:
		return nil
	case !r.Kind.IsBulk():
		return fmt.Errorf("bulk: kind %q has none", r.Kind)
	case len(b.Flows) > 2 || len(b.Levels) > MaxLevels || b.Bytes < 0:
		return fmt.Errorf("bulk: %d flows and %d levels of %d bytes: want at most 2 and %d", len(b.Flows), len(b.Levels), b.Bytes, MaxLevels)
	}
	var faults []error
	for i, f := range b.Flows {
		if f.Direction != DirectionUp && f.Direction != DirectionDown || f.Bytes < 0 || f.RampBytes < 0 || f.CountedNS < 0 || f.RampNS < 0 || !(f.BPS >= 0) {
			faults = append(faults, fmt.Errorf("bulk.flows[%d]: direction %q, %d bytes in %d ns", i, cutForError([]byte(f.Direction)), f.Bytes, f.CountedNS))
		}
		if err := f.Intervals.validate(); err != nil {
			faults = append(faults, fmt.Errorf("bulk.flows[%d].%w", i, err))
		}
	}
	for i, l := range b.Levels {
		sum, negative := 0, false
		for _, n := range l.Bands {
			sum += n
			negative = negative || n < 0
		}
		if negative || len(l.Bands) != len(BandEndsMS())+1 || sum != l.Requests || l.Requests < 0 || l.Bytes < 0 || l.CountedNS < 0 || !(l.BPS >= 0) {
			faults = append(faults, fmt.Errorf("bulk.levels[%d]: %d requests, of which %d in %d bands; want the same in %d", i, l.Requests, sum, len(l.Bands), len(BandEndsMS())+1))
		}
	}
	if b.Stream != nil {
		if err := b.Stream.Intervals.validate(); err != nil {
			faults = append(faults, fmt.Errorf("bulk.stream.%w", err))
		}
	}
	return errors.Join(faults...)
}

// Columns lists the columns, in the order of the document. Only at_ns and for_ns are always there.
func (v *Intervals) Columns() []NamedColumn {
	return []NamedColumn{
		{Name: "at_ns", Values: &v.AtNS},
		{Name: "for_ns", Values: &v.ForNS},
		{Name: "bytes", Values: &v.Bytes, Optional: true},
		{Name: "rtt_ns", Values: &v.RTTNS, Optional: true},
		{Name: "congestion_window_bytes", Values: &v.CongestionWindow, Optional: true},
		{Name: "retransmits", Values: &v.Retransmits, Optional: true},
		{Name: "delivery_rate_bps", Values: &v.DeliveryRateBPS, Optional: true},
		{Name: "sent", Values: &v.Sent, Optional: true},
		{Name: "received", Values: &v.Received, Optional: true},
		{Name: "backlog", Values: &v.Backlog, Optional: true},
	}
}

func (v Intervals) validate() error {
	n := len(v.AtNS)
	if n > MaxFlowIntervals || len(v.ForNS) != n {
		return fmt.Errorf("intervals: %d and %d entries: want the same, and at most %d", n, len(v.ForNS), MaxFlowIntervals)
	}
	for _, c := range []Column{v.Bytes, v.RTTNS, v.CongestionWindow, v.Retransmits, v.DeliveryRateBPS, v.Sent, v.Received, v.Backlog} {
		if len(c) != 0 && len(c) != n {
			return fmt.Errorf("intervals: a column of %d entries among those of %d", len(c), n)
		}
	}
	return nil
}
