package main

import (
	"slices"

	"isochrone/sweep/tables"
)

// runBulk is the part of a runRecord that only kinds that load the network fill, under the names of
// the rows' columns.
type runBulk struct {
	MovedBytes        *float64 `json:"moved_bytes"`
	BudgetReached     *bool    `json:"budget_reached"`
	Direction         *string  `json:"direction"`
	ThroughputUpBPS   *float64 `json:"throughput_up_bps"`
	ThroughputDownBPS *float64 `json:"throughput_down_bps"`
	Streams           *int     `json:"stream_count"`
	RetransmitsUp     *int     `json:"retransmit_up_count"`
	RetransmitsDown   *int     `json:"retransmit_down_count"`
	CongestionControl *string  `json:"congestion_control"`
	LimitedUp         *float64 `json:"window_limited_up_ratio"`
	LimitedDown       *float64 `json:"window_limited_down_ratio"`
	WindowLimited     *string  `json:"window_limited"`
	RampUS            *float64 `json:"ramp_us"`
	RampBytes         *float64 `json:"ramp_bytes"`
	Knee              *int     `json:"saturate_knee_outstanding"`
	BestOutstanding   *int     `json:"saturate_best_outstanding"`
	BestBPS           *float64 `json:"saturate_best_bps"`
	BestP50US         *float64 `json:"saturate_best_p50_us"`
	BestP99US         *float64 `json:"saturate_best_p99_us"`
	SourceRate        *float64 `json:"stream_source_per_s"`
	ReceiverRate      *float64 `json:"stream_receiver_per_s"`
	Messages          *int     `json:"stream_message_count"`
	DelayP50US        *float64 `json:"stream_delay_p50_us"`
	DelayP99US        *float64 `json:"stream_delay_p99_us"`
	DelayLastUS       *float64 `json:"stream_delay_last_us"`
	DelayBoundUS      *float64 `json:"stream_delay_bound_us"`
	PredictedLastUS   *float64 `json:"stream_predicted_last_us"`
	MaxBacklog        *int     `json:"stream_max_backlog_count"`
	Users             *int     `json:"load_user_count"`
	RequestsPerS      *float64 `json:"load_requests_per_s"`
	LoadNetworkP50US  *float64 `json:"load_network_p50_us"`
	LoadNetworkP99US  *float64 `json:"load_network_p99_us"`
	LoadBelowRTT      *int     `json:"load_below_rtt_count"`
}

func runBulkOf(b *tables.Bulk) runBulk {
	t, s, m, l := &b.Throughput, &b.Saturation, &b.Stream, &b.Load
	return runBulk{MovedBytes: b.MovedBytes, BudgetReached: b.BudgetReached,
		Direction: optional(string(t.Direction)), ThroughputUpBPS: t.UpBPS, ThroughputDownBPS: t.DownBPS, Streams: t.Streams,
		RetransmitsUp: t.UpRetransmits, RetransmitsDown: t.DownRetransmits, CongestionControl: optional(t.CongestionControl),
		LimitedUp: t.UpWindowLimited, LimitedDown: t.DownWindowLimited, WindowLimited: optional(string(t.WindowLimited)), RampUS: t.RampUS, RampBytes: t.RampBytes,
		Knee: s.KneeOutstanding, BestOutstanding: s.BestOutstanding, BestBPS: s.BestBPS, BestP50US: s.BestP50US, BestP99US: s.BestP99US,
		SourceRate: m.SourceRate, ReceiverRate: m.ReceiverRate, Messages: m.Messages, DelayP50US: m.DelayP50US, DelayP99US: m.DelayP99US, DelayLastUS: m.DelayLastUS,
		DelayBoundUS: m.DelayBoundUS, PredictedLastUS: m.PredictedLastUS, MaxBacklog: m.MaxBacklog,
		Users: l.Users, RequestsPerS: l.RequestsPerS, LoadNetworkP50US: l.NetworkP50US, LoadNetworkP99US: l.NetworkP99US, LoadBelowRTT: l.BelowRTT}
}

// runField is a column of the table of runs.
type runField struct {
	column column
	value  func(*runRecord) cell
}

// bulkColumns are the columns of bulk runs, of which a table has those that any of its runs fills.
func bulkColumns(records []runRecord) []runField {
	var out []runField
	add := func(title string, there func(*runRecord) bool, show func(*runRecord) string) {
		if slices.ContainsFunc(records, func(r runRecord) bool { return there(&r) }) {
			out = append(out, runField{number(title), func(r *runRecord) cell { return cell{text: show(r)} }})
		}
	}
	figure := func(title string, factor float64, digits int, at func(*runRecord) *float64) {
		add(title, func(r *runRecord) bool { return at(r) != nil }, func(r *runRecord) string { return decimal(at(r), factor, digits) })
	}
	whole := func(title string, at func(*runRecord) *int) {
		add(title, func(r *runRecord) bool { return at(r) != nil }, func(r *runRecord) string { return optionalCount(at(r)) })
	}
	figure("up Mbit/s", 1e-6, 2, func(r *runRecord) *float64 { return r.ThroughputUpBPS })
	figure("down Mbit/s", 1e-6, 2, func(r *runRecord) *float64 { return r.ThroughputDownBPS })
	whole("streams", func(r *runRecord) *int { return r.Streams })
	whole("resent up", func(r *runRecord) *int { return r.RetransmitsUp })
	whole("resent down", func(r *runRecord) *int { return r.RetransmitsDown })
	figure("best Mbit/s", 1e-6, 2, func(r *runRecord) *float64 { return r.BestBPS })
	whole("outstanding", func(r *runRecord) *int { return r.BestOutstanding })
	figure("best p50 ms", 1e-3, 3, func(r *runRecord) *float64 { return r.BestP50US })
	figure("best p99 ms", 1e-3, 3, func(r *runRecord) *float64 { return r.BestP99US })
	whole("knee", func(r *runRecord) *int { return r.Knee })
	figure("A /s", 1, 1, func(r *runRecord) *float64 { return r.SourceRate })
	figure("B /s", 1, 1, func(r *runRecord) *float64 { return r.ReceiverRate })
	figure("delay p50 ms", 1e-3, 3, func(r *runRecord) *float64 { return r.DelayP50US })
	figure("last ms", 1e-3, 3, func(r *runRecord) *float64 { return r.DelayLastUS })
	figure("N/B-N/A ms", 1e-3, 3, func(r *runRecord) *float64 { return r.PredictedLastUS })
	whole("backlog", func(r *runRecord) *int { return r.MaxBacklog })
	whole("users", func(r *runRecord) *int { return r.Users })
	figure("requests/s", 1, 1, func(r *runRecord) *float64 { return r.RequestsPerS })
	figure("network p50 ms", 1e-3, 3, func(r *runRecord) *float64 { return r.LoadNetworkP50US })
	figure("network p99 ms", 1e-3, 3, func(r *runRecord) *float64 { return r.LoadNetworkP99US })
	figure("moved MB", 1e-6, 1, func(r *runRecord) *float64 { return r.MovedBytes })
	text := func(title string, there func(*runRecord) bool, show string) {
		if slices.ContainsFunc(records, func(r runRecord) bool { return there(&r) }) {
			out = append(out, runField{left(title), func(r *runRecord) cell {
				if there(r) {
					return cell{text: show, tone: alarm}
				}
				return cell{}
			}})
		}
	}
	text("budget", func(r *runRecord) bool { return r.BudgetReached != nil && *r.BudgetReached }, "reached")
	text("window", func(r *runRecord) bool { return r.WindowLimited != nil }, "limited")
	return out
}
