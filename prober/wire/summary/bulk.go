package summary

import (
	"slices"
	"time"

	"isochrone/prober/wire"
)

// Bulk is what a run that loads the network came to. Rates in bits/s are of payload, as the receiver
// counted it; all rates are computed from the counts and times that a run gives. Null is unknown, or
// another kind's.
type Bulk struct {
	MovedBytes    int64
	BudgetReached bool
	Throughput    Throughput
	Saturation    Saturation
	Stream        *wire.StreamResult
	Load          Load
}

// Throughput is what came of each direction, the ramp left out.
type Throughput struct {
	Direction       wire.Direction // up, down or both; empty for other kinds
	UpBPS, DownBPS  *float64
	Streams         *int // of a direction
	UpRetransmits   *int // segments
	DownRetransmits *int
	// The part of the time in which the receiver's window or the sender's buffer held it back.
	UpWindowLimited, DownWindowLimited *float64
	// WindowLimited names the directions of which that was most of the time; empty: none.
	WindowLimited     wire.Direction
	CongestionControl string
	RampNS, RampBytes *float64 // left out; the longer of the two, and the sum
}

// Saturation is what the levels of a saturate run come to.
type Saturation struct {
	// KneeOutstanding is the most requests under way before p99 doubled from one level to the next; null
	// where it never did.
	KneeOutstanding *int
	// The level that moved the most payload a second, of equal ones the first. One that was cut to less than
	// half the time of the one before is too short to tell. Response times are nanoseconds.
	BestOutstanding           *int
	BestBPS, BestP50, BestP99 *float64
}

// Load is what the samples of a load run come to. Durations are nanoseconds.
type Load struct {
	Users *int
	// RequestsPerS is answered requests over the time from the first that left to the last answer.
	RequestsPerS *float64
	// NetworkP50 and NetworkP99 are of round trip − server's own time, and BelowRTT as in HTTP.
	NetworkP50, NetworkP99 *float64
	BelowRTT               *int
}

func bulkOf(r *wire.Run) *Bulk {
	if r.Bulk == nil {
		return nil
	}
	out := &Bulk{MovedBytes: r.Bulk.Bytes, BudgetReached: r.Bulk.BudgetReached}
	switch r.Kind {
	case wire.KindThroughput:
		out.Throughput = throughputOf(r.Bulk.Flows)
	case wire.KindSaturate:
		out.Saturation = saturationOf(r.Bulk.Levels)
	case wire.KindStream:
		out.Stream = r.Bulk.Stream
	case wire.KindLoad:
		out.Load = loadOf(r)
	}
	return out
}

func (b *Bulk) belowRTT() *int {
	if b == nil {
		return nil
	}
	return b.Load.BelowRTT
}

// rate is bytes in nanoseconds as bits/s; nil when there was no time.
func rate(bytes, ns int64) *float64 {
	if ns <= 0 {
		return nil
	}
	bps := float64(bytes) * 8 / time.Duration(ns).Seconds()
	return &bps
}

func throughputOf(flows []wire.Flow) (out Throughput) {
	for i := range flows {
		f := &flows[i]
		bps, retransmits, limited := &out.UpBPS, &out.UpRetransmits, &out.UpWindowLimited
		if f.Direction == wire.DirectionDown {
			bps, retransmits, limited = &out.DownBPS, &out.DownRetransmits, &out.DownWindowLimited
		}
		*bps, *limited = rate(f.Bytes, f.CountedNS), f.WindowLimitedRatio
		if f.Retransmits != nil {
			n := int(*f.Retransmits)
			*retransmits = &n
		}
		out.Direction = joined(out.Direction, f.Direction)
		if f.WindowLimited {
			out.WindowLimited = joined(out.WindowLimited, f.Direction)
		}
		if f.CongestionControl != "" {
			out.CongestionControl = f.CongestionControl
		}
		if out.Streams == nil {
			out.Streams, out.RampNS, out.RampBytes = new(int), new(float64), new(float64)
		}
		*out.Streams = max(*out.Streams, f.Streams)
		*out.RampNS = max(*out.RampNS, float64(f.RampNS))
		*out.RampBytes += float64(f.RampBytes)
	}
	return out
}

// joined is a direction beside another.
func joined(have, more wire.Direction) wire.Direction {
	if have == "" || have == more {
		return more
	}
	return wire.DirectionBoth
}

func saturationOf(levels []wire.Level) (out Saturation) {
	for i := range levels {
		l := &levels[i]
		bps := rate(l.Bytes, l.CountedNS)
		cut := i > 0 && l.CountedNS < levels[i-1].CountedNS/2
		if bps == nil || l.Requests == 0 || cut {
			continue
		}
		if out.BestBPS == nil || *bps > *out.BestBPS {
			p50, p99 := float64(l.P50NS), float64(l.P99NS)
			out.BestBPS, out.BestP50, out.BestP99, out.BestOutstanding = bps, &p50, &p99, &l.Outstanding
		}
	}
	if i, ok := wire.Knee(levels); ok {
		out.KneeOutstanding = &levels[i].Outstanding
	}
	return out
}

func loadOf(r *wire.Run) (out Load) {
	if r.Bulk.Load != nil {
		out.Users = &r.Bulk.Load.Users
	}
	connect := r.Samples.ConnectNS.Values()
	slices.Sort(connect)
	out.NetworkP50, out.NetworkP99, out.BelowRTT = networkOf(r, connect)
	first, last, answered := int64(-1), int64(0), 0
	for i, sent := range r.Samples.SentNS {
		if sent == wire.Null {
			continue
		}
		if first < 0 || sent < first {
			first = sent
		}
		if rtt := r.Samples.RTTNS[i]; rtt != wire.Null {
			answered++
			last = max(last, sent+rtt)
		}
	}
	if first >= 0 && last > first {
		n := float64(answered) / time.Duration(last-first).Seconds()
		out.RequestsPerS = &n
	}
	return out
}
