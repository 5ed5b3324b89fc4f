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

	Counts  Counts   `json:"counts" xml:"counts"`
	TCPInfo *TCPInfo `json:"tcp_info,omitempty" xml:"tcp_info,omitempty"`

	// RTTHistogram and ExcessHistogram are HdrHistograms (see Histogram) of the received
	// round trips, and of the same less the run's smallest; empty when nothing was received.
	RTTHistogram    string `json:"rtt_histogram,omitempty" xml:"rtt_histogram,omitempty"`
	ExcessHistogram string `json:"excess_histogram,omitempty" xml:"excess_histogram,omitempty"`

	Samples Samples `json:"samples" xml:"samples"`
}

// Counts of a run's samples. Warm-up samples are in Warmup alone.
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
}

// Samples are columns of equal length, one entry a planned sample, in the order of Sequence,
// which counts from 0 with warm-up left out. Server, Forward and Reverse are empty where the kind has no such thing.
type Samples struct {
	Sequence Column `json:"sequence" xml:"sequence"`
	DueNS    Column `json:"due_ns" xml:"due_ns"`   // since the run's start
	SentNS   Column `json:"sent_ns" xml:"sent_ns"` // since the run's start; null: not sent
	RTTNS    Column `json:"rtt_ns" xml:"rtt_ns"`   // null: no reply within the timeout
	// ServerNS is how long the target held the request. The round trip includes it.
	ServerNS Column `json:"server_ns,omitempty" xml:"server_ns,omitempty"`
	// ForwardNS and ReverseNS are one-way delays as measured: they hold the clock offset.
	ForwardNS Column        `json:"forward_ns,omitempty" xml:"forward_ns,omitempty"`
	ReverseNS Column        `json:"reverse_ns,omitempty" xml:"reverse_ns,omitempty"`
	Failure   FailureColumn `json:"failure" xml:"failure"`
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
	if r.Failure == FailureExpired {
		fault("failure %q is the app's to say", r.Failure)
	}
	if (r.Failure == "") != (r.Counts.Received > 0) {
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
	} else if err := r.Samples.agree(r.Counts); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func sane(t time.Time) bool { return t.Year() >= 2000 && t.Year() <= 9999 }

func (s Samples) validate() error {
	n := s.Len()
	for _, c := range []struct {
		name     string
		length   int
		optional bool
	}{
		{"due_ns", len(s.DueNS), false}, {"sent_ns", len(s.SentNS), false}, {"rtt_ns", len(s.RTTNS), false},
		{"failure", len(s.Failure), false}, {"server_ns", len(s.ServerNS), true},
		{"forward_ns", len(s.ForwardNS), true}, {"reverse_ns", len(s.ReverseNS), true},
	} {
		if c.length != n && !(c.optional && c.length == 0) {
			return fmt.Errorf("samples: %s has %d entries, sequence has %d", c.name, c.length, n)
		}
	}
	const day = int64(24 * time.Hour)
	for i := range n {
		switch {
		case s.Sequence[i] < 0 || (i > 0 && s.Sequence[i] <= s.Sequence[i-1]):
			return fmt.Errorf("samples: sequence[%d] is %d: want whole numbers that rise", i, s.Sequence[i])
		case s.DueNS[i] < 0 || s.DueNS[i] > day:
			return fmt.Errorf("samples: due_ns[%d] is %d: want 0 to a day", i, s.DueNS[i])
		case s.SentNS[i] != Null && (s.SentNS[i] < 0 || s.SentNS[i] > day):
			return fmt.Errorf("samples: sent_ns[%d] is %d: want null, or 0 to a day", i, s.SentNS[i])
		case s.RTTNS[i] != Null && (s.RTTNS[i] <= 0 || s.RTTNS[i] > int64(MaxTimeout)):
			return fmt.Errorf("samples: rtt_ns[%d] is %d: want null, or more than 0 and at most %s", i, s.RTTNS[i], MaxTimeout)
		case s.RTTNS[i] != Null && s.SentNS[i] == Null:
			return fmt.Errorf("samples: entry %d has a round trip and was not sent", i)
		case (s.RTTNS[i] == Null) != (s.Failure[i] != ""):
			return fmt.Errorf("samples: entry %d: a sample has either a round trip or a failure code", i)
		case len(s.ServerNS) > 0 && s.ServerNS[i] != Null && (s.ServerNS[i] < 0 || s.ServerNS[i] > day):
			return fmt.Errorf("samples: server_ns[%d] is %d: want null, or 0 to a day", i, s.ServerNS[i])
		}
	}
	return nil
}

// agree checks that the counts are those of the samples.
func (s Samples) agree(c Counts) error {
	sent, received := 0, 0
	for i := range s.Len() {
		if s.SentNS[i] != Null {
			sent++
		}
		if s.RTTNS[i] != Null {
			received++
		}
	}
	if c.Sent != sent || c.Received != received || c.Lost != sent-received {
		return fmt.Errorf("counts say sent %d, received %d, lost %d; the samples say %d, %d, %d",
			c.Sent, c.Received, c.Lost, sent, received, sent-received)
	}
	if c.Late < 0 || c.Late > c.Lost || c.Warmup < 0 || c.Duplicate < 0 || c.Reordered < 0 || c.Reordered > received ||
		c.PacingViolations < 0 || c.PacingViolations > sent {
		return fmt.Errorf("counts %+v cannot be", c)
	}
	return nil
}
