package tables

import (
	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Bulk is what a run that loads the network came to. Rates in bits/s are of payload, as the receiver
// counted it; times are microseconds. Nil is unknown, or another kind's.
type Bulk struct {
	MovedBytes    *float64
	BudgetReached *bool
	Throughput    Throughput
	Saturation    Saturation
	Stream        Stream
	Load          Load
}

// Throughput is what came of each direction, the ramp left out.
type Throughput struct {
	Direction                          wire.Direction // empty for other kinds
	UpBPS, DownBPS                     *float64
	Streams                            *int // of a direction
	UpRetransmits, DownRetransmits     *int
	UpWindowLimited, DownWindowLimited *float64
	WindowLimited                      wire.Direction // empty: neither
	CongestionControl                  string
	RampUS, RampBytes                  *float64
}

// Saturation is the best of a saturate run's levels, and where its response times began to suffer.
type Saturation struct {
	KneeOutstanding, BestOutstanding *int
	BestBPS, BestP50US, BestP99US    *float64
}

// Stream is a stream run. Rates are messages a second.
type Stream struct {
	SourceRate, ReceiverRate                                           *float64
	Messages, MaxBacklog                                               *int
	DelayP50US, DelayP99US, DelayLastUS, DelayBoundUS, PredictedLastUS *float64
}

// Load is a load run. Its round trips and its server's times are those of every run with samples.
type Load struct {
	Users                                    *int
	RequestsPerS, NetworkP50US, NetworkP99US *float64
	// BelowRTT counts the samples whose network part came out below the smallest round trip.
	BelowRTT *int
}

func bulkOf(b *summary.Bulk) Bulk {
	if b == nil {
		return Bulk{}
	}
	moved, t, s := float64(b.MovedBytes), &b.Throughput, &b.Saturation
	return Bulk{
		MovedBytes: &moved, BudgetReached: &b.BudgetReached,
		Throughput: Throughput{Direction: t.Direction, UpBPS: t.UpBPS, DownBPS: t.DownBPS, Streams: t.Streams,
			UpRetransmits: t.UpRetransmits, DownRetransmits: t.DownRetransmits, UpWindowLimited: t.UpWindowLimited, DownWindowLimited: t.DownWindowLimited,
			WindowLimited: t.WindowLimited, CongestionControl: t.CongestionControl, RampUS: us(t.RampNS), RampBytes: t.RampBytes},
		Saturation: Saturation{KneeOutstanding: s.KneeOutstanding, BestOutstanding: s.BestOutstanding, BestBPS: s.BestBPS, BestP50US: us(s.BestP50), BestP99US: us(s.BestP99)},
		Stream:     streamOf(b.Stream),
		Load: Load{Users: b.Load.Users, RequestsPerS: b.Load.RequestsPerS, NetworkP50US: us(b.Load.NetworkP50), NetworkP99US: us(b.Load.NetworkP99),
			BelowRTT: b.Load.BelowRTT},
	}
}

// streamOf leaves out what the run could not know: the delays and the backlog when the target told nothing
// of them, which is when their bound is zero as no comparison of two clocks is; a rate of one message, or of
// all at once; and what would follow from it.
func streamOf(s *wire.StreamResult) Stream {
	if s == nil {
		return Stream{}
	}
	out := Stream{Messages: &s.Messages}
	if s.SourceRate > 0 {
		out.SourceRate = &s.SourceRate
	}
	if s.ReceiverRate > 0 {
		out.ReceiverRate = &s.ReceiverRate
	}
	whole := func(ns int64) *float64 { v := float64(ns) / 1000; return &v }
	if s.Messages > 0 && s.DelayBoundNS > 0 {
		out.MaxBacklog = &s.MaxBacklog
		out.DelayP50US, out.DelayP99US, out.DelayLastUS, out.DelayBoundUS = whole(s.DelayP50NS), whole(s.DelayP99NS), whole(s.DelayLastNS), whole(s.DelayBoundNS)
	}
	if s.SourceRate > 0 && s.ReceiverRate > 0 {
		out.PredictedLastUS = whole(s.PredictedLastNS)
	}
	return out
}

// bulkFields are what the kinds that load the network have.
var bulkFields = []field[Row]{
	number("moved_bytes", "bytes", "payload that a run of a bulk kind moved, both directions and the ramp together; absent for other kinds, and where nothing was moved", func(r *Row) **float64 { return &r.Bulk.MovedBytes }),
	{Column{"budget_reached", Int32, "", "1 when the run stopped because its byte budget was used up, 0 when it did not"},
		func(r *Row) any {
			switch b := r.Bulk.BudgetReached; {
			case b == nil:
				return nil
			case *b:
				return 1
			}
			return 0
		},
		func(r *Row, v any) { reached := v.(int) != 0; r.Bulk.BudgetReached = &reached }},
	text("direction", "throughput: which way payload went, as the source sees it: up, down or both at once", func(r *Row) *string { return (*string)(&r.Bulk.Throughput.Direction) }),
	number("throughput_up_bps", "bit/s", "payload that came to the target, the ramp left out", func(r *Row) **float64 { return &r.Bulk.Throughput.UpBPS }),
	number("throughput_down_bps", "bit/s", "payload that came to the source, the ramp left out", func(r *Row) **float64 { return &r.Bulk.Throughput.DownBPS }),
	maybeCount("stream_count", "connections", "connections that carried a direction", func(r *Row) **int { return &r.Bulk.Throughput.Streams }),
	maybeCount("retransmit_up_count", "segments", "segments that the source sent again, over all streams", func(r *Row) **int { return &r.Bulk.Throughput.UpRetransmits }),
	maybeCount("retransmit_down_count", "segments", "segments that the target sent again", func(r *Row) **int { return &r.Bulk.Throughput.DownRetransmits }),
	text("congestion_control", "congestion control algorithm of the streams", func(r *Row) *string { return &r.Bulk.Throughput.CongestionControl }),
	number("window_limited_up_ratio", "ratio", "part of the busy time in which the target's window or the source's buffer held the streams back", func(r *Row) **float64 { return &r.Bulk.Throughput.UpWindowLimited }),
	number("window_limited_down_ratio", "ratio", "the same of the source's window and the target's buffer", func(r *Row) **float64 { return &r.Bulk.Throughput.DownWindowLimited }),
	text("window_limited", "the direction, up, down or both, in which that was most of the time; absent when there is none", func(r *Row) *string { return (*string)(&r.Bulk.Throughput.WindowLimited) }),
	number("ramp_us", "µs", "the beginning that the rates leave out", func(r *Row) **float64 { return &r.Bulk.Throughput.RampUS }),
	number("ramp_bytes", "bytes", "payload received in it", func(r *Row) **float64 { return &r.Bulk.Throughput.RampBytes }),
	maybeCount("saturate_knee_outstanding", "requests", "most requests under way before p99 doubled from one level to the next; absent where it never did", func(r *Row) **int { return &r.Bulk.Saturation.KneeOutstanding }),
	maybeCount("saturate_best_outstanding", "requests", "requests under way at the level that moved the most payload a second; one that was cut to less than half the time of the one before does not count", func(r *Row) **int { return &r.Bulk.Saturation.BestOutstanding }),
	number("saturate_best_bps", "bit/s", "payload at that level", func(r *Row) **float64 { return &r.Bulk.Saturation.BestBPS }),
	number("saturate_best_p50_us", "µs", "median response time at that level", func(r *Row) **float64 { return &r.Bulk.Saturation.BestP50US }),
	number("saturate_best_p99_us", "µs", "99 % quantile of the response time at that level", func(r *Row) **float64 { return &r.Bulk.Saturation.BestP99US }),
	number("stream_source_per_s", "1/s", "messages a second that joined the source's queue (A); absent where all did at once", func(r *Row) **float64 { return &r.Bulk.Stream.SourceRate }),
	number("stream_receiver_per_s", "1/s", "messages a second that the target took (B); absent for fewer than two", func(r *Row) **float64 { return &r.Bulk.Stream.ReceiverRate }),
	maybeCount("stream_message_count", "messages", "messages that the target took", func(r *Row) **int { return &r.Bulk.Stream.Messages }),
	number("stream_delay_p50_us", "µs", "median from when a message was due to when the target took it, no further than stream_delay_bound_us from the truth; absent, as all delays and the backlog, where the target did not tell", func(r *Row) **float64 { return &r.Bulk.Stream.DelayP50US }),
	number("stream_delay_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.Bulk.Stream.DelayP99US }),
	number("stream_delay_last_us", "µs", "that of the last message", func(r *Row) **float64 { return &r.Bulk.Stream.DelayLastUS }),
	number("stream_delay_bound_us", "µs", "bound on the error of the clocks' offset in the delays", func(r *Row) **float64 { return &r.Bulk.Stream.DelayBoundUS }),
	number("stream_predicted_last_us", "µs", "N/B − N/A: what a queue that fills at A and empties at B makes of the last delay, beside the path's own; absent without A or B", func(r *Row) **float64 { return &r.Bulk.Stream.PredictedLastUS }),
	maybeCount("stream_max_backlog_count", "messages", "most messages that were due or sent and not yet taken", func(r *Row) **int { return &r.Bulk.Stream.MaxBacklog }),
	maybeCount("load_user_count", "users", "users that asked at the same time, each one request after the other", func(r *Row) **int { return &r.Bulk.Load.Users }),
	number("load_requests_per_s", "1/s", "answered requests over the time from when the first was sent to the last answer", func(r *Row) **float64 { return &r.Bulk.Load.RequestsPerS }),
	number("load_network_p50_us", "µs", "median of round trip − the server's own time, which is server_p50_us", func(r *Row) **float64 { return &r.Bulk.Load.NetworkP50US }),
	number("load_network_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.Bulk.Load.NetworkP99US }),
	maybeCount("load_below_rtt_count", "samples", "as http_below_rtt_count", func(r *Row) **int { return &r.Bulk.Load.BelowRTT }),
}
