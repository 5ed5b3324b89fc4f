package main

import (
	"isochrone/sweep/reply"
	"isochrone/sweep/tables"
)

// runNoise, runOneWay and runHTTP are the parts of a runRecord that only some kinds fill, under the
// names of the rows' columns.
type (
	runNoise struct {
		Degraded           *string  `json:"degraded"` // reasons with commas between
		Timestamps         *string  `json:"timestamps"`
		LatenessP50US      *float64 `json:"send_lateness_p50_us"`
		LatenessP99US      *float64 `json:"send_lateness_p99_us"`
		LatenessMaxUS      *float64 `json:"send_lateness_max_us"`
		ClientP50US        *float64 `json:"client_p50_us"`
		ClientP99US        *float64 `json:"client_p99_us"`
		ServerP50US        *float64 `json:"server_p50_us"`
		ServerP99US        *float64 `json:"server_p99_us"`
		ClockSteps         *int     `json:"clock_step_count"`
		Unstamped          *int     `json:"unstamped_count"`
		TargetClockErrorUS *float64 `json:"target_clock_error_us"`
	}
	runOneWay struct {
		ForwardPDV95US *float64 `json:"forward_pdv95_us"`
		ForwardPDV99US *float64 `json:"forward_pdv99_us"`
		ReversePDV95US *float64 `json:"reverse_pdv95_us"`
		ReversePDV99US *float64 `json:"reverse_pdv99_us"`
		ForwardMinUS   *float64 `json:"forward_min_us"`
		ForwardP50US   *float64 `json:"forward_p50_us"`
		ReverseMinUS   *float64 `json:"reverse_min_us"`
		ReverseP50US   *float64 `json:"reverse_p50_us"`
		BoundUS        *float64 `json:"oneway_bound_us"`
		Method         *string  `json:"oneway_method"`
		ClockOffsetUS  *float64 `json:"clock_offset_us"`
		ClockSkewPPM   *float64 `json:"clock_skew_ppm"`
	}
	runHTTP struct {
		DNSP50US       *float64 `json:"http_dns_p50_us"`
		ConnectP50US   *float64 `json:"http_connect_p50_us"`
		TLSP50US       *float64 `json:"http_tls_p50_us"`
		FirstByteP50US *float64 `json:"http_first_byte_p50_us"`
		NetworkP50US   *float64 `json:"http_network_p50_us"`
		NetworkP99US   *float64 `json:"http_network_p99_us"`
		BelowRTT       *int     `json:"http_below_rtt_count"`
	}
)

func runNoiseOf(n *tables.Noise) runNoise {
	return runNoise{Degraded: optional(reply.Reasons(n.Degraded)), Timestamps: optional(string(n.Timestamps)),
		LatenessP50US: n.LatenessP50US, LatenessP99US: n.LatenessP99US, LatenessMaxUS: n.LatenessMaxUS,
		ClientP50US: n.ClientP50US, ClientP99US: n.ClientP99US, ServerP50US: n.ServerP50US, ServerP99US: n.ServerP99US,
		ClockSteps: n.ClockSteps, Unstamped: n.Unstamped, TargetClockErrorUS: n.TargetClockErrorUS}
}

func runOneWayOf(o *tables.OneWay) runOneWay {
	return runOneWay{ForwardPDV95US: o.ForwardPDV95US, ForwardPDV99US: o.ForwardPDV99US, ReversePDV95US: o.ReversePDV95US, ReversePDV99US: o.ReversePDV99US,
		ForwardMinUS: o.ForwardMinUS, ForwardP50US: o.ForwardP50US, ReverseMinUS: o.ReverseMinUS, ReverseP50US: o.ReverseP50US,
		BoundUS: o.BoundUS, Method: optional(string(o.Method)), ClockOffsetUS: o.ClockOffsetUS, ClockSkewPPM: o.ClockSkewPPM}
}

func runHTTPOf(h *tables.HTTP) runHTTP { return runHTTP(*h) }
