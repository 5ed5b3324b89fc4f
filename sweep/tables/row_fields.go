package tables

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"isochrone/prober/wire"
	"isochrone/sweep/result"
)

// rowFields are the columns of runs and latest. A change here edits docs/formats.md and the
// golden entity of the tests.
var rowFields = slices.Concat([]field[Row]{
	instant("slot", "the sweep that the run belongs to; of a foreign document, when the run began", func(r *Row) *time.Time { return &r.Slot }),
	text("source", "prober that measured", func(r *Row) *string { return &r.Series.Source }),
	text("target", "prober or endpoint that was measured", func(r *Row) *string { return &r.Series.Target }),
	text("path", "how packets get there", func(r *Row) *string { return &r.Series.Path }),
	text("probe", "the probe's name in sweep.yaml; ext.… is foreign", func(r *Row) *string { return &r.Series.Probe }),
	text("kind", "what was measured", func(r *Row) *string { return (*string)(&r.Kind) }),
	text("failure", "why nothing was received; absent when something was", func(r *Row) *string { return (*string)(&r.Failure) }),
	text("detail", "a text that goes with the failure, for people", func(r *Row) *string { return &r.Detail }),
	text("address", "host:port that was measured; of icmp the host alone", func(r *Row) *string { return &r.Address }),
	text("assignment_id", "assignment that the run is part of; absent for foreign documents", func(r *Row) *string { return &r.Assignment }),
	text("attempt", "the source's attempt at the assignment", func(r *Row) *string { return &r.Attempt }),
	{Column{"part", Int32, "", "part of the probe's assignment, from 0; absent for foreign documents"},
		func(r *Row) any {
			if r.Assignment == "" {
				return nil
			}
			return r.Part
		},
		func(r *Row, v any) { r.Part = v.(int) }},
	text("document", "blob that holds the document, container in front", func(r *Row) *string { return &r.Document }),
	{Column{"tool", String, "", "what made a foreign document; absent for our own"},
		func(r *Row) any {
			if r.Tool == "" {
				return nil
			}
			return r.Tool
		},
		func(r *Row, v any) {
			if r.Tool = v.(string); r.Tool != result.OwnTool {
				r.Counted = &result.Counted{} // the columns of the counts that are known follow
			}
		}},
	instant("planned_start", "when the run was to begin", func(r *Row) *time.Time { return &r.PlannedStart }),
	maybeInstant("start", "when its first sample was due; absent when it was not made", func(r *Row) **time.Time { return &r.Start }),
	maybeInstant("end", "when it ended", func(r *Row) **time.Time { return &r.End }),
	number("lateness_us", "µs", "start − planned_start", func(r *Row) **float64 { return &r.LatenessUS }),

	counted("warmup_count", "samples sent first and discarded", func(c *wire.Counts) *int { return &c.Warmup }, func(k *result.Counted) *bool { return &k.Warmup }),
	counted("sent_count", "samples sent, warm-up left out", func(c *wire.Counts) *int { return &c.Sent }, func(k *result.Counted) *bool { return &k.Sent }),
	counted("received_count", "samples replied to within the timeout", func(c *wire.Counts) *int { return &c.Received }, func(k *result.Counted) *bool { return &k.Received }),
	counted("lost_count", "samples sent and not received, late ones included", func(c *wire.Counts) *int { return &c.Lost }, func(k *result.Counted) *bool { return &k.Lost }),
	counted("late_count", "samples replied to after the timeout", func(c *wire.Counts) *int { return &c.Late }, func(k *result.Counted) *bool { return &k.Late }),
	counted("duplicate_count", "further replies to a sample", func(c *wire.Counts) *int { return &c.Duplicate }, func(k *result.Counted) *bool { return &k.Duplicate }),
	counted("reordered_count", "replies overtaken by a later sample's (RFC 4737)", func(c *wire.Counts) *int { return &c.Reordered }, func(k *result.Counted) *bool { return &k.Reordered }),
	counted("pacing_violation_count", "samples that left more than 1 ms after they were due", func(c *wire.Counts) *int { return &c.PacingViolations }, func(k *result.Counted) *bool { return &k.PacingViolations }),
}, directionFields, []field[Row]{
	number("rtt_min_us", "µs", "smallest round trip", func(r *Row) **float64 { return &r.MinUS }),
	number("rtt_mean_us", "µs", "mean round trip", func(r *Row) **float64 { return &r.MeanUS }),
	number("rtt_p50_us", "µs", "median round trip; a quantile is absent when fewer than 10 samples lie above it", func(r *Row) **float64 { return &r.P50US }),
	number("rtt_p90_us", "µs", "90 % quantile, by nearest rank", func(r *Row) **float64 { return &r.P90US }),
	number("rtt_p95_us", "µs", "95 % quantile", func(r *Row) **float64 { return &r.P95US }),
	number("rtt_p99_us", "µs", "99 % quantile", func(r *Row) **float64 { return &r.P99US }),
	number("rtt_p999_us", "µs", "99.9 % quantile", func(r *Row) **float64 { return &r.P999US }),
	number("rtt_max_us", "µs", "largest round trip", func(r *Row) **float64 { return &r.MaxUS }),
	number("rtt_stddev_us", "µs", "standard deviation of the sample", func(r *Row) **float64 { return &r.StddevUS }),
	number("rtt_jitter_us", "µs", "smoothed mean deviation of consecutive round trips (RFC 3550)", func(r *Row) **float64 { return &r.JitterUS }),
	number("rtt_pdv_us", "µs", "p95 − p50 (RFC 5481)", func(r *Row) **float64 { return &r.PDVUS }),
	number("loss_ratio", "ratio", "lost / sent, without the samples canceled in flight; absent when none is left", func(r *Row) **float64 { return &r.LossRatio }),
	number("loss_ratio_low", "ratio", "lower end of its Wilson interval at 95 %", func(r *Row) **float64 { return &r.LossLow }),
	number("loss_ratio_high", "ratio", "upper end", func(r *Row) **float64 { return &r.LossHigh }),
}, rangeFields(), noiseFields, oneWayFields, httpFields, bulkFields, failureFields(),
	splitText("rtt_histogram", "HdrHistogram V2 compressed, base64, of the round trips in ns", func(r *Row) *string { return &r.RTTHistogram }),
	splitText("excess_histogram", "the same of round trip − smallest", func(r *Row) *string { return &r.ExcessHistogram }),
	tcpFields, provenanceFields)

// counted is a count of samples. A run that expired has none, for nobody knows how many were sent; one
// that a foreign document tells of has those that the document tells.
func counted(name, meaning string, at func(*wire.Counts) *int, known func(*result.Counted) *bool) field[Row] {
	f := count(name, "samples", meaning, func(r *Row) *int { return at(&r.Counts) })
	get, set := f.get, f.set
	f.get = func(r *Row) any {
		if r.Failure == wire.FailureExpired || r.Counted != nil && !*known(r.Counted) {
			return nil
		}
		return get(r)
	}
	f.set = func(r *Row, v any) {
		if r.Counted != nil {
			*known(r.Counted) = true
		}
		set(r, v)
	}
	return f
}

// failureFields are the counts of samples by failure code, a column a code.
func failureFields() []field[Row] {
	var out []field[Row]
	for _, code := range wire.Failures() {
		if code == wire.FailureExpired {
			continue // runs expire, samples do not
		}
		out = append(out, field[Row]{
			Column{"failed_" + string(code) + "_count", Int32, "samples", "samples that failed with " + string(code) + "; absent for none"},
			func(r *Row) any {
				if n := r.Failures[code]; n != 0 {
					return n
				}
				return nil
			},
			func(r *Row, v any) {
				if r.Failures == nil {
					r.Failures = map[wire.Failure]int{}
				}
				r.Failures[code] = v.(int)
			}})
	}
	return out
}

// tcpFields say what the kernel said of the connection; all absent when it said nothing.
var tcpFields = []field[Row]{
	tcpNumber("tcp_rtt_us", "µs", "smoothed round trip by the kernel (Linux TCP_INFO), at the run's end", func(t *wire.TCPInfo) *int64 { return &t.RTTUS }),
	tcpNumber("tcp_min_rtt_us", "µs", "smallest round trip by the kernel", func(t *wire.TCPInfo) *int64 { return &t.MinRTTUS }),
	tcpNumber("tcp_rttvar_us", "µs", "round trip variation by the kernel", func(t *wire.TCPInfo) *int64 { return &t.RTTVarUS }),
	tcpCount("tcp_retransmit_count", "segments", "retransmits over the connection's life", 0, func(t *wire.TCPInfo) *int64 { return &t.Retransmits }),
	tcpNumber("tcp_delivery_rate_bps", "bit/s", "delivery rate by the kernel", func(t *wire.TCPInfo) *int64 { return &t.DeliveryRateBPS }),
	tcpNumber("tcp_mss_bytes", "bytes", "maximum segment size", func(t *wire.TCPInfo) *int64 { return &t.MSSBytes }),
	{Column{"tcp_congestion_control", String, "", "congestion control algorithm"},
		func(r *Row) any {
			if r.TCPInfo == nil || r.TCPInfo.CongestionControl == "" {
				return nil
			}
			return r.TCPInfo.CongestionControl
		},
		func(r *Row, v any) { r.tcp().CongestionControl = v.(string) }},
	tcpCount("tcp_congestion_window_segments", "segments", "congestion window", 1, func(t *wire.TCPInfo) *int64 { return &t.CongestionWindow }),
}

func (r *Row) tcp() *wire.TCPInfo {
	if r.TCPInfo == nil {
		r.TCPInfo = &wire.TCPInfo{}
	}
	return r.TCPInfo
}

func tcpNumber(name, unit, meaning string, at func(*wire.TCPInfo) *int64) field[Row] {
	return field[Row]{Column{name, Double, unit, meaning},
		func(r *Row) any {
			if r.TCPInfo == nil || r.Counted != nil && *at(r.TCPInfo) <= 0 { // another tool says some of it
				return nil
			}
			return float64(*at(r.TCPInfo))
		},
		func(r *Row, v any) { *at(r.tcp()) = whole(v.(float64)) }}
}

// tcpCount is a count by the kernel. Of a foreign run what is below least is not known.
func tcpCount(name, unit, meaning string, least int64, at func(*wire.TCPInfo) *int64) field[Row] {
	return field[Row]{Column{name, Int32, unit, meaning},
		func(r *Row) any {
			if r.TCPInfo == nil || r.Counted != nil && *at(r.TCPInfo) < least {
				return nil
			}
			return int(*at(r.TCPInfo))
		},
		func(r *Row, v any) { *at(r.tcp()) = int64(v.(int)) }}
}

// whole is a Double as a whole number. The largest int64 is stored as the Double next to it, which is
// one too large.
func whole(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

// provenanceFields say what made the measurement.
var provenanceFields = []field[Row]{
	text("prober_version", "version of the source's program", func(r *Row) *string { return &r.Provenance.ProberVersion }),
	text("image_digest", "digest of the source's container image", func(r *Row) *string { return &r.Provenance.ImageDigest }),
	text("vm_size", "size of the source's machine", func(r *Row) *string { return &r.Provenance.VMSize }),
	{Column{"clock_error_us", Double, "µs", "bound on the source's clock error against UTC; absent when it was not synchronised"},
		func(r *Row) any {
			if r.Provenance.ClockErrorNS == nil {
				return nil
			}
			return float64(*r.Provenance.ClockErrorNS) / 1000
		},
		func(r *Row, v any) { n := whole(v.(float64)*1000 + 0.5); r.Provenance.ClockErrorNS = &n }},
	number("cpu_steal_ratio", "ratio", "part of the time in which the hypervisor ran something else", func(r *Row) **float64 { return &r.Provenance.CPUStealRatio }),
	{Column{simulatedColumn, Boolean, "", "true: nothing was measured, a model made the figures up; absent otherwise"},
		func(r *Row) any {
			if !r.Simulated {
				return nil
			}
			return true
		},
		func(r *Row, v any) { r.Simulated, r.Provenance.Simulated = v.(bool), v.(bool) }},
}

// simulatedColumn is the mark of rows that no measurement is behind.
const simulatedColumn = "simulated"

// maxTextParts is over how many columns a long text may be spread.
const maxTextParts = 4

// splitText is a text that may be longer than the service allows in one property: what does not
// fit goes on in <name>_2 and so on, and is joined again when it is read. The text is ASCII.
func splitText[T any](name, meaning string, at func(*T) *string) []field[T] {
	out := make([]field[T], maxTextParts)
	for i := range out {
		column := Column{name, String, "", meaning}
		if i > 0 {
			column = Column{fmt.Sprintf("%s_%d", name, i+1), String, "", fmt.Sprintf("goes on from the column before; only for texts of more than %d characters", i*maxTextUnits)}
		}
		out[i] = field[T]{column,
			func(v *T) any { return part(*at(v), i) },
			func(v *T, x any) { *at(v) += x.(string) }}
	}
	return out
}

// part is the i-th piece of s, nil when there is none. The last piece is everything that is
// left, so that a text which is too long for all of them is refused, and not cut.
func part(s string, i int) any {
	for range i {
		cut := border(s)
		s = s[cut:]
	}
	switch {
	case s == "":
		return nil
	case i == maxTextParts-1:
		return s
	}
	return s[:border(s)]
}

// border is how much of s fits one property, cut between characters. Counting bytes is never
// less than counting UTF-16 units.
func border(s string) int {
	if len(s) <= maxTextUnits {
		return len(s)
	}
	cut := maxTextUnits
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return cut
}
