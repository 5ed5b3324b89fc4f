package wire

import (
	"fmt"
	"time"
)

// NamedColumn is one of the numeric columns of Samples.
type NamedColumn struct {
	Name   string // as in JSON and XML
	Values *Column
	// Optional columns may be empty as a whole.
	Optional bool
	// Signed columns hold clock offsets; the others are durations or counts.
	Signed bool
}

// Columns lists the numeric columns, in the order of the document.
func (s *Samples) Columns() []NamedColumn {
	return []NamedColumn{
		{Name: "sequence", Values: &s.Sequence},
		{Name: "due_ns", Values: &s.DueNS},
		{Name: "sent_ns", Values: &s.SentNS},
		{Name: "rtt_ns", Values: &s.RTTNS},
		{Name: "server_ns", Values: &s.ServerNS, Optional: true},
		{Name: "forward_ns", Values: &s.ForwardNS, Optional: true, Signed: true},
		{Name: "reverse_ns", Values: &s.ReverseNS, Optional: true, Signed: true},
		{Name: "client_ns", Values: &s.ClientNS, Optional: true},
		{Name: "dns_ns", Values: &s.DNSNS, Optional: true},
		{Name: "connect_ns", Values: &s.ConnectNS, Optional: true},
		{Name: "tls_ns", Values: &s.TLSNS, Optional: true},
		{Name: "first_byte_ns", Values: &s.FirstByteNS, Optional: true},
	}
}

const day = int64(24 * time.Hour)

// ValidateLengths returns an error unless all columns have one length; optional ones may be empty.
func (s *Samples) ValidateLengths() error {
	n := s.Len()
	for _, c := range s.Columns() {
		if l := len(*c.Values); l != n && !(c.Optional && l == 0) {
			return fmt.Errorf("samples: %s has %d entries, sequence has %d", c.Name, l, n)
		}
	}
	if len(s.Failure) != n {
		return fmt.Errorf("samples: failure has %d entries, sequence has %d", len(s.Failure), n)
	}
	return nil
}

func (s *Samples) validate() error {
	if err := s.ValidateLengths(); err != nil {
		return err
	}
	for i := range s.Len() {
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
		}
	}
	return s.validateOptional()
}

func (s *Samples) validateOptional() error {
	for _, c := range s.Columns() {
		if !c.Optional || c.Signed {
			continue
		}
		for i, v := range *c.Values {
			if v != Null && (v < 0 || v > day) {
				return fmt.Errorf("samples: %s[%d] is %d: want null, or 0 to a day", c.Name, i, v)
			}
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
	return c.agreeByDirection()
}

// agreeByDirection checks what is said of the directions. Of the lost samples some may have no
// direction: those that were canceled in flight.
func (c Counts) agreeByDirection() error {
	for _, d := range []struct {
		name string
		n    *int
		most int
	}{
		{"lost_forward", c.LostForward, c.Lost}, {"lost_reverse", c.LostReverse, c.Lost},
		{"duplicate_forward", c.DuplicateForward, MaxSamples}, {"duplicate_reverse", c.DuplicateReverse, c.Duplicate},
		{"reordered_forward", c.ReorderedForward, c.Sent}, {"reordered_reverse", c.ReorderedReverse, c.Sent},
	} {
		if d.n == nil {
			continue
		}
		if *d.n < 0 || *d.n > d.most {
			return fmt.Errorf("%s %d: want 0 to %d", d.name, *d.n, d.most)
		}
	}
	if c.LostForward != nil && c.LostReverse != nil && *c.LostForward+*c.LostReverse+c.Late > c.Lost {
		return fmt.Errorf("lost_forward %d, lost_reverse %d and late %d exceed lost %d", *c.LostForward, *c.LostReverse, c.Late, c.Lost)
	}
	return nil
}
