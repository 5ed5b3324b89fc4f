package report

import "isochrone/prober/wire"

// What goes over the wire with a payload: the headers of Ethernet (14), IPv4 (20) and TCP (20) of a
// segment, which carries segmentBytes. Options, acknowledgements and what is sent again come on top.
const (
	headerBytes  = 14 + 20 + 20
	segmentBytes = 1460
)

// Overhead is the protocol's share in what goes over the wire for a message, in the two conventions
// that are in use.
type Overhead struct {
	Segments          int     `json:"segments" xml:"segments"`                       // that the message takes
	OneSegmentRatio   float64 `json:"one_segment_ratio" xml:"one_segment_ratio"`     // as if one header were enough for the message
	EverySegmentRatio float64 `json:"every_segment_ratio" xml:"every_segment_ratio"` // with a header for each of them
}

// overheadOf is that of messages of so many bytes, each beginning with a segment.
func overheadOf(message int) Overhead {
	segments := (message + segmentBytes - 1) / segmentBytes
	share := func(headers int) float64 { return float64(headers) / float64(message+headers) }
	return Overhead{Segments: segments, OneSegmentRatio: share(headerBytes), EverySegmentRatio: share(segments * headerBytes)}
}

// with adds the share to a rate of payload.
func with(payload, ratio float64) float64 { return payload / (1 - ratio) }

// p99Needs is how many values a 99th percentile takes: ten lie above it.
const p99Needs = 1000

func usNS(ns int64) Microseconds { return Microseconds(ns) / 1000 }

// kneeOf is the outstanding requests at the knee; nil: it was not reached.
func kneeOf(levels []wire.Level) *int {
	i, ok := wire.Knee(levels)
	if !ok {
		return nil
	}
	return &levels[i].Outstanding
}
