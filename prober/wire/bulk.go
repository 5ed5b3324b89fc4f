package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Direction is which way a bulk run moves its payload, as its source sees it.
type Direction string

// The directions.
const (
	DirectionUp   Direction = "up"   // source to target
	DirectionDown Direction = "down" // target to source
	DirectionBoth Direction = "both" // at the same time
)

// Directions lists the directions.
func Directions() []Direction { return []Direction{DirectionUp, DirectionDown, DirectionBoth} }

// The limits of bulk runs.
const (
	MaxStreams      = 64
	MaxUsers        = 1000
	MaxOutstanding  = 1024
	MaxBulkDuration = 10 * time.Minute
	// MaxBulkBytes bounds a run's byte budget.
	MaxBulkBytes = 1 << 40
	// MaxMessages bounds the messages of a stream run, and MaxMessageRate how many leave in a second.
	MaxMessages    = 10_000_000
	MaxMessageRate = 1_000_000
	// DefaultChunkBytes is what a throughput run writes at a time.
	DefaultChunkBytes = 128 << 10
)

// Bulk is how a run of the kinds throughput, load, saturate and stream loads the network. It is
// zero for other kinds, and each field for the kinds that do not name it. Spec.RequestBytes is what
// throughput writes at a time, the transfer of saturate, the payload of a stream's message, and the
// request of load to a prober, whose answer has Spec.ResponseBytes.
type Bulk struct {
	// MaxBytes is the run's budget: the payload of both directions together. A run that reaches
	// it stops there, at both ends, and says so. Every bulk run has one.
	MaxBytes int64 `json:"max_bytes"`
	// Duration is what throughput counts, its ramp left out; how long saturate stays at each
	// level; of load, how long users go on: 0 means for Loops.
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Ramp is the beginning that throughput leaves out of its rate, and over which load starts its
	// users one after the other.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
	// Direction, Streams and RateBPS are throughput's. Streams 0: as many as the path's bandwidth-delay
	// product asks for. RateBPS caps the payload of each direction, all streams together, in
	// bits/s; 0: no cap. Congestion is the congestion control to ask for; empty: the system's.
	Direction  Direction `json:"direction,omitempty"`
	Streams    int       `json:"streams,omitempty"`
	RateBPS    int64     `json:"rate_bps,omitempty"`
	Congestion string    `json:"congestion,omitempty"`
	// Users and Loops are load's: each user asks Loops times, one after the other.
	Users int `json:"users,omitempty"`
	Loops int `json:"loops,omitempty"`
	// ReadPercent and Outstanding are saturate's: the share of transfers that the source reads, and the
	// most requests that it has under way. It begins with one and doubles until p99 has doubled
	// from one level to the next, or Outstanding is reached.
	ReadPercent int `json:"read_percent,omitempty"`
	Outstanding int `json:"outstanding,omitempty"`
	// Messages, MessageRate (a second) and Batch (messages in one write) are stream's. SinkRate is how
	// many messages a second the target takes; 0: all it can.
	Messages    int `json:"messages,omitempty"`
	MessageRate int `json:"message_rate,omitempty"`
	Batch       int `json:"batch,omitempty"`
	SinkRate    int `json:"sink_rate,omitempty"`
}

func (s Spec) validateBulk() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	between := func(word string, n, least, most int64) {
		if n < least || n > most {
			fault("%s %d: want %d to %d", word, n, least, most)
		}
	}
	b := s.Bulk
	between("max_bytes", b.MaxBytes, 1, MaxBulkBytes)
	if s.Count != 0 || s.Warmup != 0 || s.Interval != 0 {
		fault("count, warmup and interval: kind %q has none", s.Kind)
	}
	if s.Timeout < time.Millisecond || s.Timeout > MaxTimeout {
		fault("timeout %s: want 1ms to %s", s.Timeout, MaxTimeout)
	}
	long := func(word string, d, least time.Duration) {
		if d < least || d > MaxBulkDuration {
			fault("%s %s: want %s to %s", word, d, least, MaxBulkDuration)
		}
	}
	size := func(least int) { between("request", int64(s.RequestBytes), int64(least), MaxMessageBytes) }
	used := Bulk{MaxBytes: b.MaxBytes} // what the kind has; anything else is a fault
	switch s.Kind {
	case KindThroughput:
		size(MinMessageBytes)
		long("duration", b.Duration, 100*time.Millisecond)
		long("ramp", b.Ramp, 0)
		if !slices.Contains(Directions(), b.Direction) {
			fault("direction %q: want one of %q", cutForError([]byte(b.Direction)), Directions())
		}
		between("streams", int64(b.Streams), 0, MaxStreams)
		between("rate", b.RateBPS, 0, 1<<40)
		if len(b.Congestion) > 15 { // TCP_CA_NAME_MAX, less the end
			fault("congestion %q: want a name of at most 15 letters", cutForError([]byte(b.Congestion)))
		}
		used = Bulk{MaxBytes: b.MaxBytes, Duration: b.Duration, Ramp: b.Ramp, Direction: b.Direction, Streams: b.Streams, RateBPS: b.RateBPS, Congestion: b.Congestion}
	case KindSaturate:
		size(MinMessageBytes)
		long("duration", b.Duration, 100*time.Millisecond)
		between("read", int64(b.ReadPercent), 0, 100)
		between("outstanding", int64(b.Outstanding), 1, MaxOutstanding)
		used = Bulk{MaxBytes: b.MaxBytes, Duration: b.Duration, ReadPercent: b.ReadPercent, Outstanding: b.Outstanding}
	case KindStream:
		size(MinMessageBytes)
		between("messages", int64(b.Messages), 1, MaxMessages)
		between("rate", int64(b.MessageRate), 1, MaxMessageRate)
		between("batch", int64(b.Batch), 1, 10_000)
		between("sink_rate", int64(b.SinkRate), 0, MaxMessageRate)
		if took := s.streamTime(); took > MaxBulkDuration {
			fault("messages %d: at the rate and the sink's they take %s: want at most %s", b.Messages, took.Round(time.Second), MaxBulkDuration)
		}
		used = Bulk{MaxBytes: b.MaxBytes, Messages: b.Messages, MessageRate: b.MessageRate, Batch: b.Batch, SinkRate: b.SinkRate}
	case KindLoad:
		between("users", int64(b.Users), 1, MaxUsers)
		long("ramp", b.Ramp, 0)
		if (b.Loops > 0) == (b.Duration > 0) {
			fault("loops %d and duration %s: want one of the two", b.Loops, b.Duration)
		}
		between("loops", int64(b.Loops), 0, MaxSamples)
		if n := int64(b.Loops) * int64(b.Users); b.Loops <= MaxSamples && b.Users <= MaxUsers && n > MaxSamples {
			fault("loops %d: %d users make %d requests: want at most %d", b.Loops, b.Users, n, MaxSamples)
		}
		long("duration", b.Duration, 0)
		if s.Method == "" {
			size(MinMessageBytes)
			between("response", int64(s.ResponseBytes), MinMessageBytes, MaxMessageBytes)
		} else if s.RequestBytes != 0 || s.ResponseBytes != 0 {
			fault("request of %d and response of %d bytes: a load of a URL has none", s.RequestBytes, s.ResponseBytes)
		}
		used = Bulk{MaxBytes: b.MaxBytes, Ramp: b.Ramp, Duration: b.Duration, Users: b.Users, Loops: b.Loops}
	}
	if used != b {
		fault("kind %q has no such option: %+v", s.Kind, b)
	}
	if s.Kind != KindLoad && s.ResponseBytes != 0 {
		fault("response of %d bytes: kind %q has none", s.ResponseBytes, s.Kind)
	}
	return errors.Join(faults...)
}

// bulkSpan is how long a bulk run takes at most.
func (s Spec) bulkSpan() time.Duration {
	b := s.Bulk
	switch s.Kind {
	case KindThroughput:
		return b.Ramp + b.Duration + s.Timeout
	case KindSaturate: // levels double: 1, 2, 4 … Outstanding
		levels := 1
		for n := 1; n < min(b.Outstanding, MaxOutstanding); n *= 2 { // a peer's spec is asked before it is checked
			levels++
		}
		return time.Duration(levels)*b.Duration + s.Timeout
	case KindStream:
		return min(s.streamTime()*5/4, MaxBulkDuration) + s.Timeout
	}
	if b.Duration > 0 {
		return b.Ramp + b.Duration + s.Timeout
	}
	return min(b.Ramp+time.Duration(b.Loops)*s.Timeout, MaxBulkDuration)
}

// streamTime is how long a stream's messages take to leave or, where the sink takes fewer, to arrive.
func (s Spec) streamTime() time.Duration {
	rate := s.Bulk.MessageRate
	if s.Bulk.SinkRate > 0 {
		rate = min(rate, s.Bulk.SinkRate)
	}
	if rate < 1 || s.Bulk.Messages < 1 || s.Bulk.Messages > MaxMessages {
		return 0 // a fault of its own
	}
	return time.Duration(float64(s.Bulk.Messages) / float64(rate) * float64(time.Second))
}

// Opening is the first frame of every connection of a bulk session, after the two hellos; Accepted
// is the reflector's answer. A frame is its length (4 octets, big-endian, at most MaxFrameBytes, of an
// Opening MaxOpeningBytes) and JSON.
type Opening struct {
	Role  Role `json:"role"`
	Index int  `json:"index"` // of the connection among those of its role, from 0
	// Spec is what the session is for. One that an app listed has to say the same.
	Spec Spec `json:"spec"`
}

// Role is what a connection of a bulk session carries.
type Role string

// The roles.
const (
	RoleControl Role = "control" // frames; the session's first connection, and its end is the session's
	RoleUp      Role = "up"      // payload from source to target
	RoleDown    Role = "down"    // payload from target to source
	RoleRequest Role = "request" // requests and responses
)

const (
	// MaxFrameBytes bounds a frame's JSON.
	MaxFrameBytes = 1 << 20
	// MaxOpeningBytes bounds that of an Opening.
	MaxOpeningBytes = 4 << 10
)

// Accepted answers an Opening.
type Accepted struct {
	// Failure is target_busy, budget, unsupported or protocol, when the connection is not to be used.
	Failure Failure `json:"failure,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}
