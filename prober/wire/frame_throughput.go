package wire

import "fmt"

// The frames of a throughput session's control connection. The source asks for the start once all
// connections stand; the target answers with a first report, from which on both directions count. It
// reports what it receives by intervals, and says when its count is complete. Once the source's is
// too, the source asks for the stop, and the target's last report has End.

// ThroughputOrder is what the source asks for.
type ThroughputOrder struct {
	Stop bool `json:"stop,omitempty"` // otherwise start
}

// ThroughputReport is what the target tells.
type ThroughputReport struct {
	// Reading is of what the target received, where the source sends; null otherwise.
	Reading *Reading `json:"reading,omitempty"`
	// Sending is of the target's own connections, where it sends.
	Sending *Sending `json:"sending,omitempty"`
	// Counted says that the target has counted all that it is to count.
	Counted       bool `json:"counted,omitempty"`
	BudgetReached bool `json:"budget_reached,omitempty"`
	End           bool `json:"end,omitempty"`
	// Failure says why the target ends what cannot go on; Detail is for people.
	Failure Failure `json:"failure,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}

// Reading is what a receiver counted in one interval.
type Reading struct {
	AtNS  int64 `json:"at_ns"` // its beginning, since the receiver's
	ForNS int64 `json:"for_ns"`
	Bytes int64 `json:"bytes"`
	Ramp  bool  `json:"ramp,omitempty"` // it is left out of the rate
}

// Validate returns an error for a reading that cannot be.
func (r Reading) Validate() error {
	if r.AtNS < 0 || r.ForNS <= 0 || r.Bytes < 0 {
		return fmt.Errorf("a reading of %d bytes in %d ns at %d ns", r.Bytes, r.ForNS, r.AtNS)
	}
	return nil
}

// Sending is what a sender's kernel says (Linux TCP_INFO), over all of its connections: the mean of RTTNS,
// the sum of the others since the beginning.
type Sending struct {
	RTTNS             int64  `json:"rtt_ns"`
	CongestionWindow  int64  `json:"congestion_window_bytes"`
	Retransmits       int64  `json:"retransmits"` // segments
	DeliveryRateBPS   int64  `json:"delivery_rate_bps"`
	BusyNS            int64  `json:"busy_ns"`    // with something to send
	LimitedNS         int64  `json:"limited_ns"` // of that: held back by the receiver's window or the sender's buffer
	CongestionControl string `json:"congestion_control,omitempty"`
}
