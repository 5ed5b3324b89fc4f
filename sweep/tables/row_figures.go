package tables

import (
	"strings"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Range is the interval of a quantile at 95 %, in microseconds; nil where the samples give no
// bound.
type Range struct{ LowUS, HighUS *float64 }

func rangeOf(q summary.Quantile) Range { return Range{us(q.Low), us(q.High)} }

// Noise is what the measurement itself added to a run, or may have. Nil is unknown.
type Noise struct {
	// Timestamps says where the round trips were clocked; empty where the prober does not.
	Timestamps wire.Timestamps
	// ClockSteps and Unstamped count the samples that have no kernel time stamps where others have:
	// set aside because a wall clock was set, and never stamped.
	ClockSteps, Unstamped *int
	// TargetClockErrorUS bounds the target's clock error against UTC.
	TargetClockErrorUS *float64
	// How late samples left.
	LatenessP50US, LatenessP99US, LatenessMaxUS *float64
	// The source's own share, and how long the target held requests.
	ClientP50US, ClientP99US, ServerP50US, ServerP99US *float64
	// Degraded lists why the run is not to be relied on without a look; empty: nothing was found.
	Degraded []summary.Reason
}

func noiseOf(run *wire.Run, n *summary.Noise) Noise {
	out := Noise{
		Timestamps: run.Timestamps, ClockSteps: run.ClockSteps, Unstamped: run.Unstamped,
		LatenessP50US: us(n.LatenessP50), LatenessP99US: us(n.LatenessP99), LatenessMaxUS: us(n.LatenessMax),
		ClientP50US: us(n.ClientP50), ClientP99US: us(n.ClientP99), ServerP50US: us(n.ServerP50), ServerP99US: us(n.ServerP99),
	}
	if len(n.Degraded) > 0 {
		out.Degraded = n.Degraded
	}
	if e := run.TargetClockErrorNS; e != nil {
		ns := float64(*e)
		out.TargetClockErrorUS = us(&ns)
	}
	return out
}

// OneWay is what a run says of its two directions, in microseconds. Nil is unknown.
type OneWay struct {
	ForwardPDV95US, ForwardPDV99US, ReversePDV95US, ReversePDV99US *float64
	// The absolute delays are there only with BoundUS: no more than that far from the truth.
	ForwardMinUS, ForwardP50US, ReverseMinUS, ReverseP50US, BoundUS *float64
	// Method says what the bound rests on.
	Method summary.OneWayMethod
	// ClockOffsetUS is the target's clock less the source's in the middle of the run; ClockSkewPPM
	// how fast it grows.
	ClockOffsetUS, ClockSkewPPM *float64
}

func oneWayOf(o *summary.OneWay) OneWay {
	if o == nil {
		return OneWay{}
	}
	return OneWay{
		ForwardPDV95US: us(o.ForwardPDV95), ForwardPDV99US: us(o.ForwardPDV99), ReversePDV95US: us(o.ReversePDV95), ReversePDV99US: us(o.ReversePDV99),
		ForwardMinUS: us(o.ForwardMin), ForwardP50US: us(o.ForwardP50), ReverseMinUS: us(o.ReverseMin), ReverseP50US: us(o.ReverseP50),
		BoundUS: us(o.Bound), Method: o.Method, ClockOffsetUS: us(o.OffsetNS), ClockSkewPPM: o.SkewPPM,
	}
}

// HTTP holds the medians of an http run's phases, and its network part, in microseconds. Nil is
// unknown.
type HTTP struct {
	DNSP50US, ConnectP50US, TLSP50US, FirstByteP50US *float64
	NetworkP50US, NetworkP99US                       *float64
	// BelowRTT counts the samples whose network part came out below the smallest round trip; nil for
	// other kinds, and where no answer said what the server took.
	BelowRTT *int
}

func httpOf(h *summary.HTTP) HTTP {
	if h == nil {
		return HTTP{}
	}
	return HTTP{
		DNSP50US: us(h.DNSP50), ConnectP50US: us(h.ConnectP50), TLSP50US: us(h.TLSP50), FirstByteP50US: us(h.FirstByteP50),
		NetworkP50US: us(h.NetworkP50), NetworkP99US: us(h.NetworkP99), BelowRTT: h.BelowRTT,
	}
}

// rangeFields are the intervals of the quantiles.
func rangeFields() []field[Row] {
	var out []field[Row]
	for _, q := range []struct {
		name, of string
		at       func(*Row) *Range
	}{
		{"rtt_p50", "median", func(r *Row) *Range { return &r.P50Range }},
		{"rtt_p90", "90 % quantile", func(r *Row) *Range { return &r.P90Range }},
		{"rtt_p95", "95 % quantile", func(r *Row) *Range { return &r.P95Range }},
		{"rtt_p99", "99 % quantile", func(r *Row) *Range { return &r.P99Range }},
		{"rtt_p999", "99.9 % quantile", func(r *Row) *Range { return &r.P999Range }},
	} {
		low := "lower end of the interval of the " + q.of + " at 95 %, by order statistics"
		if q.name != "rtt_p50" {
			low = "lower end of the interval of the " + q.of
		}
		out = append(out,
			number(q.name+"_low_us", "µs", low, func(r *Row) **float64 { return &q.at(r).LowUS }),
			number(q.name+"_high_us", "µs", "upper end; absent where no sample can be the bound", func(r *Row) **float64 { return &q.at(r).HighUS }))
	}
	return out
}

// directionFields are the counts by direction.
var directionFields = []field[Row]{
	maybeCount("lost_forward_count", "samples", "samples lost on the way to the target; absent, as all counts by direction, where it is not known", func(r *Row) **int { return &r.Counts.LostForward }),
	maybeCount("lost_reverse_count", "samples", "samples lost on the way back", func(r *Row) **int { return &r.Counts.LostReverse }),
	maybeCount("duplicate_forward_count", "samples", "requests that reached the target again", func(r *Row) **int { return &r.Counts.DuplicateForward }),
	maybeCount("duplicate_reverse_count", "samples", "replies that arrived again", func(r *Row) **int { return &r.Counts.DuplicateReverse }),
	maybeCount("reordered_forward_count", "samples", "requests overtaken on the way to the target (RFC 4737)", func(r *Row) **int { return &r.Counts.ReorderedForward }),
	maybeCount("reordered_reverse_count", "samples", "replies overtaken on the way back", func(r *Row) **int { return &r.Counts.ReorderedReverse }),
}

// noiseFields are what the measurement itself added.
var noiseFields = []field[Row]{
	text("timestamps", "where the round trips were clocked: user or kernel; absent where the prober does not say", func(r *Row) *string { return (*string)(&r.Noise.Timestamps) }),
	{Column{"degraded", String, "", "why the run is not to be relied on without a look, with commas between; absent when nothing was found"},
		func(r *Row) any {
			if len(r.Noise.Degraded) == 0 {
				return nil
			}
			return joinReasons(r.Noise.Degraded)
		},
		func(r *Row, v any) {
			for _, reason := range strings.Split(v.(string), ",") {
				r.Noise.Degraded = append(r.Noise.Degraded, summary.Reason(reason))
			}
		}},
	number("send_lateness_p50_us", "µs", "median of how long after its due time a sample left", func(r *Row) **float64 { return &r.Noise.LatenessP50US }),
	number("send_lateness_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.Noise.LatenessP99US }),
	number("send_lateness_max_us", "µs", "largest of that", func(r *Row) **float64 { return &r.Noise.LatenessMaxUS }),
	number("client_p50_us", "µs", "median of what the source's program saw beyond the kernel's round trip; part of rtt where timestamps is user", func(r *Row) **float64 { return &r.Noise.ClientP50US }),
	number("client_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.Noise.ClientP99US }),
	number("server_p50_us", "µs", "median of how long the target held a request; of http and load what the server says it took", func(r *Row) **float64 { return &r.Noise.ServerP50US }),
	number("server_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.Noise.ServerP99US }),
	maybeCount("clock_step_count", "samples", "samples whose kernel time stamps were set aside because a clock was set meanwhile; absent where there were none", func(r *Row) **int { return &r.Noise.ClockSteps }),
	maybeCount("unstamped_count", "samples", "samples without a kernel time stamp; absent where the others have none either", func(r *Row) **int { return &r.Noise.Unstamped }),
	number("target_clock_error_us", "µs", "the target's bound on its own clock error; absent when it was not synchronised", func(r *Row) **float64 { return &r.Noise.TargetClockErrorUS }),
}

// oneWayFields are the directions apart.
var oneWayFields = []field[Row]{
	number("forward_pdv95_us", "µs", "delay variation on the way to the target, p95 − smallest, clock drift taken out (RFC 5481)", func(r *Row) **float64 { return &r.OneWay.ForwardPDV95US }),
	number("forward_pdv99_us", "µs", "p99 − smallest", func(r *Row) **float64 { return &r.OneWay.ForwardPDV99US }),
	number("reverse_pdv95_us", "µs", "delay variation on the way back, p95 − smallest", func(r *Row) **float64 { return &r.OneWay.ReversePDV95US }),
	number("reverse_pdv99_us", "µs", "p99 − smallest", func(r *Row) **float64 { return &r.OneWay.ReversePDV99US }),
	number("forward_min_us", "µs", "smallest delay to the target, no further than oneway_bound_us from the truth; absent without it", func(r *Row) **float64 { return &r.OneWay.ForwardMinUS }),
	number("forward_p50_us", "µs", "median delay to the target", func(r *Row) **float64 { return &r.OneWay.ForwardP50US }),
	number("reverse_min_us", "µs", "smallest delay back", func(r *Row) **float64 { return &r.OneWay.ReverseMinUS }),
	number("reverse_p50_us", "µs", "median delay back", func(r *Row) **float64 { return &r.OneWay.ReverseP50US }),
	number("oneway_bound_us", "µs", "how far the four delays may be from the truth", func(r *Row) **float64 { return &r.OneWay.BoundUS }),
	text("oneway_method", "what the bound rests on: clocks (both are synchronised) or minima (of each direction)", func(r *Row) *string { return (*string)(&r.OneWay.Method) }),
	number("clock_offset_us", "µs", "the target's clock less the source's in the middle of the run, by the minima", func(r *Row) **float64 { return &r.OneWay.ClockOffsetUS }),
	number("clock_skew_ppm", "ppm", "how fast that grows", func(r *Row) **float64 { return &r.OneWay.ClockSkewPPM }),
}

// httpFields are the phases of an http run.
var httpFields = []field[Row]{
	number("http_dns_p50_us", "µs", "median of the name's look-up; a phase is absent when no request had it", func(r *Row) **float64 { return &r.HTTP.DNSP50US }),
	number("http_connect_p50_us", "µs", "median of the TCP handshake", func(r *Row) **float64 { return &r.HTTP.ConnectP50US }),
	number("http_tls_p50_us", "µs", "median of the TLS handshake", func(r *Row) **float64 { return &r.HTTP.TLSP50US }),
	number("http_first_byte_p50_us", "µs", "median from the request's last byte to the answer's first", func(r *Row) **float64 { return &r.HTTP.FirstByteP50US }),
	number("http_network_p50_us", "µs", "median of round trip − the server's own time (Server-Timing)", func(r *Row) **float64 { return &r.HTTP.NetworkP50US }),
	number("http_network_p99_us", "µs", "99 % quantile of that", func(r *Row) **float64 { return &r.HTTP.NetworkP99US }),
	maybeCount("http_below_rtt_count", "samples", "samples whose network part came out below the smallest round trip: the server's figure cannot be right; absent where no answer said what the server took", func(r *Row) **int { return &r.HTTP.BelowRTT }),
}

// joinReasons writes reasons as a row holds them.
func joinReasons(reasons []summary.Reason) string {
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = string(r)
	}
	return strings.Join(words, ",")
}
