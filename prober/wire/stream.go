package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// The messages of the stream kind, after the handshake and the Opening, on one connection. Each has
// the agreed size. Big-endian; the rest is zero and is not looked at.
//
//	message    sequence number (8) | nanoseconds since the stream's beginning at which it was due (8) | …

// PutMessage writes a message's header.
func PutMessage(b []byte, sequence uint64, due time.Duration) {
	binary.BigEndian.PutUint64(b, sequence)
	binary.BigEndian.PutUint64(b[8:], uint64(max(due, 0)))
}

// Message reads a message's header.
func Message(b []byte) (sequence uint64, due time.Duration) {
	return binary.BigEndian.Uint64(b), time.Duration(min(binary.BigEndian.Uint64(b[8:]), math.MaxInt64))
}

// MessageDue is when message i, counted from 0, of a stream of rate messages a second is due, since
// the stream's beginning.
func MessageDue(i, rate int) time.Duration {
	return time.Duration(int64(i) * int64(time.Second) / int64(rate))
}

// MessagesDue is how many of n messages are due at a time since the stream's beginning.
func MessagesDue(at time.Duration, rate, n int) int {
	if at < 0 {
		return 0
	}
	at = min(at, 2*MaxBulkDuration) // or the product could overflow
	return int(min((int64(at+1)*int64(rate)+int64(time.Second)-1)/int64(time.Second), int64(n)))
}

// StreamInterval is how long the intervals are in which a stream is counted.
const StreamInterval = 100 * time.Millisecond

// StreamAsk is what a stream's source asks of its target on the control connection, one at a time;
// StreamAnswer is what the target says to each. Times are nanoseconds by the target's monotonic
// clock, since whenever.
type StreamAsk struct {
	Ask StreamQuestion `json:"ask"`
	// BeginNS, of begin, is when the first message will be due.
	BeginNS int64 `json:"begin_ns,omitempty"`
	// Made, of end, is how many messages were due in whole batches before the source stopped. Drift is
	// what BeginNS was wrong by, as far as it is known now.
	Made  int   `json:"made,omitempty"`
	Drift Drift `json:"drift,omitzero"`
}

// StreamQuestion is what is asked.
type StreamQuestion string

// The questions, in the order in which they may be asked; clock and count any number of times.
const (
	StreamClock StreamQuestion = "clock" // what time is it?
	StreamBegin StreamQuestion = "begin" // this is when the messages begin
	StreamCount StreamQuestion = "count" // how many messages have been taken?
	StreamEnd   StreamQuestion = "end"   // what came of them?
)

// Drift says how the target's clock moved against the source's: by nothing at FromNS, by MovedNS at
// ToNS, evenly between the two.
type Drift struct {
	FromNS  int64 `json:"from_ns"`
	ToNS    int64 `json:"to_ns"`
	MovedNS int64 `json:"moved_ns"`
}

// maxDriftNS is more than two clocks go apart in the longest run, whatever is wrong with them.
const maxDriftNS = int64(time.Minute)

// Validate returns an error for a drift that no two clocks have.
func (d Drift) Validate() error {
	if d == (Drift{}) {
		return nil
	}
	if d.FromNS < 0 || d.ToNS <= d.FromNS || d.ToNS > math.MaxInt64/4 || d.MovedNS > maxDriftNS || d.MovedNS < -maxDriftNS {
		return fmt.Errorf("drift of %d ns from %d to %d: want at most %d, and a beginning before the end", d.MovedNS, d.FromNS, d.ToNS, maxDriftNS)
	}
	return nil
}

// At is by how much the clock had moved at an instant of the target's. Before and after it is taken to
// have stood still.
func (d Drift) At(ns int64) int64 {
	if d.ToNS <= d.FromNS {
		return 0
	}
	part := float64(ns-d.FromNS) / float64(d.ToNS-d.FromNS)
	return int64(float64(d.MovedNS) * min(max(part, 0), 1))
}

// StreamAnswer answers a StreamAsk.
type StreamAnswer struct {
	NowNS  int64         `json:"now_ns"`
	Taken  int           `json:"taken"`            // messages so far
	Taking *StreamTaking `json:"taking,omitempty"` // to end
}

// StreamTaking is what came of a stream at its target.
type StreamTaking struct {
	FirstNS     int64  `json:"first_ns"` // when the first message was taken
	LastNS      int64  `json:"last_ns"`
	DelayP50NS  int64  `json:"delay_p50_ns"` // from when it was due to when it was taken
	DelayP99NS  int64  `json:"delay_p99_ns"`
	DelayLastNS int64  `json:"delay_last_ns"`
	MaxBacklog  int    `json:"max_backlog"` // messages due and not yet taken
	Intervals   Column `json:"intervals"`   // messages taken in each StreamInterval since BeginNS
}

// Validate holds an answer to what can be, of a stream of n messages.
func (a *StreamAnswer) Validate(n int) error {
	if a.NowNS < 0 || a.NowNS > math.MaxInt64/4 || a.Taken < 0 || a.Taken > n {
		return fmt.Errorf("%d of %d messages taken at %d ns: want no more than there are", a.Taken, n, a.NowNS)
	}
	t := a.Taking
	if t == nil {
		return nil
	}
	if len(t.Intervals) > MaxFlowIntervals || t.FirstNS < 0 || t.LastNS < t.FirstNS || t.LastNS > math.MaxInt64/4 || t.MaxBacklog < 0 || t.MaxBacklog > n {
		return errors.New("the target's account of the stream contradicts itself")
	}
	const most = int64(2 * MaxBulkDuration)
	for _, d := range []int64{t.DelayP50NS, t.DelayP99NS, t.DelayLastNS} {
		if d > most || d < -most {
			return fmt.Errorf("a delay of %d ns: want at most %d", d, most)
		}
	}
	sum := int64(0)
	for _, c := range t.Intervals {
		if c < 0 || c > int64(n) {
			return fmt.Errorf("%d messages in an interval: want 0 to %d", c, n)
		}
		sum += c
	}
	if sum != int64(a.Taken) {
		return fmt.Errorf("%d messages in the intervals, and %d taken", sum, a.Taken)
	}
	return nil
}
