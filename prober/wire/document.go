package wire

import (
	"encoding/xml"
	"errors"
	"fmt"
	"time"
)

// Document is the result of one assignment: exactly its runs, in the assignment's order, those
// not made with a failure code. It travels as gzipped JSON from a prober, and is accepted as
// XML too.
type Document struct {
	XMLName     xml.Name   `json:"-" xml:"isochrone_document"`
	Version     int        `json:"version" xml:"version,attr"`
	Environment string     `json:"environment" xml:"environment"`
	Slot        time.Time  `json:"slot" xml:"slot"`
	Source      string     `json:"source" xml:"source"`
	Probe       string     `json:"probe" xml:"probe"`
	Part        int        `json:"part" xml:"part"`
	Assignment  string     `json:"assignment_id" xml:"assignment_id"`
	Attempt     string     `json:"attempt" xml:"attempt"`
	Provenance  Provenance `json:"provenance" xml:"provenance"`
	Runs        []Run      `json:"runs" xml:"runs>run"`
}

// Provenance says what made the measurement. Absent is null.
type Provenance struct {
	ProberVersion string `json:"prober_version" xml:"prober_version"`
	ImageDigest   string `json:"image_digest,omitempty" xml:"image_digest,omitempty"`
	VMSize        string `json:"vm_size,omitempty" xml:"vm_size,omitempty"`
	// ClockErrorNS is the kernel's bound on the clock's error against UTC; null when the
	// clock is not synchronised.
	ClockErrorNS *int64 `json:"clock_error_ns" xml:"clock_error_ns,omitempty"`
	// CPUStealRatio is the part of the assignment's time, 0 to 1, in which the hypervisor ran
	// something else; null where the kernel does not say.
	CPUStealRatio *float64 `json:"cpu_steal_ratio" xml:"cpu_steal_ratio,omitempty"`
	// Simulated says that nothing was measured: a model made the figures up. The mark stays with every
	// row that comes of the document.
	Simulated bool `json:"simulated,omitempty" xml:"simulated,omitempty"`
}

// Run is one probe of one series at one slot.
type Run struct {
	Target string `json:"target" xml:"target"`
	Path   string `json:"path" xml:"path"`
	Kind   Kind   `json:"kind" xml:"kind"`
	// Address is the host:port that was measured, after name resolution; empty when it was
	// never known.
	Address string `json:"address,omitempty" xml:"address,omitempty"`

	PlannedStart time.Time `json:"planned_start" xml:"planned_start"`
	// Start is when the first sample, warm-up included, was due; null when the run was not
	// made. Sample offsets count from it, by the monotonic clock.
	Start *time.Time `json:"start" xml:"start,omitempty"`
	End   *time.Time `json:"end" xml:"end,omitempty"`

	// Failure is empty exactly when at least one sample was received. Detail is a short text
	// for people; never parse it.
	Failure Failure `json:"failure,omitempty" xml:"failure,omitempty"`
	Detail  string  `json:"detail,omitempty" xml:"detail,omitempty"`

	Counts Counts `json:"counts" xml:"counts"`
	// Timestamps says where the clock of the round trips was read: see the constants.
	Timestamps Timestamps `json:"timestamps,omitempty" xml:"timestamps,omitempty"`
	// ClockSteps counts the received samples whose kernel time stamps were set aside because a wall
	// clock was set meanwhile, the source's or the target's; Unstamped those for which the kernel gave
	// no stamp. The round trip of both is by the monotonic clock, and they have no one-way delays.
	// Null where no kernel time stamps were taken. Where the two are more than half of what was
	// received, Timestamps is user, and every round trip is by the user's clock.
	ClockSteps *int `json:"clock_step_count,omitempty" xml:"clock_step_count,omitempty"`
	Unstamped  *int `json:"unstamped_count,omitempty" xml:"unstamped_count,omitempty"`
	// LeastConnectNS is the smallest connect phase of an http run, those of the warm-up and of the
	// request that opens the connection included; where TCPInfo, which knows better, is null.
	LeastConnectNS *int64 `json:"least_connect_ns,omitempty" xml:"least_connect_ns,omitempty"`
	// TargetClockErrorNS is the target's own bound on its clock's error against UTC (STAMP's
	// Error Estimate); null when it does not say, or is not synchronised.
	TargetClockErrorNS *int64 `json:"target_clock_error_ns,omitempty" xml:"target_clock_error_ns,omitempty"`

	TCPInfo *TCPInfo `json:"tcp_info,omitempty" xml:"tcp_info,omitempty"`

	// Bulk is what a run of a bulk kind came to; null for others, and where nothing was moved.
	Bulk *BulkResult `json:"bulk,omitempty" xml:"bulk,omitempty"`

	// RTTHistogram and ExcessHistogram are HdrHistograms (see Histogram) of the received
	// round trips, and of the same less the run's smallest; empty when nothing was received.
	RTTHistogram    string `json:"rtt_histogram,omitempty" xml:"rtt_histogram,omitempty"`
	ExcessHistogram string `json:"excess_histogram,omitempty" xml:"excess_histogram,omitempty"`

	Samples Samples `json:"samples" xml:"samples"`
}

// Timestamps says where a run's round trips were clocked.
type Timestamps string

// Where round trips are clocked.
const (
	// TimestampsUser: around the system calls, by the monotonic clock. Waking the source up is
	// part of the round trip; Samples.ClientNS says how much of it, where that is known.
	TimestampsUser Timestamps = "user"
	// TimestampsKernel: where the kernel hands the packet to the device and takes it back. The
	// source's and the target's waking up are no part of the round trip.
	TimestampsKernel Timestamps = "kernel"
)

// Counts of a run's samples. Warm-up samples are in Warmup alone. Null is unknown: only the udp
// kind tells the directions apart, and only when its target's report came back.
type Counts struct {
	Warmup    int `json:"warmup" xml:"warmup"`
	Sent      int `json:"sent" xml:"sent"`
	Received  int `json:"received" xml:"received"`   // within the timeout
	Lost      int `json:"lost" xml:"lost"`           // sent and not received, late ones included
	Late      int `json:"late" xml:"late"`           // replied to after the timeout
	Duplicate int `json:"duplicate" xml:"duplicate"` // further replies to a sample
	Reordered int `json:"reordered" xml:"reordered"` // replies overtaken by a later sample's (RFC 4737)
	// PacingViolations counts the samples that left more than a millisecond after they were due.
	PacingViolations int `json:"pacing_violations" xml:"pacing_violations"`

	// LostForward, LostReverse and Late add up to Lost.
	LostForward *int `json:"lost_forward,omitempty" xml:"lost_forward,omitempty"`
	LostReverse *int `json:"lost_reverse,omitempty" xml:"lost_reverse,omitempty"`
	// DuplicateForward counts requests that reached the target again, whether or not the replies
	// to them arrived; DuplicateReverse replies that arrived again.
	DuplicateForward *int `json:"duplicate_forward,omitempty" xml:"duplicate_forward,omitempty"`
	DuplicateReverse *int `json:"duplicate_reverse,omitempty" xml:"duplicate_reverse,omitempty"`
	// ReorderedForward counts requests that were overtaken on the way, ReorderedReverse replies
	// (RFC 4737, section 3).
	ReorderedForward *int `json:"reordered_forward,omitempty" xml:"reordered_forward,omitempty"`
	ReorderedReverse *int `json:"reordered_reverse,omitempty" xml:"reordered_reverse,omitempty"`
}

// Samples are columns of equal length, one entry a planned sample, in the order of Sequence,
// which counts from 0 with warm-up left out. A column is empty where the kind has no such thing.
type Samples struct {
	Sequence Column `json:"sequence" xml:"sequence"`
	DueNS    Column `json:"due_ns" xml:"due_ns"`   // since the run's start
	SentNS   Column `json:"sent_ns" xml:"sent_ns"` // since the run's start; null: not sent
	RTTNS    Column `json:"rtt_ns" xml:"rtt_ns"`   // null: no reply within the timeout
	// ServerNS is how long the target held the request. The round trip of tcp and http includes
	// it; that of udp does not.
	ServerNS Column `json:"server_ns,omitempty" xml:"server_ns,omitempty"`
	// ForwardNS and ReverseNS are one-way delays as measured: they hold the clock offset.
	ForwardNS Column `json:"forward_ns,omitempty" xml:"forward_ns,omitempty"`
	ReverseNS Column `json:"reverse_ns,omitempty" xml:"reverse_ns,omitempty"`
	// ClientNS is the source's own share in what its program saw: the user-space round trip less
	// the kernel's. The round trip includes it where Timestamps is user, and not where it is kernel.
	ClientNS Column `json:"client_ns,omitempty" xml:"client_ns,omitempty"`
	// The phases of an http request, each the time it took; null where a request had no such
	// phase, because its connection stood. FirstByteNS is from the request's last byte to the
	// answer's first.
	DNSNS       Column        `json:"dns_ns,omitempty" xml:"dns_ns,omitempty"`
	ConnectNS   Column        `json:"connect_ns,omitempty" xml:"connect_ns,omitempty"`
	TLSNS       Column        `json:"tls_ns,omitempty" xml:"tls_ns,omitempty"`
	FirstByteNS Column        `json:"first_byte_ns,omitempty" xml:"first_byte_ns,omitempty"`
	Failure     FailureColumn `json:"failure" xml:"failure"`
}

// Len is the number of samples.
func (s Samples) Len() int { return len(s.Sequence) }

// TCPInfo is what the kernel said of the connection at the run's end (Linux TCP_INFO).
type TCPInfo struct {
	RTTUS             int64  `json:"rtt_us" xml:"rtt_us"` // smoothed
	MinRTTUS          int64  `json:"min_rtt_us" xml:"min_rtt_us"`
	RTTVarUS          int64  `json:"rttvar_us" xml:"rttvar_us"`
	Retransmits       int64  `json:"retransmits" xml:"retransmits"` // segments, over the connection's life
	DeliveryRateBPS   int64  `json:"delivery_rate_bps" xml:"delivery_rate_bps"`
	MSSBytes          int64  `json:"mss_bytes" xml:"mss_bytes"`
	CongestionControl string `json:"congestion_control,omitempty" xml:"congestion_control,omitempty"`
	CongestionWindow  int64  `json:"congestion_window_segments" xml:"congestion_window_segments"`
}

// Validate checks that the document is of a known version and in agreement with itself. It
// does not know the plan. Every fault is reported, with its place.
func (d *Document) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if d.Version != DocumentVersion {
		return fmt.Errorf("version %d: this program reads document version %d", d.Version, DocumentVersion)
	}
	if err := ValidateEnvironment(d.Environment); err != nil {
		faults = append(faults, err)
	}
	if err := ValidateName("source", d.Source); err != nil {
		faults = append(faults, err)
	}
	if !d.Slot.Equal(Slot(d.Slot)) || !sane(d.Slot) {
		fault("slot %s: want a whole minute", d.Slot)
	}
	if d.Part < 0 {
		fault("part %d is negative", d.Part)
	}
	if len(d.Runs) == 0 || len(d.Runs) > MaxRuns {
		fault("%d runs: want 1 to %d", len(d.Runs), MaxRuns)
	}
	total := 0
	for i := range d.Runs {
		r := &d.Runs[i]
		total += r.Samples.Len()
		if err := r.validate(); err != nil {
			fault("runs[%d] (%s over %s): %w", i, cutForError([]byte(r.Target)), cutForError([]byte(r.Path)), err)
		}
		if len(faults) > 20 {
			fault("and perhaps more")
			break
		}
	}
	if total > MaxSamples {
		fault("%d samples: a document holds at most %d", total, MaxSamples)
	}
	return errors.Join(faults...)
}

func (r *Run) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := ValidateName("target", r.Target); err != nil {
		faults = append(faults, err)
	}
	if err := ValidateName("path", r.Path); err != nil {
		faults = append(faults, err)
	}
	if err := ValidateName("kind", string(r.Kind)); err != nil {
		faults = append(faults, err)
	}
	if err := r.Failure.Validate(); err != nil {
		faults = append(faults, err)
	}
	if r.Timestamps != "" && r.Timestamps != TimestampsUser && r.Timestamps != TimestampsKernel {
		fault("timestamps %q: want %q or %q", cutForError([]byte(r.Timestamps)), TimestampsUser, TimestampsKernel)
	}
	for _, n := range []*int{r.ClockSteps, r.Unstamped} {
		if n != nil && (*n < 0 || *n > MaxSamples) {
			fault("clock_step_count or unstamped_count cannot be %d", *n)
		}
	}
	if r.TargetClockErrorNS != nil && *r.TargetClockErrorNS < 0 {
		fault("target_clock_error_ns cannot be %d", *r.TargetClockErrorNS)
	}
	if r.LeastConnectNS != nil && *r.LeastConnectNS <= 0 {
		fault("least_connect_ns %d: want more than 0", *r.LeastConnectNS)
	}
	if r.Failure == FailureExpired {
		fault("failure %q is the app's to say", r.Failure)
	}
	if (r.Failure == "") != r.received() {
		fault("failure %q with %d samples received: a run has a failure code exactly when nothing was received", r.Failure, r.Counts.Received)
	}
	if len(r.Detail) > MaxDetailBytes || len(r.Address) > MaxDetailBytes {
		fault("detail or address is longer than %d bytes", MaxDetailBytes)
	}
	if !sane(r.PlannedStart) || (r.Start != nil && !sane(*r.Start)) || (r.End != nil && !sane(*r.End)) {
		fault("a time lies outside the years 2000 to 9999")
	} else if r.Start != nil && r.End != nil && r.End.Before(*r.Start) {
		fault("end %s lies before start %s", r.End, r.Start)
	}
	if err := r.Samples.validate(); err != nil {
		faults = append(faults, err)
	} else if !r.Kind.summarised() {
		if err := r.Samples.agree(r.Counts); err != nil {
			faults = append(faults, err)
		}
	}
	if err := r.validateBulk(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func sane(t time.Time) bool { return t.Year() >= 2000 && t.Year() <= 9999 }
