// Package report renders one run of a prober for a person at a terminal, or for a program that a
// person gives it to: text, JSON or XML of the same figures.
package report

import (
	"encoding/xml"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/summary"
)

// Version is that of the document.
const Version = 1

// Format names the document: the field format of JSON, the root element of XML.
const Format = "isochrone_ping"

// Document holds the figures of one run, durations in microseconds. Absent is null in JSON and no
// element in XML, never zero.
type Document struct {
	XMLName       xml.Name `json:"-" xml:"isochrone_ping"`
	Format        string   `json:"format" xml:"-"`
	Version       int      `json:"version" xml:"version,attr"`
	ProberVersion string   `json:"prober_version" xml:"prober_version"`

	Target string `json:"target" xml:"target"` // as it was asked for; see the function Target
	// Address is what was measured, after name resolution; empty when it was never known.
	Address string    `json:"address,omitempty" xml:"address,omitempty"`
	Kind    wire.Kind `json:"kind" xml:"kind"`
	Spec    Spec      `json:"spec" xml:"spec"`

	Started *time.Time `json:"started" xml:"started,omitempty"` // null: no sample was ever due
	Ended   *time.Time `json:"ended" xml:"ended,omitempty"`
	// Interrupted says that it was stopped before all samples were sent. Samples that were not
	// sent for it are left out.
	Interrupted bool `json:"interrupted" xml:"interrupted"`

	// Failure is set exactly when nothing was received; Detail is a text for people.
	Failure  wire.Failure   `json:"failure,omitempty" xml:"failure,omitempty"`
	Detail   string         `json:"detail,omitempty" xml:"detail,omitempty"`
	Failures []FailureCount `json:"failures" xml:"failures>failure"`

	Counts wire.Counts `json:"counts" xml:"counts"`
	Loss   Loss        `json:"loss" xml:"loss"`
	RTT    RTT         `json:"rtt" xml:"rtt"`
	OneWay *OneWay     `json:"one_way" xml:"one_way,omitempty"`
	HTTP   *HTTP       `json:"http" xml:"http,omitempty"`

	Timestamps wire.Timestamps  `json:"timestamps,omitempty" xml:"timestamps,omitempty"`
	TCPInfo    *wire.TCPInfo    `json:"tcp_info" xml:"tcp_info,omitempty"`
	Noise      Noise            `json:"noise" xml:"noise"`
	Degraded   []summary.Reason `json:"degraded" xml:"degraded>reason"`

	Histogram *Histogram    `json:"histogram,omitempty" xml:"histogram,omitempty"` // where it was asked for
	Samples   *wire.Samples `json:"samples,omitempty" xml:"samples,omitempty"`
}

// Spec is how it was measured.
type Spec struct {
	Count         int          `json:"count" xml:"count"`
	Warmup        int          `json:"warmup" xml:"warmup"`
	ClosedLoop    bool         `json:"closed_loop" xml:"closed_loop"`
	IntervalUS    Microseconds `json:"interval_us" xml:"interval_us"`
	TimeoutUS     Microseconds `json:"timeout_us" xml:"timeout_us"`
	RequestBytes  *int         `json:"request_bytes" xml:"request_bytes,omitempty"`
	ResponseBytes *int         `json:"response_bytes" xml:"response_bytes,omitempty"`
	Method        string       `json:"method,omitempty" xml:"method,omitempty"`
	Connection    string       `json:"connection,omitempty" xml:"connection,omitempty"`
}

// FailureCount is how many samples had a failure.
type FailureCount struct {
	Code  wire.Failure `json:"code" xml:"code,attr"`
	Count int          `json:"count" xml:"count,attr"`
}

// Loss is lost / sent with its Wilson interval at 95 %.
type Loss struct {
	Ratio     *float64 `json:"ratio" xml:"ratio,omitempty"`
	LowRatio  *float64 `json:"low_ratio" xml:"low_ratio,omitempty"`
	HighRatio *float64 `json:"high_ratio" xml:"high_ratio,omitempty"`
}

// RTT holds the figures of the round trips.
type RTT struct {
	MinUS       *Microseconds `json:"min_us" xml:"min_us,omitempty"`
	MeanUS      *Microseconds `json:"mean_us" xml:"mean_us,omitempty"`
	MaxUS       *Microseconds `json:"max_us" xml:"max_us,omitempty"`
	StddevUS    *Microseconds `json:"stddev_us" xml:"stddev_us,omitempty"`
	Percentiles []Percentile  `json:"percentiles" xml:"percentiles>percentile"`
	// JitterUS is that of RFC 3550, section 6.4.1; PDVUS is p95 − p50 (RFC 5481).
	JitterUS *Microseconds `json:"rfc3550_jitter_us" xml:"rfc3550_jitter_us,omitempty"`
	PDVUS    *Microseconds `json:"p95_minus_p50_us" xml:"p95_minus_p50_us,omitempty"`
}

// Percentile is one percentile with its interval at 95 %. Without enough samples, n(1 − p) < 10,
// it has no value.
type Percentile struct {
	Name    string        `json:"name" xml:"name,attr"`
	ValueUS *Microseconds `json:"value_us" xml:"value_us,omitempty"`
	LowUS   *Microseconds `json:"low_us" xml:"low_us,omitempty"`
	HighUS  *Microseconds `json:"high_us" xml:"high_us,omitempty"`
	// NeedsCount is how many received samples it takes.
	NeedsCount int `json:"needs_count" xml:"needs_count"`
}

// OneWay is summary.OneWay in microseconds.
type OneWay struct {
	ForwardPDV95US *Microseconds `json:"forward_pdv95_us" xml:"forward_pdv95_us,omitempty"`
	ForwardPDV99US *Microseconds `json:"forward_pdv99_us" xml:"forward_pdv99_us,omitempty"`
	ReversePDV95US *Microseconds `json:"reverse_pdv95_us" xml:"reverse_pdv95_us,omitempty"`
	ReversePDV99US *Microseconds `json:"reverse_pdv99_us" xml:"reverse_pdv99_us,omitempty"`

	ForwardMinUS *Microseconds `json:"forward_min_us" xml:"forward_min_us,omitempty"`
	ForwardP50US *Microseconds `json:"forward_p50_us" xml:"forward_p50_us,omitempty"`
	ReverseMinUS *Microseconds `json:"reverse_min_us" xml:"reverse_min_us,omitempty"`
	ReverseP50US *Microseconds `json:"reverse_p50_us" xml:"reverse_p50_us,omitempty"`
	BoundUS      *Microseconds `json:"bound_us" xml:"bound_us,omitempty"`

	Method        summary.OneWayMethod `json:"method,omitempty" xml:"method,omitempty"`
	ClockOffsetUS *Microseconds        `json:"clock_offset_us" xml:"clock_offset_us,omitempty"`
	ClockSkewPPM  *float64             `json:"clock_skew_ppm" xml:"clock_skew_ppm,omitempty"`
}

// HTTP is summary.HTTP in microseconds.
type HTTP struct {
	DNSP50US       *Microseconds `json:"dns_p50_us" xml:"dns_p50_us,omitempty"`
	ConnectP50US   *Microseconds `json:"connect_p50_us" xml:"connect_p50_us,omitempty"`
	TLSP50US       *Microseconds `json:"tls_p50_us" xml:"tls_p50_us,omitempty"`
	FirstByteP50US *Microseconds `json:"first_byte_p50_us" xml:"first_byte_p50_us,omitempty"`
	NetworkP50US   *Microseconds `json:"network_p50_us" xml:"network_p50_us,omitempty"`
	NetworkP99US   *Microseconds `json:"network_p99_us" xml:"network_p99_us,omitempty"`
	BelowRTTCount  *int          `json:"below_rtt_count" xml:"below_rtt_count,omitempty"`
}

// Noise is what the measurement itself added, or may have.
type Noise struct {
	LatenessP50US *Microseconds `json:"lateness_p50_us" xml:"lateness_p50_us,omitempty"`
	LatenessP99US *Microseconds `json:"lateness_p99_us" xml:"lateness_p99_us,omitempty"`
	LatenessMaxUS *Microseconds `json:"lateness_max_us" xml:"lateness_max_us,omitempty"`
	ClientP50US   *Microseconds `json:"client_p50_us" xml:"client_p50_us,omitempty"`
	ClientP99US   *Microseconds `json:"client_p99_us" xml:"client_p99_us,omitempty"`
	ServerP50US   *Microseconds `json:"server_p50_us" xml:"server_p50_us,omitempty"`
	ServerP99US   *Microseconds `json:"server_p99_us" xml:"server_p99_us,omitempty"`
	CPUStealRatio *float64      `json:"cpu_steal_ratio" xml:"cpu_steal_ratio,omitempty"`
	// ClockErrorUS and TargetClockErrorUS bound the clocks' errors against UTC; null: not
	// synchronised, or not known.
	ClockErrorUS       *Microseconds `json:"clock_error_us" xml:"clock_error_us,omitempty"`
	TargetClockErrorUS *Microseconds `json:"target_clock_error_us" xml:"target_clock_error_us,omitempty"`
	ClockStepCount     *int          `json:"clock_step_count" xml:"clock_step_count,omitempty"`
	UnstampedCount     *int          `json:"unstamped_count" xml:"unstamped_count,omitempty"`
}
